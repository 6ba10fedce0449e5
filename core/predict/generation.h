/** What the generation of tokens takes: steps of decoding by the same prices as any other pass. */
#ifndef PREDICT_GENERATION_H
#define PREDICT_GENERATION_H

#include "predict/scaling.h"

/** Predicts the step with so many tokens in the cache. */
typedef lm_status (*generation_at)(void *of, int64_t context, scale_point *out, lm_error *err);

typedef struct generation {
    int64_t context, tokens; /**< in the cache before the first step; generated, of each sequence */
    scale_point mean;        /**< of the steps: its throughput is that of tokens */
    bounded     seconds;     /**< of all steps */
    double      first, last; /**< s: the shortest step and the longest, usually */
    double      per_second;  /**< tokens of all devices */
} generation;

/** What generation_steps() returns. */
lm_status predict_generation(int64_t context, int64_t tokens, generation_at at, void *of,
                             generation *out, lm_error *err);

#endif
