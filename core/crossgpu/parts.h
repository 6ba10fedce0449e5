/**
 * Two formulas for seconds on the target GPU / seconds on the source GPU.
 *
 * Bounds of a roofline, mixed:
 *
 *   ratio = sum over resources r of R_r share_r
 *
 * R is the source's peak over the target's (arithmetic), bandwidth over bandwidth (traffic), and 1
 * (work of the host). share_r is a sum of the run's metrics times coefficients that are not
 * negative. A ridge holds the coefficients; they are fitted relative to the measured ratio. Metrics
 * are clipped to [0, 1.5]. A metric that is a share of a limit also counts with the rest up to 1.
 * This formula needs datasheets alone, so it also predicts for devices without any run.
 *
 * Parts of a run, each with a factor for each pair of GPUs:
 *
 *   ratio = sum over parts j of factor_j(pair) share_j
 *
 * Shares are those above: seconds of kinds of operations, or metrics that tell what a run waits
 * for. Factors are not negative and fitted relative to the measured ratio. A ridge holds them near
 * a common value, the pair's median ratio over the mean sum of shares. Its strength is the one that
 * is best on parts of the groups left out.
 */
#ifndef CROSSGPU_PARTS_H
#define CROSSGPU_PARTS_H

#include "crossgpu/pairs.h"
#include "learn/lines.h"
#include "solve/folds.h"

/** Mixed bounds. */
typedef struct bounds {
    size_t  n;      /**< coefficients */
    double *weight; /**< n, >= 0 */
} bounds;

/** LM_E_NOMEM, LM_E_ARG. */
lm_status bounds_fit(const selection *rows, bounds *out, lm_error *err);
void      bounds_free(bounds *b);

/** log(seconds on `to` / seconds on `from`) of a run with features x. */
double bounds_log_ratio(const bounds *b, const space *s, const double *x, const gpu *from,
                        const gpu *to);

/** Writes or reads their text: "bounds w ...". */
void bounds_text(lines *l, const space *s, bounds *b);

/** Factors by parts. */
typedef struct part_factors {
    size_t  n, n_gpus; /**< shares; GPUs */
    double  ridge;
    bool   *known;  /**< n_gpus^2 */
    double *factor; /**< n_gpus^2 x n, of pairs that are known */
} part_factors;

/**
 * @param by folds of the selection's rows
 * @param left rows->n: measured - predicted log ratio with the row's fold left out; NAN for an
 * unknown pair or a pair of a single fold
 * @return LM_E_NOMEM, LM_E_ARG
 */
lm_status parts_fit(const selection *rows, const folds *by, part_factors *out, double *left,
                    lm_error *err);
void      parts_free(part_factors *p);

/** NAN: an unknown pair. `shares`: memory for p->n. */
double parts_log_ratio(const part_factors *p, const space *s, const double *x, size_t from,
                       size_t to, double *shares);

/** Writes or reads their text. */
void parts_text(lines *l, const space *s, size_t n_gpus, part_factors *p);

#endif
