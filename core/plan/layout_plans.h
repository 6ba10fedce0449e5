/** The best layouts for each machine and number of nodes of a planning job. */
#ifndef PLAN_LAYOUT_PLANS_H
#define PLAN_LAYOUT_PLANS_H

#include "plan/job.h"
#include "plan/layouts.h"

#define LAYOUT_PLANS_TOKENS 1e9 /**< trained by the run of a job without a data set */

typedef struct layout_plan {
    size_t       machine;
    int64_t      nodes;
    size_t       place; /**< rank among the layouts of this machine and number of nodes, from 0 */
    layout_found found;
    /** s, whole training run with its failures; of LAYOUT_PLANS_TOKENS if no data set is known */
    bounded run;
    bounded cost;       /**< in the job's currency; NAN: no price */
    double  ideal;      /**< s, the run without failures */
    double  every;      /**< s of work between checkpoints; meaningful only with a failure model */
    double  n_failures; /**< expected number */
    bool    tie;        /**< as fast as the first layout, within their uncertainty */
} layout_plan;

/** Statistics of a search. */
typedef struct layout_counts {
    size_t  machine;
    int64_t nodes;
    size_t  looked_at, too_large, no_time, bounded; /**< as in layout_search */
    char    whole[200]; /**< why the network cannot be divided among ranks of cp or ep; "" */
    size_t  refused;    /**< number of the best layouts that could not be predicted */
    char    why[200];   /**< error of the first of these */
    char    none[200];  /**< why there is no layout; "": there is one */
    double  missed; /**< s of the fastest run that misses the deadline or budget; 0: none does */
    double
        short_of; /**< bytes of the smallest layout if none fits; 0: layouts are missing for another reason */
} layout_counts;

typedef struct layout_plans {
    layout_plan   *plan; /**< sorted by machine, nodes, and rank */
    size_t         n;
    layout_counts *counts; /**< for each machine and number of nodes */
    size_t         n_counts;
    int64_t        tokens; /**< of a sample; 0: samples are not tokens */
    /** number of plans that miss the deadline or budget; they are left out */
    size_t missed;
    size_t no_end; /**< number of plans with more failures than progress; left out */
    /** of these missed plans: s of the fastest run; cost of the cheapest, NAN: no price is known */
    double fastest, cheapest;
} layout_plans;

/**
 * Predicts the layout job->told (job->whole), or finds the `best` layouts that agree with it for each
 * machine and number of nodes, and predicts them. The search,
 * which ranks by sums of parts, delivers several times as many layouts, each with another pair of
 * tp and pp. job->question.training.dataset 0 is for networks of tokens. job->question.global_batch is split into micro-batches of at most `most_micro_batch`.
 * Call layout_plans_free() in either case.
 *
 * @return LM_E_NOTFOUND if no layout fits, none has a price, or no plan meets the limits; the text
 *         has the best layout. Of several machines and numbers of nodes this holds for all
 */
lm_status layout_plans_find(const plan_job *job, size_t best, int64_t most_micro_batch,
                            layout_plans *out, lm_error *err);
void      layout_plans_free(layout_plans *p);

#endif
