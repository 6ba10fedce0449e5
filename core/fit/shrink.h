/**
 * Shrunk fits: coefficients for many terms from few measurements.
 *
 * Three stages, each a robust relative non-negative least squares fit of what the one before left:
 *
 *  1. one coefficient for each family of terms (terms.h): first for those that stand on their own,
 *     then for all, where the ones that correct begin as a stated multiple of another family's;
 *  2. a factor on it for each slot;
 *  3. a factor on that for each term, which tells the passes of a slot apart.
 *
 * Factors are held near 1 by a ridge, mu (factor - 1)^2 beside the sum over the rows of squared
 * relative residuals. mu does not grow with the number of rows, so that its weight falls as
 * measurements are added; slots and passes nobody measured keep their family's coefficient. (Ridge
 * regression towards a prior: Hoerl & Kennard 1970; the same in tiers: Gelman & Hill 2007,
 * chapter 12.)
 *
 * Relative: rows are divided by the measured time, so that small times count as much as large ones.
 * Robust: residuals beyond `huber` count linearly (Huber 1964), by repeated reweighting.
 */
#ifndef FIT_SHRINK_H
#define FIT_SHRINK_H

#include <stdbool.h>

#include "features/terms.h"

typedef struct shrink_row {
    term_vector terms;
    double      seconds; /**< > 0 */
    size_t      fold;
    size_t      group; /**< rows of one group, a network's, are alike: each counts less */
} shrink_row;

typedef struct shrink_options {
    double mu;       /**< of both stages */
    double huber;    /**< relative residual */
    double alike;    /**< correlation of the deviations of a group's rows: of n of them each counts
                        1 / (1 + (n - 1) alike) (the design effect of cluster sampling, Kish 1965), so
                        that mu means the same for one batch a network and for thirty */
    int  rounds;     /**< of reweighting, in each stage */
    bool slots_only; /**< without the last stage */
} shrink_options;

/** Of networks' kernels, and of networks of which only counts are known: about a thousand rows. */
extern const shrink_options shrink_default, shrink_counted;

typedef struct shrink_fit {
    double coefficient[N_TERMS]; /**< seconds per unit */
    double spread[N_TERMS];      /**< standard error; NAN: at its bound, or nobody measured it */
    /** How much of a coefficient is the measurements': 1, all; 0: it is its family's. Of a ridge
     * factor, 1 - mu (G + mu)^-1_jj (G: its information). */
    double known[N_TERMS];
    bool   at_bound[N_TERMS];
    size_t rows, n_used; /**< rows; terms that any of them has */
    double weighted_rss; /**< of relative residuals */
} shrink_fit;

/** Sums over all rows from which fits without a fold begin: what that fold adds is taken out of
 * them, instead of adding up the others again. */
typedef struct shrink_sums {
    size_t  at[N_TERMS]; /**< place of a term below; N_TERMS: no row has it */
    size_t  n;
    double *gram, *h; /**< of relative terms, rows weighing as their group has it; lower triangle */
    bool    whole;    /**< no group has rows in two folds, no number is not finite: else fits do not
                         begin from these */
} shrink_sums;

/** LM_E_NOMEM; what is wrong with rows is for shrink_solve() to say. */
lm_status shrink_sums_new(const shrink_row *row, size_t n, const shrink_options *options,
                          shrink_sums *out, lm_error *err);
void      shrink_sums_free(shrink_sums *s);

/**
 * Fits to the rows whose fold is not `without`.
 *
 * @param sums of the same rows and options; NULL: none. They change nothing but the time
 * @return LM_E_ARG for no rows, or numbers that are not finite; LM_E_NOMEM
 */
lm_status shrink_solve(const shrink_row *row, size_t n, size_t without,
                       const shrink_options *options, const shrink_sums *sums, shrink_fit *out,
                       lm_error *err);

/** Seconds: coefficients times terms. */
double shrink_seconds(const shrink_fit *f, const term_vector *terms);

#endif
