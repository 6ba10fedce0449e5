/** The searches for doubts (doubts.h); for core/observe alone. */
#ifndef OBSERVE_JUDGE_H
#define OBSERVE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "observe/doubts.h"

/** Each adds its doubts. LM_E_NOMEM; judge_units() also as devices_open(). */
lm_status judge_times(const points *p, doubts *out, lm_error *err);
lm_status judge_units(const observations *obs, const points *p, doubts *out, lm_error *err);
lm_status judge_repeated(const points *p, doubts *out, lm_error *err);

/** Flagged times give way to the same times without flags; of times that are all doubtful the best
 * is kept. Counts both in p->n_flagged_used and p->n_flagged_out. LM_E_NOMEM */
lm_status points_settle(points *p, lm_error *err);

/** At the end; false when memory runs out. */
bool doubts_add(doubts *d, const doubt *new);

/** FLOP of a phase; 0 for phases that move bytes alone. */
double phase_flops(const net_metrics *m, phase f);
/** Bytes moved by the passes, as far as counts tell. */
double phase_bytes(const net_metrics *m);

#define USUAL_COUNTS 3
/** Fewest rows that can be compared. */
#define USUAL_LEAST 4

/**
 * The time something should take, judged by the times beside it. That is enough to detect a wrong
 * unit; it is no model.
 *
 * A time is expected to be c1 n1 + c2 n2 + c3 n3 of three counts, such as FLOP, bytes and layers.
 * Each c is a quantile of seconds per count over all rows. The quantiles are chosen together: those
 * that leave the least sum of |log10(seconds / expected)|, cut at 2. A row that is far off thus
 * says no more than that it is (Rousseeuw & Leroy 1987, "Robust Regression and Outlier Detection",
 * chapter 1, on why the fit must not see it).
 */
typedef struct usual_row {
    double count[USUAL_COUNTS]; /**< >= 0, one of them above 0 */
    double seconds;             /**< > 0 */
    double deviation; /**< result: log10(seconds / expected), 0 in the middle of all rows */
} usual_row;

/** Fills the deviations, all 0 for fewer than USUAL_LEAST rows. False when memory runs out. */
bool usual_deviations(usual_row *row, size_t n);

#endif
