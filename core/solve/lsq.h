/** Linear least squares on LAPACKE: rank-revealing, and with non-negative coefficients. */
#ifndef SOLVE_LSQ_H
#define SOLVE_LSQ_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

#define LSQ_MAX_COLUMNS 32

/** Minimises sum_i (w_i * (sum_j a_ij x_j - b_i))^2 */
typedef struct lsq_problem {
    const double *a;      /**< rows x columns, row by row */
    const double *b;      /**< rows entries */
    const double *weight; /**< rows entries; NULL: all 1 */
    size_t        rows, columns;
} lsq_problem;

/**
 * A problem, reduced to the triangle of its QR factorisation, [A b] = Q R: it has the same
 * minimiser, whatever the number of rows. Triangles of several parts of the data can be solved
 * together, so leaving one part out is cheap.
 */
typedef struct lsq_block {
    size_t rows, columns;
    double r[(LSQ_MAX_COLUMNS + 1) * (LSQ_MAX_COLUMNS + 1)]; /**< (columns + 1)^2, row by row */
} lsq_block;

typedef struct lsq_solution {
    double x[LSQ_MAX_COLUMNS];
    /** NAN: not determined, at its bound, or no degrees of freedom. */
    double standard_error[LSQ_MAX_COLUMNS];
    /**
     * False: the data cannot separate it from other columns; x is then the minimum-norm solution.
     */
    bool   determined[LSQ_MAX_COLUMNS];
    bool   at_bound[LSQ_MAX_COLUMNS]; /**< held at 0 by non_negative */
    size_t rank;
    /** largest / smallest singular value in use, with columns scaled to length 1 */
    double condition;
    double weighted_rss;
} lsq_solution;

/** LM_E_ARG for no rows, too many columns, or numbers that are not finite; LM_E_NOMEM. */
lm_status lsq_factor(const lsq_problem *problem, lsq_block *out, lm_error *err);

/**
 * Solves for all rows behind `blocks` together; NULL entries are ignored. Columns are first scaled
 * to length 1, so that the rank does not depend on units. Singular values below rows * epsilon of
 * the largest count as zero (LAPACK dgelss). non_negative: x_j >= 0, by Lawson & Hanson 1974,
 * chapter 23.
 *
 * @return LM_E_ARG for fewer rows than columns, LM_E_NOMEM
 */
lm_status lsq_solve(const lsq_block *const *blocks, size_t n_blocks, bool non_negative,
                    lsq_solution *out, lm_error *err);

/** lsq_factor() and lsq_solve() for one problem. */
lm_status lsq_fit(const lsq_problem *problem, bool non_negative, lsq_solution *out, lm_error *err);

#endif
