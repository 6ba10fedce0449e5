/** Overlap of messages with a backward pass, and the time that stays exposed. */
#ifndef PROGRAM_RECURRENCE_H
#define PROGRAM_RECURRENCE_H

#include <stddef.h>

/** A bucket: gradients that travel together. Times are seconds from the start of the last backward
 * pass. */
typedef struct overlap_bucket {
    double bytes;
    double ready;                   /**< its last gradient is there */
    double start;                   /**< its all-reduce begins */
    double end;                     /**< its all-reduce has ended */
    size_t first_layer, last_layer; /**< of the order of execution: first <= last */
} overlap_bucket;

/** How a backward pass and messages slow each other down. */
typedef struct overlap_rules {
    double backward; /**< s, of a pass without messages */
    double slowdown; /**< s that it grows for each s that it runs during a message; >= 0 */
    double stretch; /**< seconds that a message grows by for each that it would take beside the pass
                       if they shared nothing; >= 0 */
    double wait;    /**< s, before each message: for a cycle */
    double fusion_bytes; /**< what is there when a message leaves goes with it up to so many; 0:
                            each bucket by itself */
} overlap_rules;

/** Seconds of one all-reduce; NAN: unknown. */
typedef double overlap_price(void *context, double bytes);

typedef struct overlap_times {
    double backward; /**< s, while messages are in flight */
    double sync;     /**< of all messages by themselves, waits among them */
    double exposed;  /**< from the end of the backward pass to that of the last message */
    double beside;   /**< s of the pass that ran during a message */
} overlap_times;

/**
 * Messages go one after the other, in order, each as soon as its bucket is ready:
 *
 *   e_j = max(e_{j-1}, r_j) + C_j, exposed = max(0, e_J - T_bwd)
 *
 * (Shi et al. 2018, "A DAG Model of Synchronous SGD", section 4; Li et al. 2020, VLDB 13(12)), with
 * C_j the wait and the all-reduce. Where the two slow each other down, the pass runs at 1 / (1 +
 * slowdown) of its speed and the message at 1 / (1 + stretch) of its own as long as both go on.
 *
 * @param bucket in order, `bytes`, `ready` (of a pass that shares nothing, ascending, at most
 *               `backward`) and layers given; ready becomes that beside messages, start and end are
 *               set. Buckets that go together become one.
 * @param n      of buckets; how many there are afterwards
 */
overlap_times overlap_run(overlap_bucket *bucket, size_t *n, const overlap_rules *rules,
                          overlap_price *price, void *context);

/** overlap_run()'s sums alone, in a fraction of its time, where neither slows the other down and no
 * buckets are fused: of the rules only `backward` and `wait` are looked at. */
overlap_times overlap_sums(const overlap_bucket *bucket, size_t n, const overlap_rules *rules,
                           overlap_price *price, void *context);

#endif
