/** The program of a rank, priced by the coefficients of a machine. */
#ifndef FIT_PRICED_PROGRAM_H
#define FIT_PRICED_PROGRAM_H

#include <stdbool.h>

#include "fit/calibration.h"
#include "program/schedule.h"

/** Seconds of one micro-step's computing on one device. */
typedef struct step_passes {
    double forward, backward, update;
    bool   told_apart; /**< false: only whole steps were fitted; see below */
} step_passes;

/** Of a backward pass and the forward pass it belongs to, where only both together are known of a
 * network without layers: it computes two products for each of the forward pass's. */
#define BACKWARD_SHARE (2.0 / 3)

/**
 * By a model's forms. Where it has only one of whole steps, that is divided: by which pass each
 * term is of, or whether it is of the update, bytes of weights having one price; of a network of which only counts are known by
 * BACKWARD_SHARE, the update being in it. NAN where the model has neither.
 */
step_passes step_passes_of(const calibration *cal, const char *model, const workload *load);

/** Data-parallel messages of a network, when they are ready and who prices them: what steps of any
 * batch on any number of nodes share. The calibration must stay, the schedule need not. */
typedef struct priced_program priced_program;

/**
 * Gradients are ready when the prices of the model's backward form say.
 *
 * @param link what connects nodes, as told; NULL: nothing was told
 * @param out  to be freed by priced_program_free(), on success only
 * @return LM_E_UNSUPPORTED where the model does not know when gradients are ready, or the
 *         all-reduce from the update; LM_E_NOMEM
 */
lm_status priced_program_of(const calibration *cal, const char *model, const interconnect *link,
                            const gradient_schedule *gradients, const sync_policy *policy,
                            priced_program **out, lm_error *err);
/** The same where somebody else tells when gradients are ready: so many seconds (of each) into a
 * pass at one batch, the only one it is of. All-reduces and what they take are the model's. */
lm_status priced_program_told(const calibration *cal, const char *model, const interconnect *link,
                              const gradient_schedule *gradients, int64_t batch,
                              const double *ready, const sync_policy *policy, priced_program **out,
                              lm_error *err);
/** Makes it the program of a rank under a layout: rank_program_lay_out(). */
lm_status priced_program_lay_out(priced_program *p, const layout *l, const bound_network *part,
                                 const layer_passes *work, double travels, lm_error *err);
/** schedule_tasks(). */
lm_status priced_program_tasks(const priced_program *p, int64_t micro, pipeline_take take, void *by,
                               lm_error *err);
void      priced_program_free(priced_program *p);

/** Is it of these gradients, batch and policy, but for accumulation? */
bool priced_program_holds(const priced_program *p, const gradient_schedule *gradients,
                          int64_t batch, const sync_policy *policy);

/** Inputs of a question about a step. */
typedef struct program_case {
    step_work        work;
    int64_t          batch;
    rank_span        ranks; /**< of GROUP_DATA */
    const rank_span *group; /**< of all groups, GROUP_DATA among them; NULL: there is no other */
    double           pass, message; /**< factors on passes and messages: 1, or bounds' */
    bool             brief;         /**< no buckets are wanted */
} program_case;

/** Schedules a step by the constants that the calibration has. As schedule_step(). */
void priced_program_run(priced_program *p, const program_case *c, step_times *out);

#endif
