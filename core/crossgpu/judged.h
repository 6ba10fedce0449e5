/** How far methods are off: on what they did not learn from, by group or GPU. */
#ifndef CROSSGPU_JUDGED_H
#define CROSSGPU_JUDGED_H

#include "base/stats.h"
#include "crossgpu/held_out.h"

/** What is judged. */
typedef struct judged_runs {
    const pairs  *p;      /**< to learn from */
    const pairs  *tested; /**< to judge by: `p`, of which parts are left out, or others */
    held_out_kind leave;
    uint64_t      seed;
} judged_runs;

/** Errors of a group, a GPU, or of all. */
typedef struct judged_errors {
    stats_errors errors;   /**< n 0: nothing was predicted */
    double       coverage; /**< share inside the stated interval; NAN: none is stated */
    double       width;    /**< median of (high - low) / predicted; NAN */
} judged_errors;

/** Of all runs to learn from. What crossgpu_learn() returns. */
lm_status judged_learn(const pairs *p, const crossgpu_options *how, crossgpu **out, lm_error *err);

/** What a method says of each row of `tested`, by a model that did not see it. */
lm_status judged_predict(const judged_runs *j, crossgpu_method m, crossgpu_prediction *said,
                         lm_error *err);

/** Number of groups that errors are told by, and their names: GPUs where these are left out. */
size_t      judged_groups(const judged_runs *j);
const char *judged_group(const judged_runs *j, size_t i);

/** Of a group by name; NULL: of all. LM_E_NOMEM. */
lm_status judged_errors_of(const judged_runs *j, const crossgpu_prediction *said, const char *name,
                           judged_errors *out, lm_error *err);

#endif
