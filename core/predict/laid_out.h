/** A step whose ranks share the network and its batch by a layout. */
#ifndef PREDICT_LAID_OUT_H
#define PREDICT_LAID_OUT_H

#include "predict/predict.h"

/** The layout of a step as layout_settle() has it for the predictor's network and all ranks. */
lm_status layout_of_step(const predictor *who, const step_setup *s, layout *out, lm_error *err);

/**
 * predict_step() of a step that is laid out. What a rank computes is priced as a network with its part
 * of the layers; prediction.sync holds all that ranks exchange, prediction.forward and .backward what
 * their kernels wait for.
 *
 * @param messages NULL, or as predict_timeline()
 * @return LM_E_ARG for a layout that does not fit, LM_E_UNSUPPORTED for a dimension that has no price,
 *         what predict_step() returns
 */
lm_status predict_laid_out(const predictor *who, const step_setup *s, prediction *out,
                           step_times *messages, lm_error *err);

/**
 * The tasks of its pipeline, as predict_laid_out() has them: what passes wait for is part of them.
 *
 * @return as predict_laid_out(); LM_E_ARG where there is no pipeline; what `take` returns
 */
lm_status predict_stage_tasks(const predictor *who, const step_setup *s, pipeline_take take,
                              void *by, lm_error *err);

#endif
