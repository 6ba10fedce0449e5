/** What prices of single kernels leave over, learned: lesson.h of kernels, by class of operators.
 */
#ifndef SINGLE_OPERATOR_RESIDUAL_H
#define SINGLE_OPERATOR_RESIDUAL_H

#include "single/lesson.h"
#include "single/operator_model.h"

/** Of each class; NULL: none. */
typedef struct operator_residuals {
    residual_trees *of[N_OPERATOR_CLASSES];
} operator_residuals;

void operator_residuals_free(operator_residuals *s);

/** Can a residual be asked for? */
bool operator_residual_any(const operator_model *m);

/**
 * Learns residuals to a model that was fitted to these rows: of each class that has enough, as
 * lesson_learn() does. Kernels that differ in their batch alone are judged together.
 *
 * @param in     which rows may be seen; NULL: all
 * @param judged what was found of each class, also where nothing was gained; N_OPERATOR_CLASSES
 */
lm_status operator_residual_learn(const timed_kernel *rows, const bool *in, size_t n,
                                  double multiprocessors, operator_model *m, residual_trees *judged,
                                  lm_error *err);

/**
 * What one launch costs with its residual, which is read where it has not been;
 * operator_model_cost() where there is none. What the residual changes is work, and floor where the
 * launch takes no longer than that.
 *
 * @return LM_E_IO, LM_E_SYNTAX ... of the file, LM_E_ARG if its hash is another; LM_E_NOMEM
 */
lm_status operator_residual_cost(operator_model *m, const lm_kernel *k, const char *tag,
                                 launch_cost *out, lm_error *err);

/** Seconds of one launch by itself with its residual; NAN for a class without prices. */
lm_status operator_residual_seconds(operator_model *m, const lm_kernel *k, const char *tag,
                                    double *out, lm_error *err);

/** Reads the residuals where they have not been. */
lm_status operator_residual_load(operator_model *m, lm_error *err);

/** What the file beside a machine file is called: "m.kernels". */
#define KERNELS_FILE "kernels"
/** operator_residuals as text. */
extern const kept_kind kernels_kept;

#endif
