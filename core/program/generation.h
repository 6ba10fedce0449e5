/**
 * The program of generation: tokens of each sequence are computed one by one.
 *
 * A step runs the network on one token. The token sees the earlier ones through their cached keys
 * and values, so the cache grows by one in each step. Counts grow by equal amounts per step.
 * Seconds need not, because prices depend on shapes. So a few steps are priced, and the others are
 * interpolated linearly where a price in the middle confirms the line.
 */
#ifndef PROGRAM_GENERATION_H
#define PROGRAM_GENERATION_H

#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** Allowed distance of the middle from the line, relative to its own seconds. */
#define GENERATION_TOLERANCE 1e-3

/** A priced step, and the number of steps that it stands for. */
typedef struct generation_step {
    int64_t context; /**< tokens in the cache */
    double  seconds, weight;
} generation_step;

/** Seconds of a step with `context` tokens in the cache; called once per context. */
typedef lm_status (*generation_price)(void *by, int64_t context, double *seconds, lm_error *err);

/**
 * Prices some steps so that their weighted seconds are the sum of all steps. The order is that of
 * pricing: first step, last step, others. The weights add up to `tokens`. Up to five tokens all
 * steps are priced.
 *
 * @param context tokens in the cache before the first step
 * @param step    malloc'ed, *n entries
 * @return LM_E_ARG if the contexts exceed 64 bits; LM_E_NOMEM; errors of `price`
 */
lm_status generation_steps(int64_t context, int64_t tokens, generation_price price, void *by,
                           generation_step **step, size_t *n, lm_error *err);

#endif
