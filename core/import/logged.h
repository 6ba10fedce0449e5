/** Logs of runs as observations of a network: the end of each step, or its duration. */
#ifndef IMPORT_LOGGED_H
#define IMPORT_LOGGED_H

#include "import/profile.h"

typedef struct logged logged;

/** LM_E_NOMEM. */
lm_status logged_open(const char *path, const extrap_options *given, log_rows *out, logged **made,
                      lm_error *err);
void      logged_close(logged *l);

/** Number of logged values that --metric maps to a phase. The log has them in seconds. */
size_t logged_metrics(const logged *l);
/** The metric of this name; logged_metrics() if there is none. */
size_t logged_metric(const logged *l, const char *name);

/** Adds the clock, in seconds, at which a value of `tag` was logged at `step`. Step times come from the
 * tag with the most points, since other tags may count epochs. A value that is no number counts as
 * broken. LM_E_NOMEM. */
lm_status logged_point(logged *l, const char *tag, double step, double clock, lm_error *err);
/** Adds a value of a metric. LM_E_NOMEM. */
lm_status logged_value(logged *l, size_t metric, double seconds, lm_error *err);

/**
 * Makes the rows. Each metric gives its values. Without metrics a row is the time between two points,
 * divided by the number of steps between them.
 *
 * @param nothing message for a log without points; it follows the path
 * @return LM_E_ARG also for a clock that is too coarse, and without --region step=NETWORK
 */
lm_status logged_rows(logged *l, const registry *reg, const char *nothing, lm_error *err);

#endif
