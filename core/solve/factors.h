/**
 * Factors on parts of times: seconds = fixed + sum of factor x part, by robust relative
 * non-negative least squares. A ridge holds factors near 1, the present prices, so a few rows
 * change only what they determine.
 */
#ifndef SOLVE_FACTORS_H
#define SOLVE_FACTORS_H

#include <stddef.h>

#include <layermeter/error.h>

/** weight of (factor - 1)^2, relative to the sum of squared relative residuals */
#define FACTORS_RIDGE 0.1
#define FACTORS_HUBER 0.3 /**< relative residual above which errors count linearly */

/** Zero-initialise; factors_rows_free() frees. */
typedef struct factors_rows {
    double *a, *b; /**< rows, divided by the measured time */
    size_t  n;     /**< number of factors */
    size_t  rows;
} factors_rows;

/** Allocates room for `most` rows. LM_E_NOMEM. */
lm_status factors_rows_new(size_t n, size_t most, factors_rows *out, lm_error *err);
void      factors_rows_free(factors_rows *r);

/**
 * Adds a row.
 * @param part    n entries: seconds at a factor of 1
 * @param seconds measured, > 0
 */
void factors_rows_add(factors_rows *r, const double *part, double fixed, double seconds);

/**
 * Fits the factors.
 * @param ridge per factor; NULL: FACTORS_RIDGE for all
 * @param huber relative residual above which errors count linearly, such as FACTORS_HUBER
 * @param factor n entries; in: they give the first weights; out: the result
 * @return LM_E_ARG for no rows; errors of robust_solve()
 */
lm_status factors_rows_fit(const factors_rows *r, const double *ridge, double huber,
                           double *factor, lm_error *err);

#endif
