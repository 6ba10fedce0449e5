/** Memory that a training step or inference needs on one device. */
#ifndef NETWORK_MEMORY_H
#define NETWORK_MEMORY_H

#include <stdbool.h>

#include <layermeter/error.h>

#include "network/bind.h"
#include "network/optimizer.h"
#include "network/timeline.h"

/** Uses of memory. */
typedef enum memory_part {
    MEMORY_WEIGHTS,     /**< trained weights */
    MEMORY_FROZEN,      /**< weights without gradient: running statistics */
    MEMORY_COPIES,      /**< mixed precision: copies of weights; in FP8 with their scales */
    MEMORY_MASTERS,     /**< single-precision copies of 16-bit weights; the update changes these */
    MEMORY_GATHERED,    /**< weights of other ranks, while a block uses them */
    MEMORY_GRADIENTS,   /**< of the weights */
    MEMORY_BUCKETS,     /**< copies of gradients for the all-reduce */
    MEMORY_OPTIMIZER,   /**< states of the optimizer */
    MEMORY_CACHE,       /**< inference: keys and values of all tokens so far */
    MEMORY_INPUTS,      /**< data of the network; in memory during the whole step */
    MEMORY_ACTIVATIONS, /**< outputs of layers, each counted once, until the last read */
    /** other tensors that layers keep for the backward pass: masks, indices, statistics */
    MEMORY_SAVED,
    MEMORY_BACKWARD,  /**< gradients of activations */
    MEMORY_WORKSPACE, /**< scratch memory that layers declare */
    MEMORY_OVERHEAD,  /**< memory that the caller adds */
    MEMORY_N_PARTS
} memory_part;

/** Where gradients lie for the all-reduce, with more than one node. */
typedef enum memory_buckets {
    BUCKETS_COPY, /**< a second copy of all gradients (torch DistributedDataParallel) */
    /** gradients lie in the buckets during the whole step (gradient_as_bucket_view) */
    BUCKETS_VIEW,
    BUCKETS_FIXED /**< one buffer of a given size (Horovod's fusion buffer) */
} memory_buckets;

/** Numbers of ranks that share a kind of memory; 0 counts as 1. */
typedef struct memory_shares {
    int64_t experts; /**< of these ranks, the ones that have experts of their own (ep) */
    int64_t states;  /**< share optimizer states and masters */
    /** share gradients; each gradient is whole until its block's backward pass is done */
    int64_t gradients;
    /**
     * share weights; they are gathered block by block, one block ahead. Weights outside blocks are
     * gathered for the whole step
     */
    int64_t weights;
    /**
     * number of micro-batches, each in one chunk, whose activations are in memory at once; 0: one
     * per chunk. Inference: batches in the pipeline, whose keys and values are in memory
     */
    int64_t in_flight;
} memory_shares;

/**
 * The pipeline rank whose memory is computed. A rank has every `ranks`-th of ranks * chunks stages
 * (stages.h).
 */
typedef struct memory_stage {
    int64_t     ranks, chunks, rank; /**< ranks 0: no pipeline */
    const char *spread;              /**< as in stages_of_layers() */
} memory_stage;

/** Options of a memory computation. All zero: plain SGD on one node. */
typedef struct memory_options {
    optimizer     optimizer;
    memory_shares shares;
    memory_stage  stage;
    /** 16-bit weights have copies in f32; the optimizer states belong to these copies */
    bool           masters;
    lm_dtype       mixed; /**< 0, or autocast, as in bind_options.mixed */
    int64_t        nodes; /**< 0 counts as 1 */
    memory_buckets buckets;
    uint64_t       bucket_bytes; /**< size of the buffer of BUCKETS_FIXED */
    /** gradients exist during the whole step, not only from the backward pass on */
    bool keep_gradients;
    /**
     * with `sums`: products of the gradients of matrices in blocks add to the sums. One tensor of no
     * use stays for each shape of such a matrix; layers that read the same tensor have one matrix.
     * Megatron-LM's gradient accumulation fusion, with Transformer Engine (get_dummy_wgrad)
     */
    bool fused_gradients;
    /**
     * with `sums`: gradients of a micro-step are whole until its backward pass ends, then they add to
     * the sums. Several nodes copy them to buckets first; shared states gather weights through flat
     * copies. nanotron (FP32GradientAccumulator, get_fp32_accum_hook, all_gather_coalesced)
     */
    bool late_sums;
    /**
     * layers that gather the tokens of other ranks keep the whole input for the backward pass; else
     * they gather it again. nanotron with tp_recompute_allgather = false
     */
    bool keep_gathered;
    bool inplace; /**< elementwise layers overwrite an input that no later layer reads */
    /**
     * 0, or the type in which narrower gradients are summed during the whole step. A layer's own
     * gradients then live for its backward pass, or longer with keep_gradients
     */
    lm_dtype    sums;
    const char *recompute; /**< NULL: no recomputation; else segments, as for timeline_make() */
    uint64_t    overhead;  /**< bytes */
} memory_options;

/** Peak memory of a step, and the moment of the peak. */
typedef struct memory_use {
    uint64_t      peak;                 /**< bytes */
    uint64_t      part[MEMORY_N_PARTS]; /**< bytes at the peak; the parts add up to the peak */
    timeline_pass pass;                 /**< pass of the first event that reaches the peak */
    /** layer of that event; NULL: the update. Lives as long as the network */
    const char *layer;
    uint64_t    kept; /**< activations and saved tensors between forward and backward pass */
    uint64_t    recompute_flops; /**< FLOPs of the recomputed forward passes */
} memory_use;

/** Memory of one layer, in bytes. */
typedef struct memory_of_layer {
    uint64_t weights;     /**< trained and frozen */
    uint64_t kept, saved; /**< live between forward and backward */
    /** all live memory while the layer runs; 0: no backward pass */
    uint64_t live_forward, live_backward;
} memory_of_layer;

/**
 * Computes the memory of a step of `net`, bound with `b`. With b->evaluation: of a forward pass in
 * evaluation mode, without gradients, optimizer and buckets.
 *
 * A tensor lives from the pass that makes it to the last pass that reads it. A pass needs its
 * inputs, outputs and workspace at the same time. Not counted: the device's context, rounding by
 * the allocator, scratch memory of libraries, temporaries of the framework's update. Pure.
 *
 * @param layer NULL, or room for net->n_layers entries, in the order of the layers
 * @return errors of bind_network() and timeline_make(); LM_E_ARG for `mixed` with a dtype other
 *         than f32
 */
lm_status memory_of_step(const network *net, const registry *reg, const bind_options *b,
                         const memory_options *o, memory_use *out, memory_of_layer *layer,
                         lm_error *err);

/** A network bound for its memory. Autocast needs both types, not the joined network. */
typedef struct memory_binding {
    const network        *net;
    struct bound_network *full, *half; /**< half NULL: no autocast */
} memory_binding;

/** Binds a network, with autocast to `mixed` or to b->mixed. Errors of memory_of_step(). */
lm_status memory_bind(const network *net, const registry *reg, const bind_options *b,
                      lm_dtype mixed, memory_binding *out, lm_error *err);
void      memory_unbind(memory_binding *b);

/** memory_of_step() of a bound network. o->mixed is not read. */
lm_status memory_follow(const memory_binding *of, const memory_options *o, memory_use *out,
                        memory_of_layer *layer, lm_error *err);

/** Live memory at one event of a step. */
typedef struct memory_moment {
    timeline_pass pass;
    size_t        layer;                /**< TIMELINE_NEVER for turn and update */
    uint64_t      part[MEMORY_N_PARTS]; /**< bytes */
} memory_moment;

/**
 * memory_of_step() with all events, in the order of execution. The largest moment equals
 * `out->peak`.
 *
 * @param moment malloc'ed, *n entries
 */
lm_status memory_over_step(const network *net, const registry *reg, const bind_options *b,
                           const memory_options *o, memory_use *out, memory_moment **moment,
                           size_t *n, lm_error *err);

#define MEMORY_BATCH_MAX ((int64_t)1 << 40)

/**
 * The largest batch whose peak is at most `room` bytes. 0: batch 1 does not fit. MEMORY_BATCH_MAX:
 * memory does not depend on the batch. The function does not read b->batch. It bisects, because the
 * peak never falls when the batch grows.
 */
lm_status memory_largest_batch(const network *net, const registry *reg, const bind_options *b,
                               const memory_options *o, uint64_t room, int64_t *batch,
                               lm_error *err);

#endif
