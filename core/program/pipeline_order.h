/** The order in which a rank of a pipeline does its tasks. */
#ifndef PROGRAM_PIPELINE_ORDER_H
#define PROGRAM_PIPELINE_ORDER_H

#include "program/pipeline.h"

/** Forward passes before the first pair of a forward and a backward one; at most all of them. */
int64_t pipeline_warm_up(const pipeline_question *q, int64_t rank);

/**
 * Backward passes by which a rank's weight gradients come later. ZB-H1 lets a rank hold as many
 * micro-batches as the first rank of 1F1B does: the later a rank, the fewer it warms up with, and the
 * more it defers. 0 with other rules.
 */
static inline int64_t pipeline_deferred(const pipeline_question *q, int64_t rank)
{
    return q->rule == PIPELINE_ZB_H1 ? rank : 0;
}

/** The next task of a rank that has done so many; N_PIPELINE_PASSES: it has done all. */
pipeline_pass pipeline_next(const pipeline_question *q, int64_t rank, int64_t warm_up,
                            const int64_t done[N_PIPELINE_PASSES]);

typedef struct pipeline_place {
    int64_t chunk, micro_batch;
} pipeline_place;

/** What a rank's nth pass of a kind works on, from 0. */
pipeline_place pipeline_place_of(const pipeline_question *q, pipeline_pass pass, int64_t nth);

#endif
