/** Time of each layer in the passes of a training step. */
#ifndef PREDICT_LAYER_PASSES_H
#define PREDICT_LAYER_PASSES_H

#include "models/step_model.h"

/**
 * Seconds of each layer's kernels in a pass of s->batch, as in explain_step(). The constants of a
 * pass belong to no layer. If a model does not separate the gradients of inputs and of weights,
 * their FLOPs divide the time. If a model knows no layers, FLOPs divide all of it.
 *
 * @param who   predictor of the part of the network that one rank has
 * @param bound that part, bound at s->batch
 * @param out   malloc'ed, one entry per layer
 */
lm_status layer_passes_of(const predictor *who, const step_setup *s, const bound_network *bound,
                          layer_passes **out, lm_error *err);

#endif
