/** The timeline of one step's gradients: what the backward pass hides of their all-reduce. */
#ifndef PREDICT_OVERLAP_H
#define PREDICT_OVERLAP_H

#include "fit/overlapped.h"
#include "predict/price.h"

/**
 * Buckets of a step, in the order in which they travel, with their times. Times are seconds after
 * the backward pass of the last micro-step began.
 *
 * @param out to be freed by overlap_free()
 * @return LM_E_UNSUPPORTED where nothing is known of it: PALEO, models that do not tell the
 *         all-reduce from the update, machines of which only whole steps were measured; else as
 *         predict_step()
 */
lm_status overlap_of(const predictor *who, const step_setup *s, overlap **out, lm_error *err);
void      overlap_free(overlap *o);

#endif
