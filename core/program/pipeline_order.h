/** The order of tasks on one rank of a pipeline. */
#ifndef PROGRAM_PIPELINE_ORDER_H
#define PROGRAM_PIPELINE_ORDER_H

#include "program/pipeline.h"

/** Number of forward passes before forward and backward passes alternate; at most all of them. */
int64_t pipeline_warm_up(const pipeline_question *q, int64_t rank);

/**
 * The number of backward passes by which weight gradients are delayed. ZB-H1 lets each rank hold as
 * many micro-batches as the first rank of 1F1B. A later rank warms up with fewer and defers more. 0
 * for other rules.
 */
static inline int64_t pipeline_deferred(const pipeline_question *q, int64_t rank)
{
    return q->rule == PIPELINE_ZB_H1 ? rank : 0;
}

/** The next task of a rank after the tasks `done`; N_PIPELINE_PASSES: all are done. */
pipeline_pass pipeline_next(const pipeline_question *q, int64_t rank, int64_t warm_up,
                            const int64_t done[N_PIPELINE_PASSES]);

typedef struct pipeline_place {
    int64_t chunk, micro_batch;
} pipeline_place;

/** Chunk and micro-batch of a rank's nth pass of a kind, counted from 0. */
pipeline_place pipeline_place_of(const pipeline_question *q, pipeline_pass pass, int64_t nth);

#endif
