/** Samples of an epoch, as told in samples or in tokens. */
#ifndef PREDICT_DATASET_H
#define PREDICT_DATASET_H

#include "models/step_model.h"

/** A data set as told. */
typedef struct dataset_told {
    int64_t samples; /**< where `given` is not set: the default, of images */
    bool    given;
    int64_t tokens; /**< instead of samples; 0: not told */
} dataset_told;

/**
 * Samples of an epoch. Tokens count in whole samples, the last one may be short. The default says
 * nothing of a network whose samples are rows of tokens.
 *
 * @param out 0: not known
 * @return LM_E_ARG for tokens of a network that takes none; else as scale_tokens()
 */
lm_status dataset_samples(const predictor *who, const dataset_told *told, int64_t *out,
                          lm_error *err);

#endif
