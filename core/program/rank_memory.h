/** Memory of the rank that needs most under a layout. */
#ifndef PROGRAM_RANK_MEMORY_H
#define PROGRAM_RANK_MEMORY_H

#include "network/memory.h"
#include "program/layout.h"

/** The question: a network, options of its training, and how ranks share it. Members after `l` may be
 * left out. */
typedef struct rank_memory {
    const network        *net;
    const registry       *reg;
    const bind_options   *bind; /**< `shard` is not read */
    const memory_options *how;  /**< `shares` and `stage` are not read; `nodes` are those of dp */
    /**
     * settled; accumulation 0: enough micro-batches to keep a pipeline full. NULL: each rank has the
     * whole network, and memory_of_step() and its like answer
     */
    const layout *l;
    /** rank of the pipeline, counted from 1; 0: the one that needs most */
    int64_t stage;
    /** the layout's part, bound with `bind` and how->mixed; NULL: it is bound for this question */
    const memory_binding *bound;
} rank_memory;

/**
 * LM_E_ARG if a pipeline keeps all micro-batches and their number is not given. Pure.
 */
lm_status rank_memory_check(const layout *l, lm_error *err);

/**
 * memory_of_step() of the rank that needs most, at a micro-batch of bind->batch.
 *
 * @param rank  its rank in the pipeline, counted from 0
 * @param layer NULL, or as for memory_of_step()
 */
lm_status rank_memory_of(const rank_memory *m, memory_use *out, int64_t *rank,
                         memory_of_layer *layer, lm_error *err);

/** The same with all events, as memory_over_step(). */
lm_status rank_memory_over_step(const rank_memory *m, memory_use *out, int64_t *rank,
                                memory_moment **moment, size_t *n, lm_error *err);

/** memory_largest_batch() for the rank that needs most. */
lm_status rank_memory_largest(const rank_memory *m, uint64_t room, int64_t *batch, lm_error *err);

#endif
