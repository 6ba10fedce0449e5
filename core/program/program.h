/**
 * The program of a rank: its kernels and messages in a training step, or in inference.
 *
 * A program runs the forward and the backward kernels of each micro-step, then the update. Each
 * message to other ranks names the pass that produces its data, the ranks that join, and what may run
 * meanwhile. schedule.h turns a program into seconds; nothing else adds up a step.
 *
 * Inference is a program of one pass, the forward pass in evaluation mode. It sends nothing: several
 * ranks are replicas.
 *
 * In data-parallel training the messages are the all-reduces of the gradients. Another dimension of
 * parallelism adds messages, and its own group of ranks.
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

/** What a rank does with a batch. */
typedef enum program_kind {
    PROGRAM_TRAINING,  /**< a step: forward, backward, messages, update */
    PROGRAM_INFERENCE, /**< a forward pass in evaluation mode, and nothing else */
    PROGRAM_DECODE,    /**< such passes of one token after the other: generation.h. Each is asked
                            for as PROGRAM_INFERENCE, of a network with a cache */
    N_PROGRAM_KINDS
} program_kind;

/** "training", "inference", "decode". */
const char *program_kind_name(program_kind k);

/** What may run while a message is in flight. */
typedef enum message_rule {
    MESSAGE_WAITED, /**< nothing: the pass waits for it, in each micro-step */
    MESSAGE_BESIDE, /**< the pass; only the update waits */
    MESSAGE_BEHIND, /**< nothing: it starts after the last pass, and the update waits */
    N_MESSAGE_RULES
} message_rule;

typedef struct message {
    collective_kind kind;
    double          bytes; /**< as its kind counts them, as they travel */
    rank_group      group;
    phase           pass; /**< that produces it: PHASE_FORWARD or PHASE_BACKWARD */
    message_rule    rule;
    double ready, more; /**< s into the pass with one sample until it is there, and for each sample
                           more; of a pass of one second where they are `even` */
    double times;       /**< MESSAGE_WAITED: so many of them in a micro-step; 0 is 1 */
    double behind;      /**< MESSAGE_WAITED: share of its pass that goes on meanwhile */
    size_t first_layer, last_layer; /**< that it is of, by the order of execution: first <= last */
} message;

/** What a layer takes of the passes, in a unit of the caller's: seconds, or FLOPs. */
typedef struct layer_passes {
    double forward, input, weight; /**< input, weight: of the backward pass, by their gradients */
} layer_passes;

/** A virtual stage of a pipeline, as shares of the whole network's passes and weights. */
typedef struct stage_part {
    double forward, input, weight; /**< input, weight: of the backward pass, by their gradients */
    double weights;                /**< of their bytes */
    double bytes;                  /**< that it hands to the next one */
    size_t gather, n_gather; /**< its blocks among the program's, its root first; 0 of them: weights
                                are there */
} stage_part;

/** What a micro-batch's passes in a virtual stage wait for gradients and weights of other replicas. */
typedef struct stage_wait {
    double forward, backward; /**< s that they take longer */
    double messages;          /**< s of all of these, by themselves */
} stage_wait;

/** A pipeline. */
typedef struct stage_list {
    stage_part   *part; /**< ranks * chunks, by virtual stage; NULL: there is no pipeline */
    int64_t       ranks, chunks;
    pipeline_rule rule;
    double        tied; /**< bytes of gradients that the first and the last rank add up */
    /* Scratch of schedule_step(). */
    pipeline_stage *stage; /* ranks * chunks */
    stage_wait     *wait;  /* ranks * chunks; not in use where all travels once a step */
    pipeline_rank  *rank;  /* ranks */
} stage_list;

typedef struct rank_program {
    message    *message; /**< in the order in which they are issued */
    size_t      n;
    sync_policy policy;
    double      experts; /**< share of the experts' weights, which are GROUP_SAME_EXPERTS', in what
                            GROUP_DATA sends */
    bool        each;    /**< gradients travel in each micro-step, not in the last one alone */
    bool        even;    /**< `ready` are shares of the pass */
    bool        has[N_MESSAGE_RULES];
    gather_block
              *gather; /**< weights that are gathered block by block, the root first, of a pipeline
                             stage by stage; NULL: all are there */
    size_t     n_gather;
    stage_list stages;
    /* Scratch of schedule_step(). */
    overlap_bucket *running; /* n */
    struct message_paid {
        double bytes, seconds;
    } * paid; /* prices of the last run, in their order: bounds ask for the same again */
    size_t    n_paid;
    rank_span priced_for[N_RANK_GROUPS];
} rank_program;

/** When each gradient is ready, in seconds from the start of the pass, for one sample and for two. */
typedef struct gradient_times {
    const double *first, *second;
} gradient_times;

/**
 * The messages of data-parallel training: gradients in the buckets of a policy.
 *
 * Element types: DDP makes buckets of the weights' own bytes and a hook casts them on the way
 * (torch fp16_compress_hook); Horovod casts first (Compression.fp16).
 *
 * @param out to be freed by rank_program_free(). LM_E_NOMEM
 */
lm_status rank_program_of_gradients(const gradient_schedule *gradients, const gradient_times *ready,
                                    const sync_policy *policy, rank_program **out, lm_error *err);
void      rank_program_free(rank_program *p);

/**
 * Makes it the program of a layout: what ranks of tp exchange at their parts of layers, gradients and
 * weights that ranks of dp share (ZeRO), or gather block by block (FSDP).
 *
 * ZeRO scatters gradients in place of adding them up everywhere, its second stage in each micro-step,
 * and gathers the updated weights behind the update. Messages of shared tokens hide behind the
 * gradients of the layers that they belong to (Korthikanti et al. 2022, section 4.2.2).
 *
 * @param l       settled
 * @param part    the rank's part of the network, bound at the micro-batch
 * @param work    of each of its layers: shares of passes are by these
 * @param travels what of an activation's bytes travels: less than 1 where products are narrower than
 *                what they are bound with (autocast)
 */
lm_status rank_program_lay_out(rank_program *p, const layout *l, const bound_network *part,
                               const layer_passes *work, double travels, lm_error *err);

#endif
