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
} repeat_spread;

/** Fewest rows for a spread. */
#define SPREAD_LEAST 3

/**
 * Sigma of a row of a network on one rank, from its 95th percentile; NAN: unknown, or fewer than
 * three repetitions.
 */
double spread_of(const observation *row);

/** The same for rows of inference without doubtful flags; NAN for all others. */
double spread_of_inference(const observation *row);

/** The median of a file's spread_of_inference(). LM_E_NOMEM */
lm_status spread_of_all(const observations *obs, repeat_spread *out, lm_error *err);

/** 95th percentile of a time with this median; NAN: unknown. */
double spread_p95(const repeat_spread *s, double median);

/** The same as it is expected of so many repetitions; 0: unknown, taken as many. */
double spread_p95_of(double sigma, int64_t repeats, double median);

#endif
