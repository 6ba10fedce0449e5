/**
 * The program of a rank: what it does in a training step.
 *
 * Kernels of the forward and the backward pass of each micro-step, then the update; and messages
 * to other ranks, each of which says what produces its data, which ranks join, and what goes on
 * meanwhile. schedule.h composes seconds of all that; nothing else adds up a step.
 *
 * Data-parallel training is the program whose messages are the all-reduces of its gradients. A
 * dimension of parallelism adds messages, and a group of ranks where that is another one.
 */
#ifndef PROGRAM_PROGRAM_H
#define PROGRAM_PROGRAM_H

#include "network/phase.h"
#include "observe/gradients.h"
#include "program/policy.h"
#include "program/recurrence.h"
#include "sync/kind.h"

/** Which ranks join in a message. */
typedef enum rank_group {
    GROUP_DATA, /**< those that hold the same weights */
    N_RANK_GROUPS
} rank_group;

/** What goes on while a message is under way. */
typedef enum message_rule {
    MESSAGE_WAITED, /**< the pass's own kernels wait for it, in each micro-step */
    MESSAGE_BESIDE, /**< the pass goes on; the update waits */
    MESSAGE_BEHIND, /**< nothing: it begins when the last pass has ended, and the update waits */
    N_MESSAGE_RULES
} message_rule;

/** Where a group's ranks are. */
typedef struct rank_span {
    int64_t nodes, devices; /**< devices: of each node */
} rank_span;

typedef struct message {
    collective_kind kind;
    double          bytes; /**< as its kind counts them, as they travel */
    rank_group      group;
    phase           pass; /**< whose kernels produce it: PHASE_FORWARD or PHASE_BACKWARD */
    message_rule    rule;
    double ready, more; /**< s into the pass with one sample until it is there, and for each sample
                           more; of a pass of one second where they are `even` */
    size_t first_layer, last_layer; /**< that it is of, by the order of execution: first <= last */
} message;

typedef struct rank_program {
    message    *message; /**< in the order in which they are issued */
    size_t      n;
    sync_policy policy;
    bool        even; /**< `ready` are shares of the pass */
    bool        has[N_MESSAGE_RULES];
    /* Scratch of schedule_step(). */
    overlap_bucket *running; /* n */
    struct message_paid {
        double bytes, seconds;
    } * paid; /* prices of the last run, in their order: bounds ask for the same again */
    size_t    n_paid;
    rank_span priced_for[N_RANK_GROUPS];
} rank_program;

/** When each gradient of a schedule is there, s into a pass: with one sample, and with two. */
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

/** A program of one message behind the last pass: all gradients at once. */
typedef struct program_at_once {
    rank_program        program;
    message             message;
    overlap_bucket      running;
    struct message_paid paid;
} program_at_once;

/** Sets one up, which owns nothing. */
void rank_program_at_once(double bytes, program_at_once *out);

#endif
