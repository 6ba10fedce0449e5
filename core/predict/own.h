/** What steps share: what a device does by itself, and buckets. */
#ifndef PREDICT_OWN_H
#define PREDICT_OWN_H

#include "predict/price.h"

/** What the seconds of a device by itself are of. */
typedef struct own_key {
    int64_t   batch, accumulation; /**< batch 0: of nothing */
    optimizer optimizer;
    unsigned  measured; /**< parts, see predict_measured() */
    bool      many;     /**< of several ranks: models may update by another formula */
} own_key;

typedef struct own_parts {
    own_key    key;
    prediction sum; /**< its ledger and what leaves the range */
    double     seconds[N_PARTS];
    workload   load; /**< without terms */
} own_parts;

/** What a device does by itself in such a step; of the scan, where a step before did it, too, else
 * in `room`. LM_E_... as predict_step(). */
lm_status own_of(const predictor *who, const step_setup *asked, own_parts *room,
                 const own_parts **out, lm_error *err);

/** Is it a part that only the number of ranks tells? These are not among them. */
bool own_leaves_out(part which);
/** How often a part is done in a step: in each micro-step, or once. */
double own_times(part which, const step_setup *s);

/** Buckets of a policy, of the scan where they are those of the step before; overlap_plan_free()
 * them if the predictor has none. */
lm_status own_plan(const predictor *who, const gradient_schedule *schedule,
                   const sync_policy *policy, overlap_plan **out, lm_error *err);

#endif
