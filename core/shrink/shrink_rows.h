/**
 * Rows of shrunk fits, divided by their measured times, with sums per fold. A fit without one fold
 * adds up the sums of the others.
 */
#ifndef SHRINK_ROWS_H
#define SHRINK_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "counts/terms.h"

typedef struct shrink_row {
    term_vector terms;
    double      seconds; /**< > 0 */
    size_t      fold;
    /** rows of one group, such as a network, are similar: each has less weight */
    size_t group;
} shrink_row;

/** Sums over the rows of a fold, or over the rows of a fit. */
typedef struct shrink_sums {
    size_t  n;
    double  largest[N_TERM_FAMILIES]; /**< largest value of a family's terms in a row */
    bool    used[N_TERMS];            /**< by place: does a row have this term? */
    double *gram, *h;                 /**< over places: rows weighted by group; lower triangle */
} shrink_sums;

/** Limits of coefficients, whatever the rows show. */
typedef struct term_bounds {
    /** lower limit in s per FLOP of products, below any algorithm for convolutions */
    double least_flop;
    double most_byte;    /**< upper limit in s per byte of weights; INFINITY: none */
    double least_launch; /**< lower limit in s per launch; 0: none */
} term_bounds;

/** The value within the limits that is nearest to `value`. */
double term_bounds_keep(const term_bounds *b, size_t term, double value);

typedef struct shrink_rows {
    term_bounds bounds; /**< shrink_rows_new() sets no limits */
    size_t      n;
    size_t      n_terms;       /**< number of terms that occur */
    size_t      term[N_TERMS]; /**< these terms in order; the index of a term is its place */
    double     *relative;      /**< rows x places: terms divided by the measured time */
    size_t     *fold, *group;
    size_t      n_folds, n_groups;
    double      alike;
    /** no group has rows in two folds: the weight of a row is the same in all fits */
    bool         whole;
    shrink_sums *of; /**< sums per fold, if `whole`; otherwise without gram and h */
} shrink_rows;

/**
 * @param alike correlation of the deviations within a group. Each of its n rows counts 1 / (1 + (n
 *              - 1) alike) (the design effect of cluster sampling, Kish 1965). So a ridge means the
 *              same for one batch per network and for thirty
 * @return LM_E_ARG for numbers that are not finite; LM_E_NOMEM
 */
lm_status shrink_rows_new(const shrink_row *row, size_t n, double alike, shrink_rows *out,
                          lm_error *err);
void      shrink_rows_free(shrink_rows *r);

/** Weight of each row with regard to its group; 0: the row is in the fold that is left out. */
lm_status shrink_rows_share(const shrink_rows *r, size_t without, double *share, lm_error *err);

/** Sums over all folds but one; `share` is from shrink_rows_share(). The caller frees `out`. */
lm_status shrink_rows_sum(const shrink_rows *r, size_t without, const double *share,
                          shrink_sums *out, lm_error *err);
void      shrink_sums_free(shrink_sums *s);

/**
 * Numerical rank of the rows: number of columns of length 1 whose distance from all combinations of
 * the others exceeds 1e-5, by Cholesky's factorisation with pivoting (Higham 2002, "Accuracy and
 * Stability of Numerical Algorithms", section 10.3).
 *
 * @return LM_E_NOMEM
 */
lm_status term_rank(const shrink_rows *r, size_t *out, lm_error *err);

#endif
