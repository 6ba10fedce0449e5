/** Errors of methods on held-out runs, by group or GPU. */
#ifndef CROSSGPU_JUDGED_H
#define CROSSGPU_JUDGED_H

#include "base/stats.h"
#include "crossgpu/held_out.h"

/** Groups of errors. */
typedef enum { ERRORS_BY_GROUP, ERRORS_BY_SOURCE, ERRORS_BY_TARGET, N_ERRORS_BY } errors_by;

/** "group", "source", "target". The text of LM_E_NOTFOUND lists all. */
lm_status errors_by_parse(const char *name, errors_by *out, lm_error *err);

/** Rows to judge. */
typedef struct judged_runs {
    const pairs  *p;      /**< to learn from */
    const pairs  *tested; /**< the judged rows: `p`, with parts left out, or other rows */
    held_out_kind leave;
    errors_by     by;
    uint64_t      seed;
} judged_runs;

/** Errors of a group, a GPU, or of all. */
typedef struct judged_errors {
    stats_errors errors;   /**< n 0: no predictions */
    double       coverage; /**< share inside the stated interval; NAN: no interval */
    double       width;    /**< median of (high - low) / predicted; NAN */
    double       fold_mean,
        fold_sd; /**< of all: mean error of the folds, and its standard deviation; NAN */
} judged_errors;

/** Learns from all rows of `p`. As crossgpu_learn(). */
lm_status judged_learn(const pairs *p, const crossgpu_options *how, crossgpu **out, lm_error *err);

/** A method's prediction for each row of `tested`, by a model that did not see it. */
lm_status judged_predict(const judged_runs *j, crossgpu_method m, crossgpu_prediction *said,
                         lm_error *err);

/** Number and names of the groups of errors; one group of workloads is none. */
size_t      judged_groups(const judged_runs *j);
const char *judged_group(const judged_runs *j, size_t i);

/** Errors of a group by name; NULL: of all. LM_E_NOMEM. */
lm_status judged_errors_of(const judged_runs *j, const crossgpu_prediction *said, const char *name,
                           judged_errors *out, lm_error *err);

#endif
