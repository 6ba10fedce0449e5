/** The best layouts on each machine and number of nodes of a planning job. */
#ifndef PLAN_LAYOUT_PLANS_H
#define PLAN_LAYOUT_PLANS_H

#include "plan/job.h"
#include "plan/layouts.h"

typedef struct layout_plan {
    size_t       machine;
    int64_t      nodes;
    size_t       place; /**< among the layouts of that machine and these nodes, from 0 */
    layout_found found;
    double       run;  /**< s of the whole training */
    double       cost; /**< of the job's currency; NAN: no price */
    bool         tie;  /**< as good as the first, as far as anyone knows */
} layout_plan;

/** What a search came across. */
typedef struct layout_counts {
    size_t  machine;
    int64_t nodes;
    size_t  looked_at, too_large, no_time, bounded; /**< as in layout_search */
    char    whole[200]; /**< why the network does not divide among ranks of cp or ep; "" */
    size_t  refused;    /**< of the best, those that nobody predicts */
    char    why[200];   /**< the first of these */
} layout_counts;

typedef struct layout_plans {
    layout_plan   *plan; /**< by machine, nodes, and place */
    size_t         n;
    layout_counts *counts; /**< of each machine and number of nodes */
    size_t         n_counts;
    int64_t        tokens;  /**< of a sample; 0: it has none */
    size_t         missed;  /**< plans that do not keep to deadline or budget: not among these */
    double         fastest; /**< s of the whole training by the fastest of these */
} layout_plans;

/**
 * The `best` layouts of each, as they are predicted: several times as many are taken from the search,
 * each of another tp and pp, which ranks them by sums. job->question.global_batch is split among micro-batches of up to
 * `most_micro_batch`. To be freed by layout_plans_free() in either case.
 *
 * @return LM_E_NOTFOUND where nothing fits, nothing has a price, or no plan keeps to the limits: with
 *         the best there is
 */
lm_status layout_plans_find(const plan_job *job, size_t best, int64_t most_micro_batch,
                            layout_plans *out, lm_error *err);
void      layout_plans_free(layout_plans *p);

/** The pipeline of a plan, task by task. As pipeline_run(). */
lm_status layout_plan_tasks(const plan_job *job, const layout_plan *p, pipeline_take take, void *by,
                            lm_error *err);

#endif
