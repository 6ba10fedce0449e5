/** Overlap of messages with a backward pass, and the remaining exposed time. */
#ifndef PROGRAM_RECURRENCE_H
#define PROGRAM_RECURRENCE_H

#include <stddef.h>

/**
 * A bucket: gradients in one message. Times are seconds from the start of the last backward pass.
 */
typedef struct overlap_bucket {
    double bytes;
    double ready;                   /**< its last gradient is ready */
    double start;                   /**< start of its all-reduce */
    double end;                     /**< end of its all-reduce */
    size_t first_layer, last_layer; /**< in the order of execution: first <= last */
} overlap_bucket;

/** How a backward pass and messages slow each other down. */
typedef struct overlap_rules {
    double backward; /**< s, of a pass without messages */
    double slowdown; /**< extra s of the pass for each s that it runs during a message; >= 0 */
    /** extra s of a message for each s that it would run during the pass without sharing; >= 0 */
    double stretch;
    double wait; /**< s before each message: waiting for a cycle */
    /**
     * buckets that are ready when a message starts are added to it, up to this size; 0: one bucket
     * per message
     */
    double fusion_bytes;
} overlap_rules;

/** Seconds of one all-reduce; NAN: unknown. */
typedef double overlap_price(void *context, double bytes);

typedef struct overlap_times {
    double backward; /**< s, with messages at the same time */
    double sync;     /**< all messages and their waits, without overlap */
    double exposed;  /**< from the end of the backward pass to the end of the last message */
    double beside;   /**< s of the pass that ran during a message */
} overlap_times;

/**
 * Runs the messages one after the other, in order, each as soon as its bucket is ready:
 *
 *   e_j = max(e_{j-1}, r_j) + C_j, exposed = max(0, e_J - T_bwd)
 *
 * (Shi et al. 2018, "A DAG Model of Synchronous SGD", section 4; Li et al. 2020, VLDB 13(12)). C_j
 * is the wait plus the all-reduce. While a pass and a message run at the same time, the pass runs
 * at 1 / (1 + slowdown) of its speed, and the message at 1 / (1 + stretch) of its speed.
 *
 * @param bucket in order, with `bytes`, `ready` and layers. `ready` is that of a pass that shares
 *               nothing, ascending, at most `backward`; it is changed to that with messages. start
 *               and end are set. Buckets that share a message become one
 * @param n      in: number of buckets; out: number of messages
 */
overlap_times overlap_run(overlap_bucket *bucket, size_t *n, const overlap_rules *rules,
                          overlap_price *price, void *context);

/**
 * Only the sums of overlap_run(), much faster. Requires that pass and messages do not slow each
 * other down, and that buckets are not fused: of the rules only `backward` and `wait` are used.
 */
overlap_times overlap_sums(const overlap_bucket *bucket, size_t n, const overlap_rules *rules,
                           overlap_price *price, void *context);

#endif
