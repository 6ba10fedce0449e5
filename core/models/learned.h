/**
 * Learned models of single layers (layerwise/layerwise.h) as a step model: it adds up the layers.
 */
#ifndef MODELS_LEARNED_H
#define MODELS_LEARNED_H

#include "layerwise/layerwise_network.h"
#include "models/step_model.h"

extern const step_model learned_model;

/** The learned model of a predictor that uses learned_model. */
const layerwise_model *learned_model_of(const predictor *who);
/** The datasheet that it uses; NULL: none. */
const device *learned_device_of(const predictor *who);

/**
 * For tests: opens a predictor with a given model and takes ownership of the model. `update`: any
 * word for an optimizer; NULL: that of the setup. LM_E_NOMEM.
 */
lm_status learned_open_with(predictor *who, layerwise_model *m, const char *update, lm_error *err);

/**
 * Finds the datasheet of a device.
 *
 * @param name must have a datasheet; NULL: `told` is used, if it has one
 * @param own  file of datasheets that is searched before the shipped ones; NULL: none
 * @param list opened on first use; the caller frees it
 * @param out  NULL: unknown
 */
lm_status learned_device(const char *name, const char *told, const char *own, device_list **list,
                         const device **out, lm_error *err);

/* ---- for learned_explain.c ---- */

/** The word for the optimizer of an update. */
const char *learned_optimizer(const predictor *who, const step_setup *s);
/** layerwise_sum_each() for a step. LM_E_NOTFOUND if the whole step cannot be predicted. */
lm_status learned_sum(const predictor *who, const step_setup *s, const bound_network *net,
                      layerwise_see *see, void *context, layerwise_sum *out, lm_error *err);
/**
 * The layer under which a case is listed: attention, else its first layer with weights, else its
 * first layer.
 */
size_t learned_layer_of(const layerwise_case *c, const bound_network *net);
/** Functions of learned_model. */
lm_status learned_exchange(const predictor *who, const step_setup *s, const net_metrics *counts,
                           exchange_price *out, lm_error *err);
lm_status learned_explain(const predictor *who, const step_setup *s, explanation *e, lm_error *err);
lm_status learned_decide(const predictor *who, const step_setup *s, const char *layer,
                         void (*take)(void *context, const struct decision *d), void *context,
                         lm_error *err);

#endif
