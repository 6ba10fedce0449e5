/** Memory that a training step or inference needs on one device. */
#ifndef NETWORK_MEMORY_H
#define NETWORK_MEMORY_H

#include <stdbool.h>

#include <layermeter/error.h>

#include "network/bind.h"
#include "network/optimizer.h"
#include "network/timeline.h"

/** What memory is for. */
typedef enum memory_part {
    MEMORY_WEIGHTS,     /**< trained */
    MEMORY_FROZEN,      /**< weights without gradient: running statistics */
    MEMORY_COPIES,      /**< 16-bit copies of weights, in mixed precision */
    MEMORY_MASTERS,     /**< single-precision copies of 16-bit weights, which are updated */
    MEMORY_GATHERED,    /**< weights of other ranks, while a block runs */
    MEMORY_GRADIENTS,   /**< of the weights */
    MEMORY_BUCKETS,     /**< what gradients are copied to for the all-reduce */
    MEMORY_OPTIMIZER,   /**< its state */
    MEMORY_CACHE,       /**< inference: keys and values of all tokens so far */
    MEMORY_INPUTS,      /**< of the network; there all the step */
    MEMORY_ACTIVATIONS, /**< outputs of layers, each once, while anything still reads them */
    MEMORY_SAVED,       /**< what layers keep beside: masks, indices, statistics */
    MEMORY_BACKWARD,    /**< gradients of activations */
    MEMORY_WORKSPACE,   /**< scratch that layers declare */
    MEMORY_OVERHEAD,    /**< what the caller adds */
    MEMORY_N_PARTS
} memory_part;

/** How gradients reach the all-reduce, where there is more than one node. */
typedef enum memory_buckets {
    BUCKETS_COPY, /**< a second copy of all gradients (torch DistributedDataParallel) */
    BUCKETS_VIEW, /**< the gradients lie in the buckets, all the step (gradient_as_bucket_view) */
    BUCKETS_FIXED /**< one buffer of a given size (Horovod's fusion buffer) */
} memory_buckets;

/** Ranks that share what each would hold; 0 is 1. */
typedef struct memory_shares {
    int64_t experts;   /**< of all these, ranks that have experts of their own (ep) */
    int64_t states;    /**< of the optimizer, and masters */
    int64_t gradients; /**< each is whole until its block's backward pass is done */
    int64_t
        weights; /**< gathered block by block, one block ahead; what lies in none, for the step */
    int64_t
        in_flight; /**< micro-batches, each in one chunk, whose activations are kept at once: 0 is one
                          in each chunk */
} memory_shares;

/** The rank of a pipeline whose memory it is: every `ranks`-th of ranks * chunks stages (stages.h). */
typedef struct memory_stage {
    int64_t     ranks, chunks, rank; /**< ranks 0: it has all layers */
    const char *spread;              /**< as in stages_of_layers() */
} memory_stage;

/** Zeroed: plain SGD on one node. */
typedef struct memory_options {
    optimizer      optimizer;
    memory_shares  shares;
    memory_stage   stage;
    bool           masters; /**< weights of 16 bit have copies in f32, and states of these */
    lm_dtype       mixed;   /**< 0; or LM_F16, LM_BF16: autocast to it, as bind_options.mixed */
    int64_t        nodes;   /**< 0 is 1 */
    memory_buckets buckets;
    uint64_t       bucket_bytes; /**< of BUCKETS_FIXED */
    bool
        keep_gradients; /**< they exist from the start of the step, not from the backward pass on */
    bool        inplace; /**< elementwise layers overwrite an input without later use */
    lm_dtype    sums;    /**< 0; or gradients that are narrower are added up in it, all the step: a
                              layer's own live for its backward pass, or on (keep_gradients) */
    const char *recompute; /**< NULL, or segments as timeline_make() takes them */
    uint64_t    overhead;  /**< bytes */
} memory_options;

/** Peak memory of a step, and the moment of the peak. */
typedef struct memory_use {
    uint64_t      peak;                 /**< bytes */
    uint64_t      part[MEMORY_N_PARTS]; /**< at the peak; they add up to it */
    timeline_pass pass;                 /**< at the first event that reaches the peak */
    const char   *layer;                /**< NULL: the update; lives as long as the network */
    uint64_t      kept;                 /**< activations and saved between forward and backward */
    uint64_t      recompute_flops;      /**< of the forward passes run again */
} memory_use;

/** Memory of one layer, in bytes. */
typedef struct memory_of_layer {
    uint64_t weights;                     /**< trained and frozen */
    uint64_t kept, saved;                 /**< live between forward and backward */
    uint64_t live_forward, live_backward; /**< all live memory while it runs; 0: no backward pass */
} memory_of_layer;

/**
 * Memory of a step of `net`, bound with `b`; with b->evaluation, of a forward pass in evaluation
 * mode: no gradients, no optimizer, no buckets.
 *
 * A tensor lives from the pass that makes it to the last pass that reads it. A pass holds inputs,
 * outputs and workspace at once. The count excludes the device's context, the allocator's rounding,
 * scratch of libraries, and temporaries of the framework's update. Pure.
 *
 * @param layer NULL, or room for net->n_layers entries, in the order of the layers
 * @return as bind_network() and timeline_make(); LM_E_ARG for `mixed` with another dtype than f32
 */
lm_status memory_of_step(const network *net, const registry *reg, const bind_options *b,
                         const memory_options *o, memory_use *out, memory_of_layer *layer,
                         lm_error *err);

/** memory_of_step() of a network that is bound already, without `mixed`. */
lm_status memory_of_bound(const network *net, const bound_network *bound, const memory_options *o,
                          memory_use *out, memory_of_layer *layer, lm_error *err);

/** memory_of_step() with each of n options, which differ in `stage` and `shares` alone. */
lm_status memory_of_stages(const network *net, const registry *reg, const bind_options *b,
                           const memory_options *o, size_t n, memory_use *out, lm_error *err);

/** Live memory at one event of a step. */
typedef struct memory_moment {
    timeline_pass pass;
    size_t        layer;                /**< TIMELINE_NEVER in turn and update */
    uint64_t      part[MEMORY_N_PARTS]; /**< bytes */
} memory_moment;

/**
 * memory_of_step(), event by event in the order of execution. The fullest moment holds `out->peak`.
 *
 * @param moment malloc'ed, *n entries
 */
lm_status memory_over_step(const network *net, const registry *reg, const bind_options *b,
                           const memory_options *o, memory_use *out, memory_moment **moment,
                           size_t *n, lm_error *err);

#define MEMORY_BATCH_MAX ((int64_t)1 << 40)

/**
 * The largest batch whose peak is at most `room` bytes; 0 if 1 does not fit, MEMORY_BATCH_MAX if
 * memory does not depend on the batch. The function does not read b->batch. The peak never falls
 * with a growing batch, so bisection finds the limit.
 */
lm_status memory_largest_batch(const network *net, const registry *reg, const bind_options *b,
                               const memory_options *o, uint64_t room, int64_t *batch,
                               lm_error *err);

#endif
