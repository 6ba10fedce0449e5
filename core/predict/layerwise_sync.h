/** The all-reduces of a step by a learned model of single layers, which knows layers alone: they
 * are those of the default model. */
#ifndef PREDICT_LAYERWISE_SYNC_H
#define PREDICT_LAYERWISE_SYNC_H

#include "predict/bounds.h"
#include "predict/layerwise_step.h"

/** All gradients in one message behind the backward pass: p's all-reduce with its bounds, ledger
 * and what leaves the range; on one rank none. LM_E_NOTFOUND where it was not measured. */
lm_status layerwise_sync(const predictor *who, const step_setup *s, prediction *p, lm_error *err);

/** Forward and backward passes and what a setup makes of them, for bounds. The plan stays `a`'s. */
lm_status layerwise_question(const predictor *who, const step_setup *s, layerwise_asked *a,
                             overlap_question *out, lm_error *err);

/** The step's all-reduces in buckets, as `s` has them; buckets of one step are to be freed by
 * overlap_clear(). */
lm_status layerwise_buckets(const predictor *who, const step_setup *s, layerwise_asked *a,
                            overlap *out, lm_error *err);

/**
 * Hides them behind the backward pass: p has the passes, and the all-reduces in one message; of
 * the bounds those of the parts.
 */
lm_status layerwise_hide(const predictor *who, const step_setup *s, layerwise_asked *a,
                         double update, prediction *p, lm_error *err);

#endif
