/** The program of a rank, priced by the coefficients of a machine. */
#ifndef FIT_PRICED_PROGRAM_H
#define FIT_PRICED_PROGRAM_H

#include <stdbool.h>

#include "fit/calibration.h"
#include "program/schedule.h"

/** Seconds of one micro-step's compute on one device. */
typedef struct step_passes {
    double forward, backward, update;
    bool   told_apart; /**< false: only whole steps were fitted; see below */
} step_passes;

/**
 * Share of the backward pass in the sum of both passes, used if only the sum is known, for a
 * network without layers: the backward pass computes two products for each product of the forward
 * pass.
 */
#define BACKWARD_SHARE (2.0 / 3)

/**
 * Times of the passes from a model's forms. If the model has only a form for whole steps, the step
 * is divided: each term belongs to a pass or to the update, and bytes of weights have one price. A
 * network of which only counts are known uses BACKWARD_SHARE and includes the update. NAN if the
 * model has no such form.
 */
step_passes step_passes_of(const calibration *cal, const char *model, const workload *load);

/**
 * Data-parallel messages of a network, their ready times and prices. Steps with any batch and
 * number of nodes share it. The calibration must outlive it; the schedule need not.
 */
typedef struct priced_program priced_program;

/**
 * Makes a program. The ready times of gradients come from the model's backward form.
 *
 * @param link the user's description of the link between nodes; NULL: none
 * @param out  freed by priced_program_free(); set on success only
 * @return LM_E_UNSUPPORTED if the model does not know when gradients are ready, or cannot separate
 *         all-reduce and update; LM_E_NOMEM
 */
lm_status priced_program_of(const calibration *cal, const char *model, const interconnect *link,
                            const gradient_schedule *gradients, const sync_policy *policy,
                            priced_program **out, lm_error *err);
/**
 * The same with given ready times, in seconds from the start of the pass, one per gradient, for one
 * batch only. The model prices the all-reduces.
 */
lm_status priced_program_told(const calibration *cal, const char *model, const interconnect *link,
                              const gradient_schedule *gradients, int64_t batch,
                              const double *ready, const sync_policy *policy, priced_program **out,
                              lm_error *err);
/** Turns it into the program of a rank under a layout: rank_program_lay_out(). */
lm_status priced_program_lay_out(priced_program *p, const layout *l, const bound_network *part,
                                 const layer_passes *work, double travels, lm_error *err);
/** schedule_tasks(). */
lm_status priced_program_tasks(const priced_program *p, int64_t micro, pipeline_take take, void *by,
                               lm_error *err);
void      priced_program_free(priced_program *p);

/**
 * Does it belong to these gradients, this batch and this policy, without regard to accumulation?
 */
bool priced_program_holds(const priced_program *p, const gradient_schedule *gradients,
                          int64_t batch, const sync_policy *policy);

/** Inputs of one step. */
typedef struct program_case {
    step_work        work;
    int64_t          batch;
    rank_span        ranks;         /**< of GROUP_DATA */
    const rank_span *group;         /**< all groups, GROUP_DATA included; NULL: only GROUP_DATA */
    double           pass, message; /**< factors on passes and messages: 1, or those of a bound */
    bool             brief;         /**< no list of buckets is needed */
} program_case;

/** Schedules a step with the constants of the calibration. As schedule_step(). */
void priced_program_run(priced_program *p, const program_case *c, step_times *out);

#endif
