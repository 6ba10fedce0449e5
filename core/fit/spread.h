/** How far repetitions of one time are apart: what the slowest rank waits for, and slow answers. */
#ifndef FIT_SPREAD_H
#define FIT_SPREAD_H

#include "observe/observation.h"

/** Sigma of a time, per second of its median. */
typedef struct repeat_spread {
    double sigma;
    size_t rows; /**< that tell it; 0: unknown */
    double low,
        high; /**< bounds of measured / predicted percentiles over their medians, on networks
                         that were left out (interval.h); 0: too few of them */
} repeat_spread;

/** Rows that a spread takes: fewer say nothing. */
#define SPREAD_LEAST 3

/** Sigma of a row of a network on one rank, by its 95th percentile; NAN: unknown, or fewer than
 * three repetitions. */
double spread_of(const observation *row);

/** The median of a file's rows of inference without flags. LM_E_NOMEM */
lm_status spread_of_inference(const observations *obs, repeat_spread *out, lm_error *err);

/** 95th percentile of a time of that median; NAN: unknown. */
double spread_p95(const repeat_spread *s, double median);

/** Its bounds by those of the median: each end is that of both, so that more than INTERVAL_COVERAGE
 * lie between. NAN: unknown. */
void spread_p95_bounds(const repeat_spread *s, double median_low, double median_high, double *low,
                       double *high);

#endif
