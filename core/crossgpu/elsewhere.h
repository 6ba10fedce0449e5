/** Time and cost of a run on other GPUs, by a model learned from runs on several GPUs. */
#ifndef CROSSGPU_ELSEWHERE_H
#define CROSSGPU_ELSEWHERE_H

#include "base/lists.h"
#include "crossgpu/crossgpu.h"
#include "plan/prices.h"

/** One GPU that a run could move to. */
typedef struct gpu_target {
    gpu                 to;
    crossgpu_prediction said;
    bool                here; /**< the GPU of the run */
    bool   base_told;         /**< else its base clock is assumed: at the share of the run's GPU */
    money  hour;              /**< amount NAN: no price */
    double cost;              /**< of the run's seconds; NAN */
} gpu_target;

/** A question. */
typedef struct elsewhere_question {
    const char *runs, *learned; /**< files */
    word_list   to;             /**< GPUs; none: all that were learned from */
    const char *devices;        /**< datasheets; NULL: the shipped ones */
    const char *prices;         /**< file of prices; NULL: the shipped ones */
    price_tier  tier;
} elsewhere_question;

/** Everything opened for a question. Zero-initialise. */
typedef struct elsewhere {
    device_list *devices;
    price_list  *prices;
    crossgpu    *c;
    runs        *r;
    gpu_target   target[GPUS_MAX];
    size_t       n, n_priced;
    size_t      *place;                   /**< of the metrics, in the runs' columns */
    double      *x;                       /**< features of the last predicted run */
    char         currency[CURRENCY_TEXT]; /**< of all prices; "": no price */
    char         unpriced[300];           /**< "'A', 'B'": targets without a price; "": none */
} elsewhere;

/** elsewhere_free() in either case. LM_E_NOTFOUND for an unknown GPU, metrics that are missing. */
lm_status elsewhere_open(const elsewhere_question *q, elsewhere *out, lm_error *err);
void      elsewhere_free(elsewhere *e);

/**
 * Predicts a run on all targets. They are sorted by time, or by cost with those without a price
 * last.
 *
 * @param from the GPU of the run
 * @return LM_E_NOTFOUND; the text begins with file:line
 */
lm_status elsewhere_predict(elsewhere *e, const gpu_run *of, bool by_cost, gpu *from,
                            lm_error *err);

/** Is a metric of the last predicted run outside of the learned range by a tenth of it? */
bool elsewhere_outside(const elsewhere *e, size_t metric);

#endif
