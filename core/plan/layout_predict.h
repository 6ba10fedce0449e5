/** A layout that a search found, as `predict` and `memory` tell it. */
#ifndef PLAN_LAYOUT_PREDICT_H
#define PLAN_LAYOUT_PREDICT_H

#include "models/step_model.h"
#include "network/memory.h"
#include "plan/layouts.h"

/** Of whom it is asked. */
typedef struct layout_asked {
    const predictor  *who;
    const network    *net;
    const registry   *reg;
    const step_setup *setup; /**< devices of a node, optimizer, policy */
    int64_t           nodes;
} layout_asked;

/** How its memory is counted: weights of 16 bit are updated in 32, as all published runs of large
 * networks have it. */
memory_options layout_memory_options(const predictor *who, const step_setup *setup);

/** Bytes of the fullest rank of a settled layout, by rank_memory_of(), with its errors. */
lm_status layout_memory(const layout_asked *a, const layout *l, double *out, lm_error *err);

/**
 * Seconds, bounds and shares of a settled layout by predict_laid_out(), with its errors; not its bytes.
 * Passes and messages get the factors that make the step as long as its bounds.
 */
lm_status layout_predict(const layout_asked *a, const layout *l, layout_found *out, lm_error *err);

#endif
