/** Comparison of models of single launches, on launches that their fits did not see. */
#ifndef FIT_LAUNCH_MODELS_H
#define FIT_LAUNCH_MODELS_H

#include "fit/forms.h"
#include "fit/split.h"
#include "observe/launches.h"

/** The fold of each launch. */
typedef struct launch_folds {
    size_t *fold; /**< of each launch */
    size_t  n;    /**< 0: no launch is left out */
} launch_folds;

/**
 * Draws k random parts of the configurations (SPLIT_KFOLD), or none (SPLIT_NONE). Launches of one
 * configuration stay together.
 *
 * @return LM_E_ARG for another rule, and for more parts than configurations
 */
lm_status launch_folds_new(const launches *l, const split_rule *rule, launch_folds *out,
                           lm_error *err);
void      launch_folds_free(launch_folds *f);

/**
 * Predicted seconds of each launch, by fits to all parts but its own. NAN if too few launches
 * remain, or if the model cannot predict launches. A model of prices uses launch_fit() and, with a
 * residual, single/learned.h. A model of counts fits, for each kind of operator and pass, FLOPs,
 * bytes read, bytes written and 1: ConvMeter's counts of a convolution (its equation 2, with bytes
 * instead of elements).
 *
 * @param given prices from elsewhere, which predict all launches; NULL: none
 */
lm_status launches_predict(const launches *l, const formula_model *model, const launch_folds *by,
                           const struct layer_model *given, double *predicted, lm_error *err);

#endif
