/** Errors of methods on held-out runs, by group or GPU. */
#ifndef CROSSGPU_JUDGED_H
#define CROSSGPU_JUDGED_H

#include "base/stats.h"
#include "crossgpu/held_out.h"

/** Rows to judge. */
typedef struct judged_runs {
    const pairs  *p;      /**< to learn from */
    const pairs  *tested; /**< the judged rows: `p`, with parts left out, or other rows */
    held_out_kind leave;
    uint64_t      seed;
} judged_runs;

/** Errors of a group, a GPU, or of all. */
typedef struct judged_errors {
    stats_errors errors;   /**< n 0: no predictions */
    double       coverage; /**< share inside the stated interval; NAN: no interval */
    double       width;    /**< median of (high - low) / predicted; NAN */
} judged_errors;

/** Learns from all rows of `p`. As crossgpu_learn(). */
lm_status judged_learn(const pairs *p, const crossgpu_options *how, crossgpu **out, lm_error *err);

/** A method's prediction for each row of `tested`, by a model that did not see it. */
lm_status judged_predict(const judged_runs *j, crossgpu_method m, crossgpu_prediction *said,
                         lm_error *err);

/** Number and names of the groups of errors: GPUs if these are left out. */
size_t      judged_groups(const judged_runs *j);
const char *judged_group(const judged_runs *j, size_t i);

/** Of a group by name; NULL: of all. LM_E_NOMEM. */
lm_status judged_errors_of(const judged_runs *j, const crossgpu_prediction *said, const char *name,
                           judged_errors *out, lm_error *err);

#endif
