/**
 * What a run's seconds go to, each part by a factor of its own on each pair of GPUs:
 *
 *   seconds on the target / seconds on the source = sum over parts j of factor_j(pair) share_j
 *
 * with shares as bounds.h has them: times of kinds of operations are what they are, other metrics
 * stand for what a run waits for. Factors are not negative and fitted relative to the measured
 * ratio, held by a ridge near what all have in common, the pair's median ratio over the mean sum of
 * shares. How strong the ridge is, of a few, is what is best on parts of the groups that are left
 * out.
 */
#ifndef CROSSGPU_PARTS_H
#define CROSSGPU_PARTS_H

#include "crossgpu/pairs.h"
#include "learn/lines.h"

/** Pairs with fewer runs are not known. */
#define PARTS_LEAST 5

typedef struct part_factors {
    size_t  n, n_gpus; /**< shares; GPUs */
    double  ridge;
    bool   *known;  /**< n_gpus^2 */
    double *factor; /**< n_gpus^2 x n, of pairs that are known */
} part_factors;

/**
 * @param fold   of each group, below n_folds: left out together
 * @param left   rows->n: measured - predicted log ratio with the row's fold left out; NAN for a
 * pair of a single fold, or that is not known
 * @return LM_E_NOMEM, LM_E_ARG
 */
lm_status parts_fit(const selection *rows, const size_t *fold, size_t n_folds, part_factors *out,
                    double *left, lm_error *err);
void      parts_free(part_factors *p);

/** NAN: the pair is not known. `shares`: room for p->n. */
double parts_log_ratio(const part_factors *p, const space *s, const double *x, size_t from,
                       size_t to, double *shares);

/** Their text, both ways. */
void parts_text(lines *l, const space *s, size_t n_gpus, part_factors *p);

#endif
