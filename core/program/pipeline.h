/**
 * Pipelines: the step of several ranks that each hold some layers and pass micro-batches on.
 *
 * A rank holds one chunk of the network, or `chunks` of them: chunk c of rank r is virtual stage
 * c * ranks + r. A micro-batch goes forward through all virtual stages and back in reverse order. Each
 * rank does its tasks in a fixed order, the schedule; a task starts when its rank is free and its input
 * has arrived. All seconds follow from this rule alone.
 */
#ifndef PROGRAM_PIPELINE_H
#define PROGRAM_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** The order in which stages take micro-batches. */
typedef enum pipeline_rule {
    PIPELINE_1F1B,        /**< one forward, one backward after a warm-up (Narayanan et al. 2019) */
    PIPELINE_INTERLEAVED, /**< 1F1B over several chunks of a rank (Narayanan et al. 2021, section 2.2,
                               in the order of Megatron-LM's schedules.py) */
    PIPELINE_ZB_H1, /**< 1F1B whose weight gradients fill the bubbles (Qi et al. 2023, section 3) */
    PIPELINE_GPIPE, /**< all forwards, then all backwards (Huang et al. 2019) */
    N_PIPELINE_RULES
} pipeline_rule;

/** "1f1b", "interleaved", "zb", "gpipe". */
extern const char *const pipeline_rule_names[N_PIPELINE_RULES];

/** One micro-batch in a virtual stage, in seconds: finite, not below 0. */
typedef struct pipeline_stage {
    double forward; /**< what the backward pass recomputes is not in it */
    double input;   /**< gradients of the input, and what is recomputed */
    double
        weight;  /**< gradients of the weights: part of the backward pass but with PIPELINE_ZB_H1 */
    double send; /**< of the output, to the next virtual stage; the last one sends nothing */
    double back; /**< of the input's gradient, to the virtual stage before; the first sends none */
} pipeline_stage;

typedef struct pipeline_question {
    pipeline_rule         rule;
    int64_t               ranks, chunks, micro_batches;
    const pipeline_stage *stage;   /**< ranks * chunks, by virtual stage */
    bool                  exposed; /**< a rank does nothing while it sends */
} pipeline_question;

typedef enum pipeline_pass {
    PIPELINE_FORWARD,
    PIPELINE_BACKWARD, /**< with the weights' gradients, but with PIPELINE_ZB_H1 */
    PIPELINE_WEIGHT,   /**< PIPELINE_ZB_H1 */
    N_PIPELINE_PASSES
} pipeline_pass;

/** "forward", "backward", "weight". */
const char *pipeline_pass_name(pipeline_pass p);

/** A bar of the timeline: seconds from the start of the step, without sending. */
typedef struct pipeline_task {
    int64_t       rank, chunk, micro_batch; /**< from 0 */
    pipeline_pass pass;
    double        start, end;
} pipeline_task;

/** Takes a task. Those of a rank come in order of time; those of several ranks are mixed. */
typedef lm_status (*pipeline_take)(void *by, const pipeline_task *t, lm_error *err);

/** A rank in a step, in seconds. */
typedef struct pipeline_rank {
    double work;   /**< of its tasks */
    double sent;   /**< that it does nothing while it sends; 0 unless `exposed` */
    double bubble; /**< of the step, that it waits */
    double last; /**< when its last micro-batch's last backward pass begins: its gradients follow */
    double end;  /**< when its last task has ended */
} pipeline_rank;

/** More tasks than 2^32 passes of a micro-batch in a stage are refused. */
#define PIPELINE_PASSES_MAX ((int64_t)1 << 32)

/**
 * Do a rule, ranks, chunks and micro-batches fit each other? The interleaved order takes micro-batches
 * in groups of `ranks`; the other orders know one chunk a rank.
 *
 * @return LM_E_ARG, which names the two numbers that do not fit
 */
lm_status pipeline_check(const pipeline_question *q, lm_error *err);

/**
 * Micro-batches, each in one chunk, that a rank holds activations of at once, at most: passes that went
 * forward, but not yet back (PIPELINE_ZB_H1: whose weights' gradients are not there). Pure.
 */
int64_t pipeline_in_flight(const pipeline_question *q, int64_t rank);

/**
 * Seconds of a step: until the last rank has ended. Exact but for the rounding of seconds to 2^-60 of
 * all ranks' seconds together; cost stops growing with the micro-batches where a schedule repeats itself.
 *
 * @param rank  NULL, or room for `ranks`
 * @param take  NULL, or gets all tasks; then no repetition is skipped
 * @return LM_E_ARG as pipeline_check() or for seconds below 0 or not finite; LM_E_NOMEM; what `take` returns
 */
lm_status pipeline_run(const pipeline_question *q, double *step, pipeline_rank *rank,
                       pipeline_take take, void *by, lm_error *err);

#endif
