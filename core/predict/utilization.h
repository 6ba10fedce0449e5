/** Model FLOP utilization: the share of the devices' peak rate that a network's products use. */
#ifndef PREDICT_UTILIZATION_H
#define PREDICT_UTILIZATION_H

#include "models/step_model.h"

/**
 * Seconds that one device needs at its peak rate for the products of one sample. Counts exact FLOPs
 * of the forward pass, in training also of the backward pass, each once (Chowdhery et al. 2022,
 * PaLM, section 4.1: recomputation does not count, nor do the scores that fused attention computes
 * again). The peak is the datasheet's, for the element
 * type of products; with autocast that of autocast.
 *
 * @param from the device and datasheets that the user names; without a device that of the machine
 *             file
 * @param out  NAN: unknown device, no datasheet, or no such peak in it
 * @return errors of binding the network and of reading datasheets
 */
lm_status utilization_at_peak(const predictor *who, program_kind program, const model_source *from,
                              double *out, lm_error *err);

/**
 * FLOPs that recomputation and fused attention add to a training step, relative to those in
 * utilization_at_peak().
 * Hardware FLOP utilization is (1 + this ratio) times model FLOP utilization (the same section).
 *
 * @param segments as for timeline_make(); NULL: none, the result is 0
 */
lm_status utilization_again(const predictor *who, const char *segments, double *out, lm_error *err);

#endif
