/**
 * What is used of LAPACK, by its own names: LAPACKE and what that is built on would take longer to
 * load than most commands take. Matrices lie column after column, without gaps.
 */
#ifndef BASE_LAPACK_H
#define BASE_LAPACK_H

#include <stdbool.h>
#include <stddef.h>

/** Triangle of a symmetric matrix; by rows it is the other one. */
typedef enum lapack_triangle { LAPACK_UPPER = 'U', LAPACK_LOWER = 'L' } lapack_triangle;

/** b becomes the solution of a x = b, of the upper triangle of `a`, which is destroyed (dposv).
 * False: it is not positive definite. */
bool lapack_solve(double *a, double *b, size_t n);

/** Inverts a positive definite matrix by one of its triangles, the other one is left (dpotrf,
 * dpotri). False: it is not, or not a number. */
bool lapack_invert(double *a, size_t n, lapack_triangle t);

/** The m x n matrix `a`, m >= n, becomes its triangle R and, below it, what Q is made of (dgeqrf);
 * `room` is for n (1 + LAPACK_BLOCK) numbers. */
#define LAPACK_BLOCK 32
void lapack_qr(double *a, size_t m, size_t n, double *room);

/** Least squares of the m x n matrix `a`: the first n of b (max(m, n) numbers) become the solution
 * of least length; values, min(m, n), the singular ones, of which those below `least` of the
 * largest count as 0. False: it did not converge. */
typedef struct lapack_squares {
    double *a, *b, *values;
    size_t  m, n;
    double  least;
    size_t  rank; /**< found */
} lapack_squares;

/** Right singular vectors are left in `a` (dgelss); `room` is for n_room numbers. */
bool lapack_least_vectors(lapack_squares *s, double *room, size_t n_room);
/** By parts, of many columns (dgelsd). Also false where memory runs out: *no_memory says so. */
bool lapack_least(lapack_squares *s, bool *no_memory);

#endif
