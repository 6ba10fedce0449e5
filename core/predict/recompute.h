/** Forward passes run again in the backward pass, to keep fewer activations. */
#ifndef PREDICT_RECOMPUTE_H
#define PREDICT_RECOMPUTE_H

#include "models/step_model.h"
#include "network/bind.h"

/**
 * Share of a forward pass that recomputation runs again, for step_setup.again: seconds of the layers of
 * these segments over those of all layers, by the predictor's model at s->batch on one device.
 *
 * @param segments as timeline_make() takes them
 * @return what that and explain_step() return
 */
lm_status recompute_share(const predictor *who, const step_setup *s, const char *segments,
                          double *out, lm_error *err);

#endif
