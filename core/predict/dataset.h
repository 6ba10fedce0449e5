/** Samples of an epoch, from a number of samples or of tokens. */
#ifndef PREDICT_DATASET_H
#define PREDICT_DATASET_H

#include "models/step_model.h"

/** A data set, as the user gives it. */
typedef struct dataset_told {
    int64_t samples; /**< if `given` is false: the default, for images */
    bool    given;
    int64_t tokens; /**< replaces `samples`; 0: not given */
} dataset_told;

/**
 * Samples of an epoch. Tokens are rounded up to whole samples. The default does not apply to
 * networks whose samples are rows of tokens.
 *
 * @param out 0: unknown
 * @return LM_E_ARG for tokens with a network that takes none; errors of scale_tokens()
 */
lm_status dataset_samples(const predictor *who, const dataset_told *told, int64_t *out,
                          lm_error *err);

#endif
