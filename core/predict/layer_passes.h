/** What each layer takes of a training step's passes. */
#ifndef PREDICT_LAYER_PASSES_H
#define PREDICT_LAYER_PASSES_H

#include "models/step_model.h"

/**
 * Seconds of each layer's kernels in a pass of s->batch, as explain_step() has them: the passes' own
 * constants are no layer's. A model that does not tell gradients of inputs from those of weights has
 * them divided by their FLOPs, one that tells no layers all of it.
 *
 * @param who   of the part of the network that one rank has
 * @param bound that part at s->batch
 * @param out   malloc'ed, one for each of its layers
 */
lm_status layer_passes_of(const predictor *who, const step_setup *s, const bound_network *bound,
                          layer_passes **out, lm_error *err);

#endif
