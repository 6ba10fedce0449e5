/**
 * Weights that ranks share and gather block by block (FSDP, Zhao et al. 2023, arXiv:2304.11277; the
 * third stage of ZeRO, Rajbhandari et al. 2020). There are two streams: kernels and messages.
 *
 * Forward: the weights of a block are gathered while the block before it runs. Backward: they are
 * gathered again, and the block's gradients are scattered after it. Messages follow each other. The
 * first block of the list is the root: the weights outside blocks. It is gathered first and kept
 * until the end.
 */
#ifndef PROGRAM_GATHER_H
#define PROGRAM_GATHER_H

#include <stddef.h>

#include "fabric/kind.h"
#include "program/layout.h"

typedef struct gather_block {
    double bytes;   /**< bytes of its weights, all ranks' shares together */
    double trained; /**< those with gradients, which are scattered */
    /** the part of `bytes` and of `trained` in experts, which fewer ranks share */
    double experts[2];
    double forward, backward; /**< shares of the forward and of the backward pass */
} gather_block;

/** Seconds of the messages of a block: the gather; the scatter, with the sum over replicas. */
typedef struct gather_price {
    double gather, scatter;
} gather_price;

/** Prices the messages of a block's weights and gradients. NAN: unknown. */
typedef gather_price gather_prices(void *context, const gather_block *block);

/** Seconds of a message in a group, 0 in a group of one rank. NAN: unknown. */
typedef double gather_message(void *context, collective_kind kind, double bytes, rank_group group);

/**
 * The messages of a block: GROUP_SHARD gathers its weights and scatters their gradients, of which
 * GROUP_REPLICA adds up the shards; GROUP_EXPERT_SHARD does the same for experts. Frozen weights have
 * no gradients.
 *
 * @param group of the layout, by rank_group
 */
gather_price gather_price_of(const gather_block *b, const rank_span *group, gather_message *seconds,
                             void *context);

typedef struct gather_times {
    double forward,
        /** passes with the time that they wait; backward includes the messages after the pass */
        backward;
    double messages; /**< sum of all messages, without overlap */
} gather_times;

/**
 * Time of one micro-batch. Memory holds the weights of the running block and of one more.
 *
 * @param n at least 1: the root, then blocks in the order of execution
 * @param forward, backward s of the passes without messages
 */
gather_times gather_run(const gather_block *block, size_t n, double forward, double backward,
                        gather_prices *price, void *context);

#endif
