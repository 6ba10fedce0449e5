/** A step by a learned model of single layers, as a prediction. */
#ifndef PREDICT_LAYERWISE_STEP_H
#define PREDICT_LAYERWISE_STEP_H

#include "baselines/layerwise_network.h"
#include "predict/explain.h"
#include "predict/price.h"

/** What was asked of it, and what it said. */
typedef struct layerwise_asked {
    int64_t       batch; /**< 0: nothing was asked yet */
    optimizer     optimizer;
    layerwise_sum sum;
    double       *backward; /**< s, of each layer of the network; 0: it has none, or is not known */
    /** Buckets that were made of it last, and by whose all-reduces; NULL: none yet. */
    struct overlap_plan *plan;
    const calibration   *by;
} layerwise_asked;

/** What a predictor has beside its machine file. */
typedef struct layerwise_predictor {
    layerwise_model *model;     /**< owned */
    device_list     *list;      /**< owns `on`; NULL: none was opened */
    const device    *on;        /**< NULL: unknown */
    const char      *optimizer; /**< any word, in place of the setup's; NULL: the setup's */
    layerwise_asked  asked[2];  /**< the last two: a search for a turning point goes between two */
    size_t           next;
} layerwise_predictor;

/** All it owns, and itself; calloc'ed. */
void layerwise_predictor_free(layerwise_predictor *p);

/**
 * Predicts one step: layers are added up, all-reduces are those of the machine file, or over the
 * link that is told, in one message or behind the backward pass, whose gradients are ready when
 * its layers are done. Where only whole steps were learned, its parts are NAN. What layers take is
 * assumed, as they were learned by themselves; layers that the model does not know stand in
 * `beyond`, and by how much a layer leaves what was learned from. Pure but for what who->layerwise
 * keeps.
 *
 * @param buckets as of predict_timeline(); NULL: nobody wants them
 * @return LM_E_NOTFOUND where it knows none of the layers, or no update of any, for an all-reduce
 *         that was not measured, and as layerwise_predict(); LM_E_UNSUPPORTED for messages beside
 *         a backward pass that was not learned by itself; what binding returns
 */
lm_status layerwise_predict_step(const predictor *who, const step_setup *s, prediction *out,
                                 overlap *buckets, lm_error *err);

/** Does it know passes of its network by themselves, and so when gradients are ready? False, too,
 * where it says nothing of the network's steps. */
bool layerwise_tells_gradients(const predictor *who);

/** Did it learn power beside time? */
bool layerwise_tells_power(const predictor *who);

/** Steps in which the device's own work takes the lower and the upper bound of its time, and
 * all-reduces what is predicted; of such a step `p`. NAN: unknown. What predicting it returns. */
lm_status layerwise_compute_bounds(const predictor *who, const step_setup *s, const prediction *p,
                                   double out[2], lm_error *err);

/** Takes e->step, which it predicted of `net`, apart into the layers that are named there; what
 * bounds these it does not know. As layerwise_predict_step(). */
lm_status layerwise_explain(const predictor *who, const step_setup *s, const bound_network *net,
                            explanation *e, lm_error *err);

#endif
