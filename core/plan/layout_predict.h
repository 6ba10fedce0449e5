/** The prediction of a layout that a search found, equal to that of `predict` and `memory`. */
#ifndef PLAN_LAYOUT_PREDICT_H
#define PLAN_LAYOUT_PREDICT_H

#include "models/step_model.h"
#include "network/memory.h"
#include "plan/layouts.h"

/** The environment of a layout. */
typedef struct layout_asked {
    const predictor  *who;
    const network    *net;
    const registry   *reg;
    const step_setup *setup; /**< devices per node, optimizer, policy */
    int64_t           nodes;
} layout_asked;

/**
 * Options for its memory: weights of 16 bit have master copies in 32 bit, as in all published runs
 * of large networks.
 */
memory_options layout_memory_options(const predictor *who, const step_setup *setup);

/** Step of a settled layout. Result of recompute_share(). */
lm_status layout_step(const layout_asked *a, const layout *l, step_setup *out, lm_error *err);

/**
 * Bytes on the rank that needs most, for a settled layout, by rank_memory_of(), with its errors.
 * @param bound as in rank_memory
 */
lm_status layout_memory(const layout_asked *a, const layout *l, const memory_binding *bound,
                        double *out, lm_error *err);

/**
 * Seconds, bounds and shares of a settled layout, by predict_laid_out(), with its errors; without
 * bytes. Passes and messages get the factors that reproduce the bounds of the step.
 */
lm_status layout_predict(const layout_asked *a, const layout *l, layout_found *out, lm_error *err);

#endif
