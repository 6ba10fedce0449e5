/** Learned models of single layers (models/layerwise.h) as step models: layers are added up. */
#ifndef MODELS_LEARNED_H
#define MODELS_LEARNED_H

#include "models/layerwise_model.h"
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

#endif
