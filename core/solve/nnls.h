/** Non-negative least squares from normal equations, for many small problems that share their rows.
 */
#ifndef SOLVE_NNLS_H
#define SOLVE_NNLS_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

/**
 * Minimises x'Gx / 2 - h'x over x >= 0: the least squares solution of A x = b if G = A'WA and
 * h = A'Wb. The active set method of Lawson & Hanson (1974, chapter 23) on normal equations (Bro &
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
