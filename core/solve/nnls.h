/**
 * Non-negative least squares: the active set method, and its use on normal equations for many small
 * problems that share rows. lsq.h uses the method on triangles of QR factorisations.
 */
#ifndef SOLVE_NNLS_H
#define SOLVE_NNLS_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

/** State of an active set search. The caller owns the arrays of n entries. */
typedef struct nnls_search {
    size_t      n;
    const void *context;
    /**
     * Writes the minimiser over the columns use[0 .. n_use - 1], ascending, to s[0 .. n_use - 1].
     */
    lm_status (*solve)(struct nnls_search *f, lm_error *err);
    /** Decrease of the error per unit of x_j at x; 0 for a column of zeros. */
    double (*slope)(const struct nnls_search *f, size_t j);
    double  least; /**< slopes up to this value count as 0 */
    double *x;     /**< in: starting point; out: the minimiser */
    bool   *in;    /**< which x are above 0, in and out */
    double *s;
    size_t *use, n_use;
} nnls_search;

/** The active set method of Lawson & Hanson (1974, chapter 23). Errors of solve(). */
lm_status nnls_descend(nnls_search *f, lm_error *err);

/**
 * Minimises x'Gx / 2 - h'x over x >= 0: the least squares solution of A x = b if G = A'WA and h =
 * A'Wb. It runs nnls_descend() on normal equations (Bro & de Jong 1997, "A fast
 * non-negativity-constrained least squares algorithm"), with the Cholesky factorisation (LAPACK
 * dposv) of the columns in use. Columns are scaled to diagonals of 1, and 1e-10 of the diagonal is
 * added: then equal columns all take part.
 *
 * @param gram n x n, symmetric, finite; a column of zeros keeps x = 0
 * @param x    n entries; values above 0 on entry are the starting point
 * @return LM_E_NOMEM, LM_E_ARG for numbers that are not finite
 */
lm_status nnls_solve(const double *gram, const double *h, size_t n, double *x, lm_error *err);

#endif
