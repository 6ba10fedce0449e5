/** A step under a layout: the ranks share the network and its batch. */
#ifndef PREDICT_LAID_OUT_H
#define PREDICT_LAID_OUT_H

#include "predict/predict.h"

/** The layout of a step, settled by layout_settle() for the predictor's network and all ranks. */
lm_status layout_of_step(const predictor *who, const step_setup *s, layout *out, lm_error *err);

/**
 * predict_step() for a step with a layout. A rank's compute is priced as a network with its part of
 * the layers. prediction.sync holds all messages between ranks; prediction.forward and .backward
 * include the time that kernels wait for messages.
 *
 * @param messages NULL, or as for predict_timeline()
 * @return LM_E_ARG for a layout that does not fit; LM_E_UNSUPPORTED for a dimension without a
 *         price; errors of predict_step()
 */
lm_status predict_laid_out(const predictor *who, const step_setup *s, prediction *out,
                           step_times *messages, lm_error *err);

/**
 * Bounds of the passes and the update of one micro-batch, `at` seconds each, where `part->cal` has
 * intervals `known`: these, or, of a machine file that was carried over and knows no step under a
 * layout, what such files are off. Sets those of PHASE_FORWARD, PHASE_BACKWARD and PHASE_UPDATE.
 */
void laid_pass_bounds(const predictor *part, const intervals *known, const double at[N_TIMES],
                      const interval_place *place, double low[N_TIMES], double high[N_TIMES]);

/** Refuses layouts that split matrices, of which Muon's update needs whole ones. LM_E_UNSUPPORTED. */
lm_status laid_check_whole(const layout *l, lm_error *err);

/**
 * The tasks of the pipeline in predict_laid_out(). A task includes the time that its passes wait
 * for messages.
 *
 * @return as predict_laid_out(); LM_E_ARG without a pipeline; errors of `take`
 */
lm_status predict_stage_tasks(const predictor *who, const step_setup *s, pipeline_take take,
                              void *by, lm_error *err);

#endif
