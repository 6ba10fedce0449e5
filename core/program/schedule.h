/** The schedule: turns a rank's program into seconds. No other file adds up a step. */
#ifndef PROGRAM_SCHEDULE_H
#define PROGRAM_SCHEDULE_H

#include "fabric/overlap_constants.h"
#include "program/host_clock.h"
#include "program/program.h"

/** Compute of a rank in a step, in seconds, with the device to itself. */
typedef struct step_work {
    double forward, backward; /**< all micro-steps */
    double update;
    double micro; /**< number of micro-steps */
    /** host that starts the kernels of the passes; NULL: it takes no time */
    const host_time *host;
    /** work of the host in the forward and in the backward pass of a micro-step */
    host_work issued[2];
    double    compute; /**< all passes: the base of the stragglers' wait */
} step_work;

/** A question to the schedule. */
typedef struct schedule_question {
    step_work         work;
    int64_t           batch; /**< batch, which decides when messages are ready */
    double            unit;  /**< factor on `ready`: ranks that share a host are slower */
    rank_span         group[N_RANK_GROUPS];
    double            pass, message; /**< factors on passes and messages: 1, or those of a bound */
    overlap_constants rules;         /**< `cold` is part of the prices */
    double slowest; /**< the passes include the slowest of so many ranks; 1: of this one */
    bool   brief;   /**< the caller needs no list of buckets; this is faster */
} schedule_question;

/** Seconds of one message of `bytes`; NAN: unknown. */
typedef double message_price(void *context, const message *e, double bytes);

/** The seconds of a scheduled step. */
typedef struct step_times {
    /**
     * all micro-steps, with the time that kernels wait; backward includes the slowdown by messages
     */
    double forward, backward;
    double last; /**< the last backward pass, with messages at the same time, without copies */
    /** shares of the network on the slowest rank of a pipeline; 1 without a pipeline */
    double passes, weights;
    /**
     * mean over the ranks of a pipeline of the seconds of their own kernels, by those of the rank that
     * ends last; 1 without a pipeline
     */
    double others;
    /** part of `forward` and `backward`: waiting for messages, except those between stages */
    double tensor;
    /**
     * The seconds that messages of each group add: to `forward`, to `backward`, and behind it
     * (parts of `exposed`). Without messages between stages, which are in `bubble`
     */
    double  added[3][N_RANK_GROUPS];
    int64_t rank;    /**< of a pipeline: the rank that ends last */
    double  host[2]; /**< parts of `forward` and `backward`: waiting for the host */
    double  bubble;  /**< part of `backward`: waiting of the slowest rank of a pipeline */
    double
        weight; /**< part of `backward`: gradients of weights, on the slowest rank of a pipeline */
    /** all messages that kernels wait for, without overlap; included in the passes */
    double waited;
    double sync;    /**< all messages that the update waits for, without overlap */
    double exposed; /**< part of `sync` after the backward pass */
    /** parts of `exposed`, by pass: waiting for blocks that are gathered; 0 in a pipeline */
    double gathers[2];
    double beside; /**< compute of the pass that runs during messages */
    double copy;   /**< copies of gradients into buckets, by the pass */
    /** extra time of the slowest rank; the others wait for it in their all-reduces */
    double wait;
    double straggler; /**< part of `wait` that the passes do not include */
    double grad;      /**< sum of exposed messages, copies, stragglers and update */
    double step;      /**< sum of forward, backward and grad */
    /**
     * Messages in the order of sending. Owned by the program and valid until its next schedule,
     * unless a function says otherwise; NULL: `brief`.
     */
    overlap_bucket *bucket;
    size_t          n;
} step_times;

/**
 * Composes a step. Kernels follow each other. Messages follow each other, and overlap kernels as
 * their rules allow (recurrence.h). Writes only to the program's work space.
 *
 * @param p NULL: no messages
 */
void schedule_step(rank_program *p, const schedule_question *q, message_price *price, void *context,
                   step_times *out);

/** Sum of the parts after the backward pass; and the whole step. */
static inline double schedule_grad(double exposed, double copy, double straggler, double update)
{
    return exposed + copy + straggler + update;
}

static inline double schedule_sum(double forward, double backward, double grad)
{
    return forward + backward + grad;
}

/**
 * A step without overlap: `n` messages of `seconds` in all, after the last pass. `pass` is a factor
 * on the backward pass.
 */
static inline step_times schedule_in_turn(const step_work *w, double pass, double seconds, size_t n)
{
    const double backward = pass * w->backward;
    const double grad     = schedule_grad(seconds, 0, 0, w->update);

    return (step_times){ .forward  = w->forward,
                         .backward = backward,
                         .last     = pass * (w->backward / w->micro),
                         .passes   = 1,
                         .weights  = 1,
                         .others   = 1,
                         .sync     = seconds,
                         .exposed  = seconds,
                         .grad     = grad,
                         .step     = schedule_sum(w->forward, backward, grad),
                         .n        = n };
}

/**
 * Tasks of the pipeline with `micro` micro-batches, as the program was last scheduled. Errors as
 * pipeline_run().
 */
lm_status schedule_tasks(const rank_program *p, int64_t micro, pipeline_take take, void *by,
                         lm_error *err);

#endif
