/** Plans: all asked machines, numbers of nodes and batches, with time and cost. */
#ifndef PLAN_SEARCH_H
#define PLAN_SEARCH_H

#include "plan/cases.h"
#include "plan/failures.h"
#include "plan/prices.h"
#include "plan/room.h"
#include "plan/training.h"

#define PLAN_SHARES 32 /**< limit for plan_question.n_shares */

/** A machine that plans can use. Owns nothing. */
typedef struct plan_machine {
    const predictor *who;
    const predictor *half_link; /**< the same with half the assumed bandwidth between nodes; NULL:
                                     no assumed bandwidth */
    /** batches that fit the device's memory, by plan_question.share; without them the first */
    batch_limits fits[PLAN_SHARES];
    batch_limits fits_less[PLAN_SHARES]; /**< the same with MEMORY_LESS less memory */
    money        hour[N_PRICE_TIERS];    /**< of a node; amount NAN: unknown */
} plan_machine;

typedef struct plan_question {
    training       training;
    int64_t        global_batch; /**< samples of a step on all devices; 0: batch times devices */
    double         rate;         /**< inference: samples that come in a second; 0: all are there */
    double         within;       /**< inference: longest latency of a batch, s; 0: any */
    failure_model  failures;     /**< of training */
    const int64_t *nodes;
    size_t         n_nodes;
    const int64_t *batch; /**< per device and micro-step; with a global batch at most that */
    size_t         n_batch;
    step_setup     setup;      /**< devices, sync, optimizer; without nodes and batch */
    const sync_policy *policy; /**< policies to compare; NULL: that of `setup` */
    size_t             n_policies;
    /** inference: ways in which devices share the network; 0: each device holds all of it */
    layout share[PLAN_SHARES];
    size_t n_shares;
    bool   told; /**< the caller gave the only way */
} plan_question;

/**
 * Seconds until the last sample has arrived, if samples arrive at a rate, after the start-up. It is a
 * lower bound of any run. 0: all samples are there from the beginning. A run of inference is one pass
 * over the data set.
 */
double plan_paced_seconds(const plan_question *q);

/** Time of a whole run with failures, start-up included. `ideal`: its seconds without failures. Without
 * a failure model the result equals `ideal`. */
failure_cost plan_run_of(const plan_question *q, int64_t devices, double ideal);

/** One way to train, or to run. */
typedef struct plan {
    size_t     machine;
    step_setup setup;
    int64_t    global_batch;
    uint64_t   steps;       /**< of an epoch */
    uint64_t   evaluations; /**< forward passes of the evaluation after each epoch */
    cases      step;        /**< one step */
    cases      run;         /**< the whole run, with its failures */
    double     ideal;       /**< s, the same without failures */
    double     every;       /**< s of work between checkpoints; meaningful only with a failure model */
    double     n_failures;  /**< that are expected */
    bool       fits_less;   /**< it also fits with MEMORY_LESS less memory */
    bool       dominated;   /**< another plan is as fast and as cheap, see plan_mark_dominated() */
} plan;

/**
 * Is a way of sharing worth a plan? A way over several nodes is, only if no node can hold a sample.
 * `share` has such ways last.
 */
bool plan_share_needed(const plan_machine *m, const plan_question *q, size_t share);

/** Possible plans, and numbers of impossible ones by reason. */
typedef struct plan_set {
    plan  *plan;
    size_t n, room;
    size_t too_large;      /**< do not fit the memory */
    size_t beyond_dataset; /**< a step needs more than the data set */
    size_t idle;           /**< more devices than samples of a global batch */
    size_t too_slow;       /**< a batch takes longer than plan_question.within */
    size_t no_end;         /**< failures are more frequent than progress */
    size_t no_messages;    /**< devices would share, but their messages have no prices */
    size_t no_time;        /**< the prediction is 0 or less: far from the fitted range */
} plan_set;

/** More plans than this are a mistake. */
#define PLANS_MAX 1000000

/**
 * Adds the plans of a machine, number `machine`, by a scan over nodes and batches. Two batches that
 * make the same micro-steps of a global batch are one plan.
 *
 * @return LM_E_ARG for counts below 1, a global batch above the data set, or more than PLANS_MAX
 * plans; or what predict_step() returns
 */
lm_status plan_search(const plan_machine *m, size_t machine, const plan_question *q, plan_set *set,
                      lm_error *err);
void      plan_set_free(plan_set *set);

#endif
