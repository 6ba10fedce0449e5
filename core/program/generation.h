/**
 * The program of generation: one token of each sequence after the other.
 *
 * A step runs the network on one token, which sees those before it through their cached keys and
 * values, so that each step has one more in its cache. Counts grow by equal amounts from step to step;
 * seconds need not, as prices change with shapes. So a few steps are priced, and the others lie on lines
 * between them where a step in the middle does.
 */
#ifndef PROGRAM_GENERATION_H
#define PROGRAM_GENERATION_H

#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** How far the middle of a line may lie beside it, of its own seconds. */
#define GENERATION_TOLERANCE 1e-3

/** A step that was priced, and for how many it stands. */
typedef struct generation_step {
    int64_t context; /**< tokens in the cache */
    double  seconds, weight;
} generation_step;

/** Seconds of a step with so many tokens in the cache, each asked for once. */
typedef lm_status (*generation_price)(void *by, int64_t context, double *seconds, lm_error *err);

/**
 * Steps whose weighted seconds are those of all, in the order in which they were priced: the first
 * step, then the last. The weights add up to `tokens`. Up to five tokens all steps are priced.
 *
 * @param context tokens in the cache before the first step
 * @param step    malloc'ed, *n of them
 * @return LM_E_ARG where the contexts do not fit 64 bits; LM_E_NOMEM; what `price` returns
 */
lm_status generation_steps(int64_t context, int64_t tokens, generation_price price, void *by,
                           generation_step **step, size_t *n, lm_error *err);

#endif
