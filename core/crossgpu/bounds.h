/**
 * Analytic bounds of a roofline, mixed by what a run's metrics say it waits for:
 *
 *   seconds on the target / seconds on the source = sum over resources r of R_r share_r
 *
 * with R the source's peak over the target's (arithmetic), bandwidth over bandwidth (traffic), and
 * 1 (what the host does); share_r is a sum of metrics times coefficients that are not negative,
 * fitted relative to the measured ratio, with a ridge. Metrics are clipped to [0, 1.5]; of those
 * that are shares of a limit what is missing to 1 takes part, too. It knows devices by their
 * datasheets alone, and so predicts for those on which nothing ran.
 */
#ifndef CROSSGPU_BOUNDS_H
#define CROSSGPU_BOUNDS_H

#include "crossgpu/pairs.h"
#include "learn/lines.h"

typedef struct bounds {
    size_t  n;      /**< coefficients */
    double *weight; /**< n, >= 0 */
} bounds;

/** How many shares a run has, the first being 1; what they are by its features. */
size_t bounds_n_shares(const space *s);
void   bounds_shares(const space *s, const double *x, double *out);

/** LM_E_NOMEM, LM_E_ARG. */
lm_status bounds_fit(const selection *rows, bounds *out, lm_error *err);
void      bounds_free(bounds *b);

/** log(seconds on `to` / seconds on `from`) of a run whose features are x. */
double bounds_log_ratio(const bounds *b, const space *s, const double *x, const gpu *from,
                        const gpu *to);

/** Their text, both ways: "bounds w ...". */
void bounds_text(lines *l, const space *s, bounds *b);

#endif
