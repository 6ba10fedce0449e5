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
 * measurements are added; slots and passes nobody measured keep their family's coefficient.
 * Depthwise convolutions are of one family with grouped ones where both were measured; of one kind
 * alone the other is guessed (stand_in in shrink.c), as their reuse is decades apart. (Ridge
 * regression towards a prior: Hoerl & Kennard 1970; the same in tiers: Gelman & Hill 2007,
 * chapter 12.)
 *
 * A coefficient that leaves its bounds (term_bounds: what the device's datasheet allows) is held there, its
 * seconds are taken from the rows, and the rest is fitted again.
 *
 * Relative: rows are divided by the measured time, so that small times count as much as large ones.
 * Robust: residuals beyond `huber` count linearly (Huber 1964), by repeated reweighting.
 */
#ifndef SHRINK_H
#define SHRINK_H

#include "shrink/shrink_rows.h"

typedef struct shrink_options {
    double mu;         /**< of both stages */
    double huber;      /**< relative residual */
    double alike;      /**< of shrink_rows_new() */
    int    rounds;     /**< of reweighting, in each stage */
    bool   slots_only; /**< without the last stage */
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

/**
 * Fits to the rows whose fold is not `without`.
 *
 * @return LM_E_ARG for no rows, or equations that are not finite; LM_E_NOMEM
 */
lm_status shrink_solve(const shrink_rows *rows, size_t without, const shrink_options *options,
                       shrink_fit *out, lm_error *err);

/** Seconds: coefficients times terms. */
double shrink_seconds(const shrink_fit *f, const term_vector *terms);

#endif
