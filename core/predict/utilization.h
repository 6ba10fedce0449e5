/** Model FLOP utilization: what share of the devices' peak the products of a network take. */
#ifndef PREDICT_UTILIZATION_H
#define PREDICT_UTILIZATION_H

#include "models/step_model.h"

/**
 * Seconds of one device at its peak for the products of one sample: exact FLOPs of the forward pass,
 * in training of the backward pass too, each counted once (Chowdhery et al. 2022, PaLM, section
 * 4.1: what is computed again does not count). The peak is the datasheet's, for the element type of
 * products: that of autocast where the machine file has it.
 *
 * @param from the device and its datasheets, as told; without a device the machine file's
 * @param out  NAN: no device is known, it has no datasheet, or the datasheet lacks that peak
 * @return what binding the network and reading datasheets return
 */
lm_status utilization_at_peak(const predictor *who, program_kind program, const model_source *from,
                              double *out, lm_error *err);

/**
 * FLOPs that recomputation adds to a training step, over those that utilization_at_peak() counts:
 * hardware FLOP utilization is 1 + that times model FLOP utilization (the same section).
 *
 * @param segments as timeline_make() takes them; NULL: none, which adds 0
 */
lm_status utilization_again(const predictor *who, const char *segments, double *out, lm_error *err);

#endif
