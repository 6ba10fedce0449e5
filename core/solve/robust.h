/**
 * Robust non-negative least squares of dense rows: the only solver of formulas that are linear in a
 * few unknowns. Rows are divided by the measured time, so errors are relative.
 *
 * The solver repeats rounds of reweighting: residuals above `huber` count linearly (Huber 1964).
 * Most rows keep their weight from one round to the next, and so keep their part of the normal
 * equations.
 */
#ifndef SOLVE_ROBUST_H
#define SOLVE_ROBUST_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

/**
 * Minimises the sum over rows of share * huber(a x - b), plus the sum over unknowns of mu (x -
 * near)^2.
 */
typedef struct robust_problem {
    const double *a; /**< rows x places, row by row */
    const double *b; /**< per row; NULL: 1, for rows that are divided by the measured time */
    size_t        rows, places;
    size_t        n;      /**< number of unknowns: values in `column` */
    const size_t *column; /**< unknown of each place; n or more: none; NULL: the place itself */
    const double *scale;  /**< factor on the values of each place; NULL: 1 */
    const double *share;  /**< weight of each row, 0: unused; NULL: 1 */
    /**
     * sums over places of the weighted rows, lower triangle; NULL: computed here. Both or none, and
     * only without `b`
     */
    const double *gram, *h;
    const double *mu;          /**< per unknown; NULL: `ridge` for all */
    double        ridge, near; /**< near: the value that unknowns are held near */
    const double *held;        /**< the same per unknown; NULL: `near` for all */
    double        huber;       /**< residual limit; INFINITY: no row is an outlier */
    int           rounds;      /**< rounds of reweighting after the first solution */
    /** true: the given x determines the first weights; false: `share` is the first weight */
    bool begins;
} robust_problem;

/** Results of a solution, to judge it by. Zero-initialise; robust_work_free() frees. */
typedef struct robust_work {
    double *gram, *h;        /**< normal equations of the last round, n x n, both triangles */
    double *weight;          /**< per row, from the residuals of the solution */
    double *fit;             /**< a x */
    double *summed;          /**< weights that the normal equations contain */
    double *by;              /**< per place */
    size_t  rows, n, places; /**< allocated sizes */
} robust_work;

void robust_work_free(robust_work *w);

/**
 * Solves the problem.
 * @param x n entries; values above 0 on entry are the starting point
 * @param w work space: zeros, or that of an earlier call; afterwards it holds this solution's
 *          results
 * @return LM_E_NOMEM, LM_E_ARG for numbers that are not finite
 */
lm_status robust_solve(const robust_problem *r, double *x, robust_work *w, lm_error *err);

/** Weight of a residual r, relative to a residual within `huber`. */
static inline double robust_weight(double r, double huber)
{
    return r <= huber ? 1 : huber / r;
}

/** Huber's loss of a residual r >= 0. */
static inline double robust_loss(double r, double huber)
{
    return r <= huber ? r * r / 2 : huber * (r - huber / 2);
}

#endif
