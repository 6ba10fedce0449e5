/**
 * Time of generating tokens: a sequence of decoding steps, priced like any other pass.
 *
 * The mean of these steps is a predictor, asked with PROGRAM_INFERENCE. A sample is then a new
 * token of a sequence, and a pass computes the next token of each sequence of the batch.
 */
#ifndef PREDICT_GENERATION_H
#define PREDICT_GENERATION_H

#include "predict/scaling.h"

/**
 * Returns the predictor of a step with `context` tokens in the cache; the callee keeps ownership.
 */
typedef lm_status (*generation_at)(void *of, int64_t context, const predictor **who, lm_error *err);

/**
 * Makes the predictor of the mean over `tokens` steps; the first step has `context` tokens in the
 * cache.
 *
 * @param out freed by generation_close(), before the predictors that `at` returned
 * @return errors of `at`, LM_E_NOMEM. Its prices also return errors of generation_steps()
 */
lm_status generation_open(int64_t context, int64_t tokens, generation_at at, void *of,
                          predictor *out, lm_error *err);
void      generation_close(predictor *who);

/** Size of a generation; zeros: none. */
typedef struct generation_span {
    /** context: tokens in the cache before the first step; tokens: per sequence */
    int64_t context, tokens;
} generation_span;

typedef struct generation {
    /** context: tokens in the cache before the first step; tokens: per sequence */
    int64_t     context, tokens;
    scale_point mean;        /**< mean of the steps; its throughput is in tokens */
    bounded     seconds;     /**< sum of all steps */
    double      first, last; /**< s: the first step and the last */
    double      per_second;  /**< tokens per second of all devices */
} generation;

/** Asks such a predictor about all its steps. Errors of scale_at(). */
lm_status generation_predict(const predictor *who, const scale_question *q, int64_t nodes,
                             generation *out, lm_error *err);

#endif
