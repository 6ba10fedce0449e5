/** What to measure next for networks that predictions are wanted of: from a question to points, and
 * these as a sweep. */
#ifndef SUGGEST_JOB_H
#define SUGGEST_JOB_H

#include "base/lists.h"
#include "observe/variants.h"
#include "suggest/candidates.h"
#include "suggest/suggest.h"

/** What is asked. */
typedef struct suggest_question {
    word_list   asked, from;          /**< networks; from: none: the shipped ones, too */
    count_list  batch, nodes;         /**< of predictions */
    count_list  try_batch, try_image; /**< that may be measured */
    const char *machine, *where;      /**< machine: behind `known`; NULL: not given */
    const char *backend;              /**< of the sweep; NULL: that of the observations */
    int64_t     memory, max_nodes;    /**< 0: not given */
    int64_t     points;               /**< at most */
    double      budget;               /**< s of measuring; NAN: not given */
} suggest_question;

/** What is asked, known and found. Zeroed, with the first six. */
typedef struct suggest_job {
    const suggest_question *a;
    const char             *asked, *memory; /**< as given; memory NULL: not */
    const calibration      *known;          /**< to begin with; NULL: guesses */
    lm_dtype                dtype;          /**< where nothing was measured */
    optimizer               update;
    const registry         *reg;
    workloads              *loads;
    observations           *obs; /**< NULL: nothing was measured */
    points                  p;
    char                    variant[VARIANT_TEXT];
    int64_t                 max_nodes, *ranks;
    size_t                  n_ranks;
    targets                 t;
    size_t                 *target_of; /**< number of the network of each target */
    candidates              c;
    design                 *d;
    double                 *cost, *step;
    size_t                  n_learned;
    suggestion              s;
} suggest_job;

/**
 * Finds the points. suggest_job_free() in either case.
 *
 * @param observed file of what was measured already; NULL: nothing was
 * @return LM_E_ARG where nothing can be suggested: the text says why
 */
lm_status suggest_job_run(suggest_job *q, const registry *reg, const char *observed, lm_error *err);
void      suggest_job_free(suggest_job *q);

/** A sweep that `layermeter calibrate` measures as it stands: one section a point, in the order in
 * which they are to be measured. Appears whole or not at all. */
lm_status suggest_sweep_write(const suggest_job *q, const char *path, lm_error *err);

#endif
