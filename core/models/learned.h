/** Learned models of single layers (layerwise/layerwise.h) as step models: layers are added up. */
#ifndef MODELS_LEARNED_H
#define MODELS_LEARNED_H

#include "layerwise/layerwise_network.h"
#include "models/step_model.h"

extern const step_model learned_model;

/** The model of a predictor by learned_model. */
const layerwise_model *learned_model_of(const predictor *who);
/** The datasheet that it goes by; NULL: none. */
const device *learned_device_of(const predictor *who);

/** For tests: a predictor by a model that is there already, which it owns from now on. `update`:
 * any word for an optimizer; NULL: the setup's. LM_E_NOMEM. */
lm_status learned_open_with(predictor *who, layerwise_model *m, const char *update, lm_error *err);

/**
 * The datasheet of a device: `name`, which must have one; NULL: what `told` says, if that has one.
 *
 * @param own  file of datasheets, looked at before the shipped ones; NULL: none
 * @param list opened when first asked, to be freed
 * @param out  NULL: not known
 */
lm_status learned_device(const char *name, const char *told, const char *own, device_list **list,
                         const device **out, lm_error *err);

/* ---- what learned_explain.c takes apart ---- */

/** The optimizer of an update, by any word. */
const char *learned_optimizer(const predictor *who, const step_setup *s);
/** layerwise_sum_each() as a step is told: LM_E_NOTFOUND where the whole is not. */
lm_status learned_sum(const predictor *who, const step_setup *s, const bound_network *net,
                      layerwise_see *see, void *context, layerwise_sum *out, lm_error *err);
/** The layer that a case stands under: attention, else its first one with weights, else its first. */
size_t learned_layer_of(const layerwise_case *c, const bound_network *net);
/** Parts of learned_model. */
lm_status learned_exchange(const predictor *who, const step_setup *s, const net_metrics *counts,
                           exchange_price *out, lm_error *err);
lm_status learned_explain(const predictor *who, const step_setup *s, explanation *e, lm_error *err);
lm_status learned_decide(const predictor *who, const step_setup *s, const char *layer,
                         void (*take)(void *context, const struct decision *d), void *context,
                         lm_error *err);

#endif
