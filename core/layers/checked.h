/** Checks that plugins keep the contract of layer types, in a child process for each type. */
#ifndef LAYERS_CHECKED_H
#define LAYERS_CHECKED_H

#include "layers/check.h"
#include "layers/guarded.h"

typedef struct check_question {
    const char *const *file; /**< plugins; none: all found ones, and `plugin` */
    size_t             n_files;
    const char *const *plugin;
    size_t             n_plugins;
    const char        *type; /**< only this one; NULL: all */
    check_options      options;
    guard_limits       limits; /**< limits for each type */
} check_question;

/** Zero-initialise. */
typedef struct check_result {
    registry    **reg; /**< one for each file, or one for all */
    size_t        n_reg;
    check_report *report; /**< one for each type, in order */
    const char  **origin; /**< file of each */
    size_t        n_reports;
} check_result;

/** Checks the plugins; check_result_free() in either case. LM_E_ABI for a plugin that cannot be
 * loaded, LM_E_NOTFOUND for an unknown type. Violations are in the types' reports. */
lm_status check_plugins(const check_question *q, check_result *out, lm_error *err);
void      check_result_free(check_result *r);

#endif
