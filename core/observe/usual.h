/**
 * About how long something should take, judged by the others that were timed beside it: good enough
 * to see a wrong unit, no model.
 *
 * A time is taken for c1 n1 + c2 n2 + c3 n3 of three counts, such as FLOP, bytes and layers. Each c
 * is a quantile of seconds per count over all rows, those quantiles together that leave the least
 * sum of |log10(seconds / expected)|, cut at 2: a row that is far off says no more than that it is
 * (Rousseeuw & Leroy 1987, "Robust Regression and Outlier Detection", chapter 1, on why the fit
 * must not see it).
 */
#ifndef OBSERVE_USUAL_H
#define OBSERVE_USUAL_H

#include <stdbool.h>
#include <stddef.h>

#define USUAL_COUNTS 3
/** Fewer rows say nothing of each other. */
#define USUAL_LEAST 4

typedef struct usual_row {
    double count[USUAL_COUNTS]; /**< >= 0, one of them above 0 */
    double seconds;             /**< > 0 */
    double deviation; /**< found: log10(seconds / expected), 0 in the middle of all rows */
} usual_row;

/** Fills the deviations, all 0 for fewer than USUAL_LEAST rows. False when memory runs out. */
bool usual_deviations(usual_row *row, size_t n);

#endif
