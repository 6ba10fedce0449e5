/**
 * Shrunk fits: coefficients for many terms from few measurements.
 *
 * Three stages, each a robust relative non-negative least squares fit of the remainder of the stage
 * before:
 *
 * 1. one coefficient for each family of terms (terms.h): first for independent families, then for all;
 *    correcting families start as a given multiple of another family's coefficient;
 * 2. a factor on it for each slot;
 * 3. a factor on that for each term, which separates the passes of a slot.
 *
 * A ridge holds factors near 1: mu (factor - 1)^2 is added to the sum over rows of squared relative
 * residuals. mu does not grow with the number of rows, so its weight falls with more measurements.
 * Slots and passes that nobody measured keep their family's coefficient. (Ridge regression towards
 * a prior: Hoerl & Kennard 1970; the same in tiers: Gelman & Hill 2007, chapter 12.)
 *
 * Depthwise and grouped convolutions are one family if both were measured. If only one kind was
 * measured, the other is guessed (stand_in in shrink.c), because their reuse differs by orders of
 * magnitude.
 *
 * A coefficient outside its bounds (term_bounds: limits of datasheets and of launches) is set to the
 * bound. Its seconds are subtracted from the rows, and the rest is fitted again.
 *
 * Relative: rows are divided by the measured time, so that small times have the same weight as
 * large ones. Robust: residuals above `huber` count linearly (Huber 1964), by repeated reweighting.
 */
#ifndef SHRINK_H
#define SHRINK_H

#include "shrink/shrink_rows.h"

typedef struct shrink_options {
    double mu;         /**< for both factor stages */
    double huber;      /**< limit of the relative residual */
    double alike;      /**< argument of shrink_rows_new() */
    int    rounds;     /**< rounds of reweighting, per stage */
    bool   slots_only; /**< leave out the last stage */
} shrink_options;

/**
 * Options for kernels of networks, and for networks of which only counts are known; chosen for
 * about a thousand rows.
 */
extern const shrink_options shrink_default, shrink_counted;

typedef struct shrink_fit {
    double coefficient[N_TERMS]; /**< seconds per unit */
    double spread[N_TERMS];      /**< standard error; NAN: at its bound, or not measured */
    /**
     * The share of a coefficient that the measurements determine: 1, all; 0: it is its family's.
     * For a ridge factor it is 1 - mu (G + mu)^-1_jj (G: its information).
     */
    double known[N_TERMS];
    bool   at_bound[N_TERMS];
    size_t rows, n_used; /**< number of rows; number of terms that occur */
    double weighted_rss; /**< over relative residuals */
} shrink_fit;

/**
 * Fits to the rows whose fold is not `without`.
 *
 * @return LM_E_ARG for no rows, or equations that are not finite; LM_E_NOMEM
 */
lm_status shrink_solve(const shrink_rows *rows, size_t without, const shrink_options *options,
                       shrink_fit *out, lm_error *err);

/** Seconds: sum of coefficients times terms. */
double shrink_seconds(const shrink_fit *f, const term_vector *terms);

#endif
