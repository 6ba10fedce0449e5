/** Gradient synchronisation beside the backward pass, by the coefficients of a machine. */
#ifndef FIT_OVERLAPPED_H
#define FIT_OVERLAPPED_H

#include <stdbool.h>

#include "fit/calibration.h"
#include "observe/gradients.h"
#include "sync/policy.h"
#include "sync/recurrence.h"

/** How gradients of one step travel. */
typedef struct sync_setting {
    const sync_policy *policy;
    int64_t            nodes, devices; /**< devices: of each node */
    double pass, message; /**< factors on the backward pass and on each all-reduce: 1, or bounds' */
} sync_setting;

/** What a step computes on one device, in seconds of one micro-step. */
typedef struct step_passes {
    double forward, backward, update;
    bool   told_apart; /**< false: only whole steps were fitted; see below */
} step_passes;

/** Of a backward pass and the forward pass it belongs to, where only both together are known of a
 * network without layers: it computes two products for each of the forward pass's. */
#define BACKWARD_SHARE (2.0 / 3)

/**
 * By a model's forms. Where it has only one of whole steps, that is divided: by which pass each
 * term is of; of a network of which only counts are known by BACKWARD_SHARE, the update being in
 * it. NAN where the model has neither.
 */
step_passes overlapped_passes(const calibration *cal, const char *model, const workload *load);

/** Synchronisation of one step, and what it takes beside the all-reduces. */
typedef struct overlap {
    overlap_bucket *bucket; /**< in the order in which they travel; on one rank none */
    size_t          n;
    double          backward; /**< s, of the last micro-step, beside messages, without copies */
    double          beside;   /**< s, of the pass's own, done beside messages */
    double          sync;     /**< s, all all-reduces by themselves */
    double          exposed;  /**< s, what is left of them behind the backward pass */
    double          copy;     /**< s, of gradients into buckets, as the pass hands them over */
    double          wait;     /**< s, that the slowest of the ranks takes longer than one: the
                                 others wait for it in their all-reduces */
    double straggler;         /**< s, what of that the passes do not hold yet: those of ranks that
                                 share a host are the slowest one's */
} overlap;

/**
 * The recurrence (recurrence.h) over the buckets of a policy.
 *
 * Gradients are ready when the prices of the model's backward form say. Element types: DDP makes
 * buckets of the weights' own bytes and a hook casts them on the way (torch fp16_compress_hook);
 * Horovod casts first (Compression.fp16).
 *
 * @param backward seconds of a pass beside no message, by the same prices, shared_times() included
 * @param compute  seconds of the passes that ranks wait for each other's: for stragglers
 * @param out      to be freed by overlap_clear(), on success only
 * @return LM_E_UNSUPPORTED where the model does not know when gradients are ready, or the
 *         all-reduce from the update; LM_E_NOMEM
 */
lm_status overlapped_sync(const calibration *cal, const char *model,
                          const gradient_schedule *schedule, int64_t batch, const sync_setting *s,
                          double backward, double compute, overlap *out, lm_error *err);

void overlap_clear(overlap *o);
/** A copy that owns its buckets. LM_E_NOMEM. */
lm_status overlap_copy(const overlap *from, overlap *out, lm_error *err);

/** Buckets of a policy at all batches that a schedule is of, and when they are ready: what steps of
 * any batch on any number of nodes share. The calibration must stay, the schedule need not. */
typedef struct overlap_plan overlap_plan;

/** What overlapped_sync() returns; overlap_plan_free() it. */
lm_status overlap_plan_of(const calibration *cal, const char *model,
                          const gradient_schedule *schedule, const sync_policy *policy,
                          overlap_plan **out, lm_error *err);
/** The same where somebody else tells when gradients are ready: so many seconds (of each) into a
 * pass at one batch, the only one it is of. All-reduces and what they take are the model's. */
lm_status overlap_plan_told(const calibration *cal, const char *model,
                            const gradient_schedule *schedule, int64_t batch, const double *ready,
                            const sync_policy *policy, overlap_plan **out, lm_error *err);
void      overlap_plan_free(overlap_plan *p);

/** Is it of that schedule and policy, but for accumulation? */
bool overlap_plan_holds(const overlap_plan *p, const gradient_schedule *schedule,
                        const sync_policy *policy);

/** overlapped_sync() of its policy, whatever `s->policy` is. out->bucket is the plan's until its
 * next run. Not pure: prices of the messages are kept for the next run on as many nodes. */
void overlap_plan_run(overlap_plan *p, int64_t batch, const sync_setting *s, double backward,
                      double compute, overlap *out);

/** The same faster, out->bucket being NULL. */
void overlap_plan_sums(overlap_plan *p, int64_t batch, const sync_setting *s, double backward,
                       double compute, overlap *out);

#endif
