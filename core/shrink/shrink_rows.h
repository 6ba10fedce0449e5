/**
 * Rows of shrunk fits, in units of their measured times, with what fits without a fold begin from:
 * sums over each fold, of which the others' are added.
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
    size_t      group; /**< rows of one group, a network's, are alike: each counts less */
} shrink_row;

/** Sums over a fold's rows, or over the rows that take part in a fit. */
typedef struct shrink_sums {
    size_t  n;
    double  largest[N_TERM_FAMILIES]; /**< of a family's terms in a row */
    bool    used[N_TERMS];            /**< by place: has any row this term? */
    double *gram, *h; /**< over places: rows weighing as their group has it; lower triangle */
} shrink_sums;

/** Between what coefficients are kept, whatever the rows say. */
typedef struct term_bounds {
    double least_flop; /**< s of a FLOP of products, which no trick of convolutions makes faster */
    double most_byte;  /**< s of a byte of weights; INFINITY: any */
} term_bounds;

/** The coefficient nearest to `value` that is within. */
double term_bounds_keep(const term_bounds *b, size_t term, double value);

typedef struct shrink_rows {
    term_bounds bounds; /**< shrink_rows_new(): none */
    size_t      n;
    size_t      n_terms;       /**< that any row has */
    size_t      term[N_TERMS]; /**< in their order; where a term stands is its place */
    double     *relative;      /**< rows x places: terms by the measured time */
    size_t     *fold, *group;
    size_t      n_folds, n_groups;
    double      alike;
    bool whole; /**< no group has rows in two folds: what a row weighs is the same in all fits */
    shrink_sums *of; /**< each fold, where `whole`; else without gram and h */
} shrink_rows;

/**
 * @param alike correlation of the deviations of a group's rows: of n of them each counts
 *              1 / (1 + (n - 1) alike) (the design effect of cluster sampling, Kish 1965), so that
 * a ridge means the same for one batch a network and for thirty
 * @return LM_E_ARG for numbers that are not finite; LM_E_NOMEM
 */
lm_status shrink_rows_new(const shrink_row *row, size_t n, double alike, shrink_rows *out,
                          lm_error *err);
void      shrink_rows_free(shrink_rows *r);

/** Weight of each row beside others of its group; 0: the row is of the fold that is left out. */
lm_status shrink_rows_share(const shrink_rows *r, size_t without, double *share, lm_error *err);

/** Over all folds but one; `share` as above. To be freed. */
lm_status shrink_rows_sum(const shrink_rows *r, size_t without, const double *share,
                          shrink_sums *out, lm_error *err);
void      shrink_sums_free(shrink_sums *s);

/**
 * Numerical rank of the rows: columns of length 1 that are further from all combinations of the
 * others than 1e-5, by Cholesky's factorisation with pivoting (Higham 2002, "Accuracy and Stability
 * of Numerical Algorithms", section 10.3).
 *
 * @return LM_E_NOMEM
 */
lm_status term_rank(const shrink_rows *r, size_t *out, lm_error *err);

#endif
