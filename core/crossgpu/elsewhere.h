/** Runs on other GPUs: how long, and at what cost, by what was learned from runs on several. */
#ifndef CROSSGPU_ELSEWHERE_H
#define CROSSGPU_ELSEWHERE_H

#include "base/lists.h"
#include "crossgpu/crossgpu.h"
#include "plan/prices.h"

/** One GPU that a run could move to. */
typedef struct gpu_target {
    gpu                 to;
    crossgpu_prediction said;
    bool                here; /**< it is where the run was */
    money               hour; /**< amount NAN: no price */
    double              cost; /**< of the run's seconds; NAN */
} gpu_target;

/** What is asked. */
typedef struct elsewhere_question {
    const char *runs, *learned; /**< files */
    word_list   to;             /**< GPUs; none: all that were learned from */
    const char *devices;        /**< datasheets; NULL: the shipped ones */
    const char *prices;         /**< file of prices; NULL: the shipped ones */
    price_tier  tier;
} elsewhere_question;

/** What is opened. Zeroed to begin with. */
typedef struct elsewhere {
    device_list *devices;
    price_list  *prices;
    crossgpu    *c;
    runs        *r;
    gpu_target   target[GPUS_MAX];
    size_t       n, n_priced;
    size_t      *place;                   /**< of the metrics, in the runs' columns */
    double      *x;                       /**< features of the last run that was predicted */
    char         currency[CURRENCY_TEXT]; /**< of all prices; "": there is none */
    char         unpriced[300];           /**< "'A', 'B'": targets without a price; "": none */
} elsewhere;

/** elsewhere_free() in either case. LM_E_NOTFOUND for an unknown GPU, metrics that are missing. */
lm_status elsewhere_open(const elsewhere_question *q, elsewhere *out, lm_error *err);
void      elsewhere_free(elsewhere *e);

/**
 * Predicts a run on all targets, which are sorted by time, or by cost, those without a price last.
 *
 * @param from the GPU it was on
 * @return LM_E_NOTFOUND; the text begins with file:line
 */
lm_status elsewhere_predict(elsewhere *e, const gpu_run *of, bool by_cost, gpu *from,
                            lm_error *err);

/** Does the metric, of the run that was predicted last, leave what was learned from by a tenth of
 * its range? */
bool elsewhere_outside(const elsewhere *e, size_t metric);

#endif
