/** Runs that logged when their steps ended, or how long these took: as rows of a network. */
#ifndef IMPORT_LOGGED_H
#define IMPORT_LOGGED_H

#include "import/profile.h"

typedef struct logged logged;

/** LM_E_NOMEM. */
lm_status logged_open(const char *path, const extrap_options *given, log_rows *out, logged **made,
                      lm_error *err);
void      logged_close(logged *l);

/** Names of own values that --metric calls a phase; the log has them in seconds. */
size_t logged_metrics(const logged *l);
/** The metric of this name; `logged_metrics` if it is none. */
size_t logged_metric(const logged *l, const char *name);

/** The clock, in seconds, when a value of `tag` was logged at `step`. Times are told by the tag with the
 * most points, since others may count epochs. What is no number is counted as broken. */
lm_status logged_point(logged *l, const char *tag, double step, double clock, lm_error *err);
/** A value of a metric. */
lm_status logged_value(logged *l, size_t metric, double seconds, lm_error *err);

/**
 * Rows: of each metric its values; without metrics the clock between two steps, over the steps
 * between them.
 *
 * @param nothing is said of a log without points, behind the path
 * @return LM_E_ARG also for a clock that is too coarse, and without --region step=NETWORK
 */
lm_status logged_rows(logged *l, const registry *reg, const char *nothing, lm_error *err);

#endif
