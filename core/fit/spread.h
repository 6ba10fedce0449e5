/**
 * Spread of repeated times: for the wait for the slowest rank, and for slow answers of inference.
 */
#ifndef FIT_SPREAD_H
#define FIT_SPREAD_H

#include "observe/observation.h"

/** Standard deviation of a time, per second of its median. */
typedef struct repeat_spread {
    double sigma;
    size_t rows; /**< number of rows; 0: unknown */
    double low,
        /**
         * bounds of measured / predicted for the ratio of 95th percentile to median, from
         * cross-validation over networks (interval.h); 0: too few networks
         */
        high;
} repeat_spread;

/** Fewest rows for a spread. */
#define SPREAD_LEAST 3

/**
 * Sigma of a row of a network on one rank, from its 95th percentile; NAN: unknown, or fewer than
 * three repetitions.
 */
double spread_of(const observation *row);

/** The median over a file's rows of inference without flags. LM_E_NOMEM */
lm_status spread_of_inference(const observations *obs, repeat_spread *out, lm_error *err);

/** 95th percentile of a time with this median; NAN: unknown. */
double spread_p95(const repeat_spread *s, double median);

/** Bounds of that percentile: those of the median and of the spread, off independently. NAN: unknown. */
void spread_p95_bounds(const repeat_spread *s, double median, double median_low, double median_high,
                       double *low, double *high);

#endif
