/** A step by PALEO's model, as a prediction. */
#ifndef PREDICT_PALEO_STEP_H
#define PREDICT_PALEO_STEP_H

#include "baselines/paleo.h"
#include "predict/price.h"

/** Who predicts what, on which platform: needs no measurement. Zero-initialise; owns nothing. */
typedef struct paleo_predictor {
    const registry *reg;
    const network  *net;
    const char     *input; /**< shape of one sample; NULL: the file's */
    lm_dtype        dtype;
    paleo_platform  platform;
    struct {
        int64_t      batch; /**< 0: nothing counted yet */
        paleo_counts counts;
    } counted[2]; /**< the last two batches: a search for a turning point goes between two */
    size_t next;
} paleo_predictor;

/**
 * Predicts one step; each device is a worker. There is no interval; layers that the model does not
 * know stand in `beyond`. It knows one optimizer and hides no all-reduce, whatever `s` says. Pure
 * but for what `who` keeps.
 *
 * @return LM_E_NOTFOUND for several workers without a link, or what binding the network returns
 */
lm_status paleo_predict(paleo_predictor *who, const step_setup *s, prediction *out, lm_error *err);

/**
 * The same step's seconds on one device by what bounds them, arithmetic and traffic: of the passes
 * of a micro-step and of the update, added to `passes` and `update`. What binding returns.
 */
lm_status paleo_bounds(paleo_predictor *who, int64_t batch, double passes[N_TERM_BOUNDS],
                       double update[N_TERM_BOUNDS], lm_error *err);

#endif
