/**
 * The program of a rank: its kernels and messages in a training step, or in inference.
 *
 * A program runs the forward and backward kernels of each micro-step, then the update. A message to
 * other ranks has a pass that produces its data, a group of ranks, and a rule for what runs at the
 * same time. schedule.h turns a program into seconds; no other code adds up a step.
 *
 * Inference is a program of one pass, the forward pass in evaluation mode. Replicas send nothing to
 * each other; ranks of a replica send their shares of activations, as in training.
 *
 * In data-parallel training the messages are the all-reduces of the gradients. Each further
 * dimension of parallelism adds messages, with its own group of ranks.
 */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include "fabric/kind.h"
#include "network/phase.h"
#include "observe/gradients.h"
#include "program/gather.h"
#include "program/layout.h"
#include "program/pipeline.h"
#include "program/policy.h"
#include "program/recurrence.h"

/** Work of a rank for a batch. */
typedef enum program_kind {
    PROGRAM_TRAINING,  /**< a step: forward, backward, messages, update */
    PROGRAM_INFERENCE, /**< a forward pass in evaluation mode, and nothing else */
    /**
     * passes of one token after the other (generation.h). Each pass is priced as PROGRAM_INFERENCE,
     * of a network with a cache
     */
    PROGRAM_DECODE,
    N_PROGRAM_KINDS
} program_kind;

/** "training", "inference", "decode". */
const char *program_kind_name(program_kind k);

/** What may run while a message is in flight. */
typedef enum message_rule {
    MESSAGE_WAITED, /**< nothing: the pass waits for the message in each micro-step */
    MESSAGE_BESIDE, /**< the pass; only the update waits */
    MESSAGE_BEHIND, /**< nothing: the message starts after the last pass, and the update waits */
    N_MESSAGE_RULES
} message_rule;

typedef struct message {
    collective_kind kind;
    /** size of the message, counted as its kind defines it, in the type that travels */
    double       bytes;
    rank_group   group;
    phase        pass; /**< pass that produces its data: PHASE_FORWARD or PHASE_BACKWARD */
    message_rule rule;
    /**
     * s from the start of the pass until the data is ready, with one sample, and per further
     * sample; if the program is `even`: for a pass of one second
     */
    double ready, more;
    bool
        again; /**< MESSAGE_WAITED: the backward pass computes its layer again, and sends it again */
    double times;  /**< MESSAGE_WAITED: number of such messages in a micro-step; 0 counts as 1 */
    double behind; /**< MESSAGE_WAITED: share of its pass that runs at the same time */
    /** the layers whose data it carries, in the order of execution: first <= last */
    size_t first_layer, last_layer;
} message;

/** A layer's part of the passes, in a unit of the caller: seconds or FLOPs. */
typedef struct layer_passes {
    /** input, weight: parts of the backward pass, for these gradients */
    double forward, input, weight;
} layer_passes;

/** A virtual stage of a pipeline, as shares of the whole network's passes and weights. */
typedef struct stage_part {
    /** input, weight: parts of the backward pass, for these gradients */
    double forward, input, weight;
    double weights; /**< share of the weights' bytes */
    double bytes;   /**< bytes that it sends to the next stage */
    /**
     * its blocks among the program's `gather`, the root first; n_gather 0: the weights are there
     */
    size_t gather, n_gather;
} stage_part;

/**
 * Time that a micro-batch's passes in a virtual stage wait for gradients and weights of other
 * replicas.
 */
typedef struct stage_wait {
    double forward, backward; /**< s by which the passes are longer */
    double messages;          /**< s of all these messages, without overlap */
} stage_wait;

/** A pipeline. */
typedef struct stage_list {
    stage_part   *part; /**< ranks * chunks entries, by virtual stage; NULL: no pipeline */
    int64_t       ranks, chunks;
    pipeline_rule rule;
    bool          infers; /**< forward passes alone: pipeline_round_of() */
    /** bytes of gradients that the first and the last rank sum (shared weights) */
    double tied;
    /* Work space of schedule_step(). */
    pipeline_stage *stage; /* ranks * chunks */
    stage_wait     *wait;  /* ranks * chunks; unused if all gradients are sent once per step */
    pipeline_rank  *rank;  /* ranks */
} stage_list;

typedef struct rank_program {
    message    *message; /**< in the order in which they are issued */
    size_t      n;
    sync_policy policy;
    /** share of experts' weights (of GROUP_SAME_EXPERTS) in the messages of GROUP_DATA */
    double experts;
    bool   each; /**< gradients are sent in each micro-step, not only in the last one */
    bool   even; /**< `ready` are shares of the pass */
    bool   has[N_MESSAGE_RULES];
    /**
     * weights that are gathered block by block, the root first; in a pipeline stage by stage. NULL:
     * all weights are there
     */
    gather_block *gather;
    size_t        n_gather;
    stage_list    stages;
    /* Work space of schedule_step(). */
    overlap_bucket *running; /* n entries */
    struct message_paid {
        double bytes, seconds;
    } * paid; /* prices of the last run, in order: bounds need the same prices again */
    size_t    n_paid;
    rank_span priced_for[N_RANK_GROUPS];
} rank_program;

/**
 * Time at which each gradient is ready, in seconds from the start of the pass, for one sample and
 * for two samples.
 */
typedef struct gradient_times {
    const double *first, *second;
} gradient_times;

/**
 * Makes the messages of data-parallel training: gradients in the buckets of a policy.
 *
 * Element types: DDP makes buckets by the bytes of the weights' type, and a hook casts them for the
 * message (torch fp16_compress_hook). Horovod casts first (Compression.fp16).
 *
 * @param out freed by rank_program_free()
 * @return LM_E_NOMEM
 */
lm_status rank_program_of_gradients(const gradient_schedule *gradients, const gradient_times *ready,
                                    const sync_policy *policy, rank_program **out, lm_error *err);
void      rank_program_free(rank_program *p);

/**
 * Adds the messages of a layout: those of tensor parallelism, those of gradients and weights that
 * ranks of dp share (ZeRO), and those of blocks that are gathered (FSDP).
 *
 * ZeRO uses a reduce-scatter of gradients instead of an all-reduce, in its second stage in each
 * micro-step, and gathers the updated weights after the update. Messages of shared tokens overlap
 * the gradients of their layers (Korthikanti et al. 2022, section 4.2.2).
 *
 * @param l       settled
 * @param part    the rank's part of the network, bound at the micro-batch
 * @param work    one entry per layer of `part`; gives the shares of the passes
 * @param travels share of an activation's bytes in a message: below 1 if products are narrower than
 *                the type of the binding (autocast)
 */
lm_status rank_program_lay_out(rank_program *p, const layout *l, const bound_network *part,
                               const layer_passes *work, double travels, lm_error *err);

#endif
