/** The searches for doubts (doubts.h). Private to core/observe. */
#ifndef OBSERVE_JUDGE_H
#define OBSERVE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "observe/doubts.h"

/** Each search adds its doubts. LM_E_NOMEM; judge_units() also errors of devices_open(). */
lm_status judge_times(const points *p, doubts *out, lm_error *err);
lm_status judge_units(const observations *obs, const points *p, doubts *out, lm_error *err);
lm_status judge_repeated(const points *p, doubts *out, lm_error *err);

/**
 * Removes flagged times if the same time exists without flags; if all are doubtful, the best one is
 * kept. Counts both in p->n_flagged_used and p->n_flagged_out. LM_E_NOMEM
 */
lm_status points_settle(points *p, lm_error *err);

/** Appends a doubt; false: out of memory. */
bool doubts_add(doubts *d, const doubt *new);

/** FLOP of a phase; 0 for phases that only move bytes. */
double phase_flops(const net_metrics *m, phase f);
/** Bytes moved by the passes, as far as the counts tell. */
double phase_bytes(const net_metrics *m);

#define USUAL_COUNTS 3
/** Fewest rows for a comparison. */
#define USUAL_LEAST 4

/**
 * Expected time of a row, from the other rows. It is only accurate enough to detect a wrong unit.
 *
 * The expected time is c1 n1 + c2 n2 + c3 n3 for three counts, such as FLOP, bytes and layers. Each
 * c is a quantile of seconds per count over all rows. The quantiles are chosen together, with the
 * least sum of |log10(seconds / expected)|, cut at 2. Because of the cut, a row that is far off
 * hardly influences the choice (Rousseeuw & Leroy 1987, "Robust Regression and Outlier Detection",
 * chapter 1, on why the fit must not see it).
 */
typedef struct usual_row {
    double count[USUAL_COUNTS]; /**< >= 0, at least one above 0 */
    double seconds;             /**< > 0 */
    double deviation; /**< result: log10(seconds / expected); its median over all rows is 0 */
} usual_row;

/** Fills the deviations, all 0 for fewer than USUAL_LEAST rows. False when memory runs out. */
bool usual_deviations(usual_row *row, size_t n);

#endif
