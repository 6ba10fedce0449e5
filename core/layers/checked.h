/** Do plugins keep the contract of layer types? Asked in child processes, a type each. */
#ifndef LAYERS_CHECKED_H
#define LAYERS_CHECKED_H

#include "layers/check.h"
#include "layers/guarded.h"

typedef struct check_question {
    const char *const *file; /**< plugins; none: all that are found, and `plugin` */
    size_t             n_files;
    const char *const *plugin;
    size_t             n_plugins;
    const char        *type; /**< only this one; NULL: all */
    check_options      options;
    guard_limits       limits; /**< of each type */
} check_question;

/** Zeroed to begin with. */
typedef struct check_result {
    registry    **reg; /**< one for each file, or one for all */
    size_t        n_reg;
    check_report *report; /**< of all types, in order */
    const char  **origin; /**< where each comes from */
    size_t        n_reports;
} check_result;

/** check_result_free() in either case. LM_E_ABI for a plugin that cannot be loaded, LM_E_NOTFOUND where
 * there is no such type. What a type breaks stands in its report. */
lm_status check_plugins(const check_question *q, check_result *out, lm_error *err);
void      check_result_free(check_result *r);

#endif
