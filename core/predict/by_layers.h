/** Steps of networks of which nothing was measured but single layers (single/whole.h). */
#ifndef PREDICT_BY_LAYERS_H
#define PREDICT_BY_LAYERS_H

#include "predict/price.h"
#include "single/whole.h"

/** Has its machine prices of single layers, and no coefficients of whole networks? Only the default
 * model knows them. */
bool predict_by_layers(const predictor *who);

/** Are its networks composed of these, corrected by networks (single/composed.h)? */
bool predict_composed(const predictor *who);

/**
 * Passes of one micro-step, and the update.
 *
 * @return LM_E_NOTFOUND where a layer, the backward pass or the optimizer has no price; the text
 *         names it and the machine
 */
lm_status by_layers_seconds(const predictor *who, int64_t batch, optimizer o, whole_seconds *out,
                            lm_error *err);

#endif
