/** What steps share: what a device does by itself, what its ranks add, and buckets. */
#ifndef PREDICT_OWN_H
#define PREDICT_OWN_H

#include "predict/bounds.h"

/** What the seconds of a device by itself are of. */
typedef struct own_key {
    int64_t   batch, accumulation; /**< batch 0: of nothing */
    int64_t   devices;             /**< of its node, all at work */
    optimizer optimizer;
    bool      together; /**< this very step was measured on as many ranks */
    bool      many;     /**< of several ranks: models may update by another formula */
} own_key;

typedef struct own_parts {
    own_key          key;
    const intervals *known;
    interval_reach   reach;   /**< of the batch */
    part             part[4]; /**< whose times add up to the step */
    size_t           n_parts;
    bool             by_layers; /**< of which networks are not composed: bounds are unknown */
    double           seconds[N_PARTS]; /**< all but what own_leaves_out() */
    workload         load;             /**< without terms */
    prediction       sum;              /**< its ledger and what leaves the range */
} own_parts;

/** What depends on nodes and devices, and on no batch. */
typedef struct rank_parts {
    int64_t          nodes, devices; /**< nodes 0: of nothing */
    double           beyond;         /**< ranks over the most that were measured; 0: not beyond */
    bool             told_link;      /**< see bound_basis */
    interval_reach   reach;
    measured_batches measured; /**< batches that were measured on as many ranks */
    double           bytes;    /**< that the rest is of; NAN: of nothing yet */
    double           seconds;  /**< of the part that own_leaves_out() */
    prediction       sum;      /**< its ledger and what leaves the range, nothing measured */
} rank_parts;

/** Where steps without a scan have what they would share. */
typedef struct step_room {
    own_parts  own;
    rank_parts ranks;
} step_room;

/** What nodes and devices tell of such a step, but for what they take: of the scan, where a step
 * before asked for it, else in `room`. */
rank_parts *own_ranks(const predictor *who, const step_setup *asked, step_room *room);

/** What a device does by itself, the same way. LM_E_... as predict_step(). */
lm_status own_of(const predictor *who, const step_setup *asked, const rank_parts *ranks,
                 step_room *room, const own_parts **out, lm_error *err);

/** Finds seconds and sum of `ranks`, which are the step's. LM_E_NOTFOUND as sum_add(). */
lm_status own_ask_ranks(const predictor *who, const step_setup *asked, const own_parts *own,
                        rank_parts *ranks, lm_error *err);

/** Is it a part that only the number of ranks tells? These are not among those of a device. */
bool own_leaves_out(part which);
/** How often a part is done in a step: in each micro-step, or once. */
double own_times(part which, const step_setup *s);

/** Buckets of a policy, of the scan where they are those of the step before; overlap_plan_free()
 * them if the predictor has none. */
lm_status own_plan(const predictor *who, const gradient_schedule *schedule,
                   const sync_policy *policy, overlap_plan **out, lm_error *err);

#endif
