/**
 * What the generation of tokens takes: steps of decoding by the same prices as any other pass.
 *
 * The mean of these steps is a predictor like any other, asked as of PROGRAM_INFERENCE: a sample is
 * then a new token of a sequence, a pass the next token of each sequence of the batch.
 */
#ifndef PREDICT_GENERATION_H
#define PREDICT_GENERATION_H

#include "predict/scaling.h"

/** The predictor of the step with so many tokens in the cache; it stays. */
typedef lm_status (*generation_at)(void *of, int64_t context, const predictor **who, lm_error *err);

/**
 * The predictor of the mean step of `tokens`, the first of which has `context` in the cache.
 *
 * @param out to be freed by generation_close(), before what `at` gave
 * @return what `at` returns, LM_E_NOMEM. Its prices return what generation_steps() does, too
 */
lm_status generation_open(int64_t context, int64_t tokens, generation_at at, void *of,
                          predictor *out, lm_error *err);
void      generation_close(predictor *who);

/** What is generated; zeros: nothing. */
typedef struct generation_span {
    int64_t context, tokens; /**< in the cache before the first step; of each sequence */
} generation_span;

typedef struct generation {
    int64_t     context, tokens; /**< in the cache before the first step; of each sequence */
    scale_point mean;            /**< of the steps: its throughput is that of tokens */
    bounded     seconds;         /**< of all steps */
    double      first, last;     /**< s: the first step and the last */
    double      per_second;      /**< tokens of all devices */
} generation;

/** Asks such a predictor about all its steps. What scale_at() returns. */
lm_status generation_predict(const predictor *who, const scale_question *q, int64_t nodes,
                             generation *out, lm_error *err);

#endif
