/**
 * Similar runs: kernel ridge regression of log ratios (the mean of a Gaussian process), for each
 * pair of GPUs.
 *
 *   log ratio(x) = median + sum over runs i of alpha_i exp(-g |z(x) - z(x_i)|^2 / features)
 *   alpha = (K + l I)^-1 (log ratios - median)
 *
 * z are the features of a run, centred and scaled to deviation 1. g and l are taken from a grid:
 * they have the least mean absolute error over parts of the groups left out. This needs no new
 * fits: the residuals are (K^-1)_GG^-1 alpha_G (Rasmussen & Williams 2006, equation 5.12, for
 * groups).
 */
#ifndef CROSSGPU_NEAREST_H
#define CROSSGPU_NEAREST_H

#include "crossgpu/pairs.h"
#include "learn/lines.h"
#include "solve/folds.h"

/** One pair of GPUs. */
typedef struct nearest_pair {
    size_t  n;      /**< runs; 0: an unknown pair */
    double  median; /**< of log ratios */
    size_t *run;    /**< n */
    double *alpha;  /**< n */
} nearest_pair;

typedef struct nearest {
    size_t        n_features, n_runs, n_gpus;
    double       *mean, *deviation; /**< of features; deviation 0: ignored */
    double       *z;                /**< n_runs x n_features */
    double        g, l;
    nearest_pair *pair; /**< n_gpus^2 */
} nearest;

/**
 * @param by folds of the selection's rows
 * @param left rows->n: measured - predicted log ratio with the row's fold left out; NAN for an
 * unknown pair or a pair of a single fold. May be NULL
 * @return LM_E_NOMEM, LM_E_ARG
 */
lm_status nearest_fit(const selection *rows, const folds *by, nearest *out, double *left,
                      lm_error *err);
void      nearest_free(nearest *k);

/** Is any pair with that GPU known? */
bool nearest_knows(const nearest *k, size_t gpu_at);

/** NAN: an unknown pair. */
double nearest_log_ratio(const nearest *k, const double *x, size_t from, size_t to);

/** Writes or reads its text, for runs of so many features. */
void nearest_text(lines *l, size_t n_features, size_t n_gpus, nearest *k);

#endif
