/** Errors of models on single kernels, and on streams of them. */
#ifndef JUDGE_LAUNCHES_H
#define JUDGE_LAUNCHES_H

#include "base/arena.h"
#include "fit/calibration.h"
#include "fit/split.h"
#include "judge/errors.h"

typedef struct launch_question {
    const observations *obs;
    const split_rule   *rule;
    const calibration  *given; /**< prices made elsewhere; NULL: none */
    const char *const  *model; /**< names of formula models */
    size_t              n_models;
} launch_question;

typedef struct launch_errors {
    error_row *row; /**< group after group, all groups together last */
    size_t     n;
    arena     *texts;
} launch_errors;

/**
 * Kernels are predicted by fits that did not see them (`rule`), or by the given prices. Streams are
 * predicted by the given prices, or by a fit to all kernels of the file.
 *
 * @param out zeroed; to be freed in either case
 * @return LM_E_NOTFOUND if the given prices have no single kernels
 */
lm_status launch_errors_of(const launch_question *q, launch_errors *out, lm_error *err);
void      launch_errors_free(launch_errors *e);

#endif
