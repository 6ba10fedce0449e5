/** A step by a learned model of single layers, as a prediction. */
#ifndef PREDICT_LAYERWISE_STEP_H
#define PREDICT_LAYERWISE_STEP_H

#include "baselines/layerwise_network.h"
#include "predict/explain.h"
#include "predict/price.h"

/** What a predictor has beside its machine file. */
typedef struct layerwise_predictor {
    layerwise_model *model;     /**< owned */
    device_list     *list;      /**< owns `on`; NULL: none was opened */
    const device    *on;        /**< NULL: unknown */
    const char      *optimizer; /**< any word, in place of the setup's; NULL: the setup's */
    struct {
        int64_t       batch; /**< 0: nothing was asked yet */
        optimizer     optimizer;
        layerwise_sum sum;
    } asked[2]; /**< the last two: a search for a turning point goes between two */
    size_t next;
} layerwise_predictor;

/** All it owns, and itself; calloc'ed. */
void layerwise_predictor_free(layerwise_predictor *p);

/**
 * Predicts one step: layers are added up, all-reduces are those of the machine file, or over the
 * link that is told, one after the other. Where only whole steps were learned, its parts are NAN.
 * What layers take is assumed, as they were learned by themselves; layers that the model does not
 * know stand in `beyond`, and by how much a layer leaves what was learned from. Pure but for what
 * who->layerwise keeps.
 *
 * @return LM_E_NOTFOUND where it knows none of the layers, or no update of any, for an all-reduce
 *         that was not measured, and as layerwise_predict(); LM_E_UNSUPPORTED for messages behind
 *         the backward pass; what binding returns
 */
lm_status layerwise_predict_step(const predictor *who, const step_setup *s, prediction *out,
                                 lm_error *err);

/** Takes e->step, which it predicted of `net`, apart into the layers that are named there; what
 * bounds these it does not know. As layerwise_predict_step(). */
lm_status layerwise_explain(const predictor *who, const step_setup *s, const bound_network *net,
                            explanation *e, lm_error *err);

#endif
