/**
 * Pipelines: the step of several ranks; each has some layers and passes micro-batches on.
 *
 * A rank has one chunk of the network, or `chunks` of them: chunk c of rank r is virtual stage c *
 * ranks + r. A micro-batch goes forward through all virtual stages, and back in reverse order. Each
 * rank does its tasks in a fixed order, the schedule. A task starts when its rank is free and its
 * input has arrived. All seconds follow from this rule.
 */
#ifndef PROGRAM_PIPELINE_H
#define PROGRAM_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** The order in which stages take micro-batches. */
typedef enum pipeline_rule {
    /** after a warm-up, forward and backward passes alternate (Narayanan et al. 2019) */
    PIPELINE_1F1B,
    /**
     * 1F1B over several chunks per rank (Narayanan et al. 2021, section 2.2, in the order of
     * Megatron-LM's schedules.py)
     */
    PIPELINE_INTERLEAVED,
    PIPELINE_ZB_H1, /**< 1F1B; weight gradients fill the bubbles (Qi et al. 2023, section 3) */
    PIPELINE_GPIPE, /**< all forward passes, then all backward passes (Huang et al. 2019) */
    N_PIPELINE_RULES
} pipeline_rule;

/** "1f1b", "interleaved", "zb", "gpipe". */
extern const char *const pipeline_rule_names[N_PIPELINE_RULES];

/** Times of one micro-batch in a virtual stage, in seconds: finite, not below 0. */
typedef struct pipeline_stage {
    double forward; /**< without recomputation */
    double input;   /**< gradients of the input, and recomputation */
    /** gradients of the weights: part of the backward pass, except with PIPELINE_ZB_H1 */
    double weight;
    /** message with the output to the next virtual stage; unused for the last one */
    double send;
    /** message with the input's gradient to the previous virtual stage; unused for the first one */
    double back;
} pipeline_stage;

typedef struct pipeline_question {
    pipeline_rule         rule;
    int64_t               ranks, chunks, micro_batches;
    const pipeline_stage *stage;   /**< ranks * chunks entries, by virtual stage */
    bool                  exposed; /**< a rank is idle while it sends */
} pipeline_question;

typedef enum pipeline_pass {
    PIPELINE_FORWARD,
    PIPELINE_BACKWARD, /**< includes the weights' gradients, except with PIPELINE_ZB_H1 */
    PIPELINE_WEIGHT,   /**< only with PIPELINE_ZB_H1 */
    N_PIPELINE_PASSES
} pipeline_pass;

/** "forward", "backward", "weight". */
const char *pipeline_pass_name(pipeline_pass p);

/** A task: seconds from the start of the step, without sending. */
typedef struct pipeline_task {
    int64_t       rank, chunk, micro_batch; /**< counted from 0 */
    pipeline_pass pass;
    double        start, end;
} pipeline_task;

/** Receives a task. Tasks of one rank come in order of time; those of several ranks are mixed. */
typedef lm_status (*pipeline_take)(void *by, const pipeline_task *t, lm_error *err);

/** Times of one rank in a step, in seconds. */
typedef struct pipeline_rank {
    double work;   /**< in its tasks */
    double sent;   /**< idle while it sends; 0 unless `exposed` */
    double bubble; /**< idle while it waits */
    /** start of the last backward pass of its last micro-batch; its gradients follow */
    double last;
    double end; /**< end of its last task */
} pipeline_rank;

/** Limit for passes of a micro-batch in a stage, per step. */
#define PIPELINE_PASSES_MAX ((int64_t)1 << 32)

/**
 * Do rule, ranks, chunks and micro-batches fit? The interleaved order needs micro-batches in groups
 * of `ranks`; the other orders have one chunk per rank.
 *
 * @return LM_E_ARG; the text has the two numbers that do not fit
 */
lm_status pipeline_check(const pipeline_question *q, lm_error *err);

/**
 * The most micro-batches, each in one chunk, whose activations a rank holds at once: after the
 * forward pass and before the backward pass (PIPELINE_ZB_H1: before the weight gradients). Pure.
 */
int64_t pipeline_in_flight(const pipeline_question *q, int64_t rank);

/** Times of inference in a pipeline, in seconds. */
typedef struct pipeline_round {
    double pass; /**< of a batch through all stages, with the messages between them */
    double sent; /**< part of it: these messages */
    /** from the start of a batch in the first stage to the start of the batch that follows it there */
    double round;
} pipeline_round;

/**
 * Forward passes of inference: `batches` batches are in the pipeline, and one that leaves the last
 * stage makes room for the next (or for its own next token). A stage sends its output before it takes
 * another batch. This is a closed cycle of deterministic stations, so a round takes the longer of one
 * batch's pass and of the slowest stage's work at all batches; by Little's law (1961), batches / round
 * leave the pipeline in a second (Pope et al. 2022, "Efficiently scaling transformer inference", section
 * 2; Huang et al. 2019, "GPipe", for stages). Exact. Pure.
 *
 * @param stage `ranks` entries; only `forward` and `send` are read. NAN stays NAN
 */
pipeline_round pipeline_round_of(const pipeline_stage *stage, int64_t ranks, double batches);

/**
 * Computes the time of a step, until the last rank has ended. Exact, except that seconds are
 * rounded to 2^-60 of the sum over all ranks. Cost does not grow with the micro-batches once the
 * schedule repeats itself.
 *
 * @param rank  NULL, or room for `ranks`
 * @param take  NULL, or receives all tasks; then no repetition is skipped
 * @return LM_E_ARG as pipeline_check(), or for seconds below 0 or not finite; LM_E_NOMEM; errors of
 *         `take`
 */
lm_status pipeline_run(const pipeline_question *q, double *step, pipeline_rank *rank,
                       pipeline_take take, void *by, lm_error *err);

#endif
