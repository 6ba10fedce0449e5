/* Samples of an epoch. */
#include "predict/dataset.h"

#include "predict/scaling.h"

lm_status dataset_samples(const predictor *who, const dataset_told *told, int64_t *out,
                          lm_error *err)
{
    int64_t   each = 0; /* tokens of a sample */
    lm_status status;

    if (told->given) {
        *out = told->samples;
        return LM_OK;
    }
    if ((status = scale_tokens(who, &each, err)))
        return status;
    if (told->tokens && !each)
        return lm_error_set(
            err, LM_E_ARG,
            "--tokens: the samples of '%.80s' are not rows of tokens: give --dataset "
            "SAMPLES instead",
            who->network);
    if (told->tokens)
        *out = (told->tokens - 1) / each + 1;
    else
        *out = each ? 0 : told->samples;
    return LM_OK;
}
