/** The schedule: turns a rank's program into seconds. Only this file adds up a step. */
#ifndef PROGRAM_SCHEDULE_H
#define PROGRAM_SCHEDULE_H

#include "program/host_clock.h"
#include "program/program.h"

/** Compute of a rank in a step, in seconds, with the device to itself. */
typedef struct step_work {
    double forward, backward; /**< of all micro-steps */
    double update;
    double micro; /**< micro-steps */
    double again; /**< share of the forward pass that `backward` runs again: its messages follow */
    const host_time
          *host;          /**< that starts the kernels of the passes; NULL: it counts for nothing */
    double operations[2]; /**< that it issues for the forward, the backward pass of a micro-step */
    double compute;       /**< of all passes: the base of the stragglers' wait */
} step_work;

/** What the compute and the communication stream cost each other. 0: nothing. */
typedef struct stream_rules {
    double slowdown, stretch; /**< as in overlap_rules */
    double surcharge;         /**< extra s of a message during a pass, per s that it takes alone */
    double latency;   /**< s that the last message ends later than it would without compute */
    double lag;       /**< upper bound of `latency`, in s per s of the pass; 0: none */
    double copy;      /**< s per byte, into buckets */
    double straggler; /**< standard deviation between ranks, per s of compute */
    double slowest; /**< ranks whose slowest the passes already include; 1: only the rank itself */
} stream_rules;

/** A question to the schedule. */
typedef struct schedule_question {
    step_work    work;
    int64_t      batch; /**< that decides when messages are ready */
    double       unit;  /**< factor on `ready`: ranks that share a host take longer */
    rank_span    group[N_RANK_GROUPS];
    double       pass, message; /**< factors on passes and messages: 1, or those of a bound */
    stream_rules rules;
    bool         brief; /**< the caller needs no list of buckets, which is faster */
} schedule_question;

/** Seconds of one message of so many bytes; NAN: unknown. */
typedef double message_price(void *context, const message *e, double bytes);

/** The seconds of a scheduled step. */
typedef struct step_times {
    double forward, backward; /**< of all micro-steps, with what their kernels wait for; backward as
                                 it is beside messages */
    double last;              /**< the last backward pass, beside messages, without copies */
    double passes, weights; /**< shares of the network that the slowest rank of a pipeline has; 1 */
    double tensor;  /**< part of `forward` and `backward`: that they take longer for messages which
                        kernels wait for, but for those between stages */
    double host[2]; /**< parts of `forward` and `backward`: that they wait for the host */
    double bubble;  /**< part of `backward`: that the slowest rank of a pipeline waits */
    double waited;  /**< all messages that kernels wait for, by themselves: parts of passes */
    double sync;    /**< all messages that the update waits for, by themselves */
    double exposed; /**< what is left of them behind the backward pass */
    double beside;  /**< of the pass's own, done beside messages */
    double copy;    /**< of gradients into buckets, as the pass hands them over */
    double wait;    /**< that the slowest of the ranks takes longer than one: the others wait for it
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

/** What stands behind the backward pass, and the whole step. */
static inline double schedule_grad(double exposed, double copy, double straggler, double update)
{
    return exposed + copy + straggler + update;
}

static inline double schedule_sum(double forward, double backward, double grad)
{
    return forward + backward + grad;
}

/** A step that hides nothing: `n` messages of so many seconds in all, behind the last pass, which is
 * `pass` times as long. */
static inline step_times schedule_in_turn(const step_work *w, double pass, double seconds, size_t n)
{
    const double backward = pass * w->backward;
    const double grad     = schedule_grad(seconds, 0, 0, w->update);

    return (step_times){ .forward  = w->forward,
                         .backward = backward,
                         .last     = pass * (w->backward / w->micro),
                         .passes   = 1,
                         .weights  = 1,
                         .sync     = seconds,
                         .exposed  = seconds,
                         .grad     = grad,
                         .step     = schedule_sum(w->forward, backward, grad),
                         .n        = n };
}

/** Tasks of a pipeline of so many micro-batches, as the program was scheduled last. As pipeline_run(). */
lm_status schedule_tasks(const rank_program *p, int64_t micro, pipeline_take take, void *by,
                         lm_error *err);

#endif
