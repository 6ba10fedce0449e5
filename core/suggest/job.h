/** Answers a question: which points to measure next, to predict some networks. Writes a sweep of
 * these points. */
#ifndef SUGGEST_JOB_H
#define SUGGEST_JOB_H

#include "base/lists.h"
#include "observe/variants.h"
#include "suggest/candidates.h"
#include "suggest/suggest.h"

/** A question. */
typedef struct suggest_question {
    word_list   asked, from;          /**< networks; from: candidates; none: the shipped ones,
                                           too */
    count_list  batch, nodes;         /**< of predictions */
    count_list  try_batch, try_image; /**< that may be measured */
    const char *machine, *where;      /**< machine: path of `known`; NULL: not given */
    const char *backend;              /**< backend of the sweep; NULL: that of the observations */
    int64_t     memory, max_nodes;    /**< 0: not given */
    int64_t     points;               /**< at most */
    double      budget;               /**< s of measuring; NAN: not given */
} suggest_question;

/** A question, its data and its answer. The caller sets the first six members and zeroes the
 * rest. */
typedef struct suggest_job {
    const suggest_question *a;
    const char             *asked, *memory; /**< as given; memory NULL: not given */
    const calibration      *known;          /**< initial coefficients; NULL: guesses */
    lm_dtype                dtype;          /**< without observations */
    optimizer               update;
    const registry         *reg;
    workloads              *loads;
    observations           *obs; /**< NULL: none */
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
 * @param observed file of earlier measurements; NULL: none
 * @return LM_E_ARG if nothing can be suggested; the text gives the reason
 */
lm_status suggest_job_run(suggest_job *q, const registry *reg, const char *observed, lm_error *err);
void      suggest_job_free(suggest_job *q);

/** A sweep for `layermeter calibrate`: one section a point, in the order of measuring. The file
 * appears whole or not at all. */
lm_status suggest_sweep_write(const suggest_job *q, const char *path, lm_error *err);

#endif
