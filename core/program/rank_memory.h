/** Memory of the fullest rank under a layout. */
#ifndef PROGRAM_RANK_MEMORY_H
#define PROGRAM_RANK_MEMORY_H

#include "network/memory.h"
#include "program/layout.h"

/** What is asked: a network, how it is trained, and a layout. */
typedef struct rank_memory {
    const network        *net;
    const registry       *reg;
    const bind_options   *bind; /**< `shard` is not read */
    const memory_options *how;  /**< `shares`, `stage` are not read; `nodes` are dp's */
    const layout         *l; /**< settled; accumulation 0: as many micro-batches as keep a pipeline
                                   full */
    int64_t               stage; /**< of this rank of the pipeline, from 1; 0: the fullest */
} rank_memory;

/** LM_E_ARG for what a rank alone would share, and for a pipeline that keeps all micro-batches and is not told how many. Pure. */
lm_status rank_memory_check(const layout *l, lm_error *err);

/**
 * memory_of_step() of the rank that holds most, at a micro-batch of bind->batch.
 *
 * @param rank  of the pipeline, from 0
 * @param layer NULL, or as memory_of_step()
 */
lm_status rank_memory_of(const rank_memory *m, memory_use *out, int64_t *rank,
                         memory_of_layer *layer, lm_error *err);

/** memory_largest_batch() of all ranks. */
lm_status rank_memory_largest(const rank_memory *m, uint64_t room, int64_t *batch, lm_error *err);

#endif
