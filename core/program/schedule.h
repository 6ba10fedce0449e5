/** Seconds of a rank's program on its streams: the only place that adds up a step. */
#ifndef PROGRAM_SCHEDULE_H
#define PROGRAM_SCHEDULE_H

#include "program/program.h"

/** What a rank computes in a step, alone on its device, in seconds. */
typedef struct step_work {
    double forward, backward; /**< of all micro-steps */
    double update;
    double micro;   /**< micro-steps */
    double compute; /**< of all passes that ranks wait for each other's: for stragglers */
} step_work;

/** What streams of a device cost each other. 0: nothing. */
typedef struct stream_rules {
    double slowdown, stretch; /**< as in overlap_rules */
    double surcharge; /**< s that a message beside a pass takes more for each that it takes alone */
    double latency; /**< s that the last message of a step ends later than where nobody computed */
    double lag;     /**< s of that latency at most for each s of the pass; 0: all of it */
    double copy;    /**< s per byte, into buckets */
    double straggler; /**< sigma of a rank's time among the others', per second of it */
    double slowest;   /**< of so many ranks the passes hold the slowest already; 1: of itself */
} stream_rules;

/** What is scheduled. */
typedef struct schedule_question {
    step_work    work;
    int64_t      batch; /**< that messages are ready by */
    double       unit;  /**< of `ready`: passes that share a host take so many times as long */
    rank_span    group[N_RANK_GROUPS];
    double       pass, message; /**< factors on passes and messages: 1, or bounds' */
    stream_rules rules;
    bool         brief; /**< no buckets are wanted, as a fraction of the time suffices then */
} schedule_question;

/** Seconds of one message of so many bytes; NAN: unknown. */
typedef double message_price(void *context, const message *e, double bytes);

/** A step as its streams take it, in seconds. */
typedef struct step_times {
    double forward, backward; /**< of all micro-steps, with what their kernels wait for; backward as
                                 it is beside messages */
    double last;              /**< the last backward pass, beside messages, without copies */
    double sync;              /**< all messages that the update waits for, by themselves */
    double exposed;           /**< what is left of them behind the backward pass */
    double beside;            /**< of the pass's own, done beside messages */
    double copy;              /**< of gradients into buckets, as the pass hands them over */
    double wait; /**< that the slowest of the ranks takes longer than one: the others wait for it
                         in their all-reduces */
    double straggler; /**< what of that the passes do not hold yet */
    double grad;      /**< exposed messages, copies, stragglers and update */
    double step;      /**< forward, backward and grad */
    /** Messages in the order in which they travel: the program's until it is scheduled again, unless
     * somebody says otherwise; NULL: `brief`. */
    overlap_bucket *bucket;
    size_t          n;
} step_times;

/**
 * Composes a step. Kernels go one after the other; messages travel in order, beside kernels or not
 * as their rules say (recurrence.h). Writes to the program's scratch alone.
 *
 * @param p NULL: nothing is sent
 */
void schedule_step(rank_program *p, const schedule_question *q, message_price *price, void *context,
                   step_times *out);

#endif
