/**
 * Non-negative least squares: the one active set, and its use on normal equations, for many small
 * problems that share their rows. lsq.h uses it on triangles of QR factorisations.
 */
#ifndef SOLVE_NNLS_H
#define SOLVE_NNLS_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

/** A search by the active set; its arrays, of n each, are the caller's. */
typedef struct nnls_search {
    size_t      n;
    const void *context;
    /** The minimiser over the columns use[0 .. n_use - 1] alone, ascending, into s[0 .. n_use - 1]. */
    lm_status (*solve)(struct nnls_search *f, lm_error *err);
    /** By how much growth of column j lowers the error at x; 0 for a column of zeros. */
    double (*slope)(const struct nnls_search *f, size_t j);
    double  least; /**< slopes up to this one are none */
    double *x;     /**< in: where the search begins; out: the minimiser */
    bool   *in;    /**< which x are above 0, in and out */
    double *s;
    size_t *use, n_use;
} nnls_search;

/** The active set method of Lawson & Hanson (1974, chapter 23). What solve() returns. */
lm_status nnls_descend(nnls_search *f, lm_error *err);

/**
 * Minimises x'Gx / 2 - h'x over x >= 0: the least squares solution of A x = b if G = A'WA and
 * h = A'Wb. nnls_descend() on normal equations (Bro &
 * de Jong 1997, "A fast non-negativity-constrained least squares algorithm"), by Cholesky
 * factorisation (LAPACK dposv) of the columns in use, which are scaled to diagonals of 1 and kept
 * apart by 1e-10 of it: of columns that are the same, all take part.
 *
 * @param gram n x n, symmetric, finite; a column of zeros keeps x = 0
 * @param x    n; what is above 0 on entry is where the search begins
 * @return LM_E_NOMEM, LM_E_ARG for numbers that are not finite
 */
lm_status nnls_solve(const double *gram, const double *h, size_t n, double *x, lm_error *err);

#endif
