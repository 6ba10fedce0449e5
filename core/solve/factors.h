/**
 * Factors on parts of times: seconds = fixed + sum of factor x part, by robust relative non-negative
 * least squares. A ridge holds factors near 1, the prices that are there: a few rows correct what they
 * show.
 */
#ifndef SOLVE_FACTORS_H
#define SOLVE_FACTORS_H

#include <stddef.h>

#include <layermeter/error.h>

#define FACTORS_RIDGE 0.1 /**< of (factor - 1)^2, beside the sum of squared relative residuals */
#define FACTORS_HUBER 0.3 /**< relative residual beyond which errors count linearly */

/** Zero-initialise; factors_rows_free() frees. */
typedef struct factors_rows {
    double *a, *b; /**< rows divided by what was measured */
    size_t  n;     /**< factors */
    size_t  rows;
} factors_rows;

/** Room for so many rows. LM_E_NOMEM. */
lm_status factors_rows_new(size_t n, size_t most, factors_rows *out, lm_error *err);
void      factors_rows_free(factors_rows *r);

/** @param part n, seconds at a factor of 1 @param seconds measured, > 0 */
void factors_rows_add(factors_rows *r, const double *part, double fixed, double seconds);

/**
 * @param ridge of each factor; NULL: FACTORS_RIDGE of all
 * @param factor n; in: the first weights are by these; out: the fitted ones
 * @return LM_E_ARG for no rows, and what robust_solve() returns
 */
lm_status factors_rows_fit(const factors_rows *r, const double *ridge, double *factor,
                           lm_error *err);

#endif
