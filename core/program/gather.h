/**
 * Weights that ranks share and gather block by block (FSDP, Zhao et al. 2023, arXiv:2304.11277; the
 * third stage of ZeRO, Rajbhandari et al. 2020): two streams, of kernels and of messages.
 *
 * Forward, a block's weights are gathered while the block before it runs. Backward they are gathered
 * once more, and its gradients are scattered behind it. Messages go one after the other. The first
 * block of the list is the root: what lies in no block, gathered first and kept until the end.
 */
#ifndef PROGRAM_GATHER_H
#define PROGRAM_GATHER_H

#include <stddef.h>

typedef struct gather_block {
    double bytes;             /**< of its weights, gathered */
    double trained;           /**< of these, that have gradients to be scattered */
    double experts[2];        /**< of both, those of experts that fewer ranks share */
    double forward, backward; /**< shares of the passes */
} gather_block;

/** Seconds of the messages of so many bytes: gathered, scattered (and added up over replicas). */
typedef struct gather_price {
    double gather, scatter;
} gather_price;

/** Of a block's bytes, and of its gradients'. NAN: unknown. */
typedef gather_price gather_prices(void *context, const gather_block *block);

typedef struct gather_times {
    double forward,
        backward;    /**< of the passes with what they wait for, messages behind the backward
                                 pass among them */
    double messages; /**< of all, by themselves */
} gather_times;

/**
 * One micro-batch. Of one block more than the one that runs the weights are there.
 *
 * @param n 1 at least: the root, then blocks in the order of execution
 * @param forward, backward s of the passes without messages
 */
gather_times gather_run(const gather_block *block, size_t n, double forward, double backward,
                        gather_prices *price, void *context);

#endif
