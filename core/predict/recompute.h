/** Recomputation: forward passes are repeated in the backward pass, to keep fewer activations. */
#ifndef PREDICT_RECOMPUTE_H
#define PREDICT_RECOMPUTE_H

#include "models/step_model.h"
#include "network/bind.h"

/**
 * Share of the forward pass that recomputation repeats, for step_setup.again. It is the seconds of
 * the layers in these segments over those of all layers, by the predictor's model at s->batch on
 * one device.
 *
 * @param segments as for timeline_make()
 * @return errors of timeline_make() and explain_step()
 */
lm_status recompute_share(const predictor *who, const step_setup *s, const char *segments,
                          double *out, lm_error *err);

#endif
