/**
 * Robust non-negative least squares of dense rows: the one solver of formulas that are linear in a
 * few unknowns. Rows come divided by what was measured, so that errors are relative.
 *
 * Rounds of reweighting: residuals beyond `huber` count linearly (Huber 1964). From one round to
 * the next most rows keep their weight, and with it their share in the normal equations.
 */
#ifndef SOLVE_ROBUST_H
#define SOLVE_ROBUST_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

/** Minimises the sum over rows of share * huber(a x - b), and over unknowns of mu (x - near)^2. */
typedef struct robust_problem {
    const double *a; /**< rows x places, row after row */
    const double *b; /**< of each row; NULL: 1, as of rows divided by what was measured */
    size_t        rows, places;
    size_t        n;           /**< unknowns, the numbers in `column` */
    const size_t *column;      /**< unknown of each place; n or more: none; NULL: place by place */
    const double *scale;       /**< what values of a place are multiplied by; NULL: 1 */
    const double *share;       /**< what a row counts, 0: it takes no part; NULL: 1 */
    const double *gram, *h;    /**< sums over places of rows with their share, lower triangle; NULL:
                               they are made here; both or none, and only without `b` */
    const double *mu;          /**< of each unknown; NULL: `ridge` of all */
    double        ridge, near; /**< near: what they are held near to */
    double        huber;       /**< residual; INFINITY: none is an outlier */
    int           rounds;      /**< of reweighting behind the first solution */
    bool          begins; /**< the first weights are by the x that is given, else all are shares */
} robust_problem;

/** What a solution leaves behind, to judge it by. Zero-initialise; robust_work_free() frees. */
typedef struct robust_work {
    double *gram, *h;        /**< normal equations of the last round, n x n, whole */
    double *weight;          /**< of each row, by the residuals of the solution */
    double *fit;             /**< a x */
    double *summed;          /**< weights that are in the equations */
    double *by;              /**< of each place */
    size_t  rows, n, places; /**< that there is room for */
} robust_work;

void robust_work_free(robust_work *w);

/**
 * @param x n; what is above 0 on entry is where the search begins
 * @param w room, that of an earlier call again or zeros; what it holds then is of this solution
 * @return LM_E_NOMEM, LM_E_ARG for numbers that are not finite
 */
lm_status robust_solve(const robust_problem *r, double *x, robust_work *w, lm_error *err);

/** What residual r counts beside one within `huber`. */
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
