/** Models of single launches beside each other, on launches that their fits did not see. */
#ifndef FIT_LAUNCH_MODELS_H
#define FIT_LAUNCH_MODELS_H

#include "fit/forms.h"
#include "fit/split.h"
#include "observe/launches.h"

/** Each launch's fold. */
typedef struct launch_folds {
    size_t *fold; /**< of each launch */
    size_t  n;    /**< 0: nothing is left out */
} launch_folds;

/**
 * Draws k parts of the configurations (SPLIT_KFOLD), or none (SPLIT_NONE). Launches of one
 * configuration are in one part.
 *
 * @return LM_E_ARG for another rule, and for more parts than configurations
 */
lm_status launch_folds_new(const launches *l, const split_rule *rule, launch_folds *out,
                           lm_error *err);
void      launch_folds_free(launch_folds *f);

/**
 * Predicted seconds of each launch by fits to all parts but its own; NAN where the rest is too
 * little, and where the model knows no single launches. By prices that is launch_fit(), with what
 * these leave over (single/learned.h); by counts, for each kind of operator and pass: FLOPs, bytes
 * read, bytes written and 1, ConvMeter's counts of a convolution (its equation 2, elements as
 * bytes).
 *
 * @param given prices made elsewhere, which predict all launches; NULL: none
 */
lm_status launches_predict(const launches *l, const formula_model *model, const launch_folds *by,
                           const struct layer_model *given, double *predicted, lm_error *err);

#endif
