/** Models that are linear in counts or terms of a network: forms (fit/forms.h) of a machine file.
 */
#ifndef MODELS_LINEAR_H
#define MODELS_LINEAR_H

#include "models/step_model.h"

extern const step_model linear_model;
/** Networks as sums of the prices of their layers, or of their kernels: the default model, where
 * nothing else was measured, or where sums of layers were corrected by networks
 * (single/composed.h). */
extern const step_model layers_model;

/** Steps of a network that was measured on several numbers of ranks, and by nothing else
 * (fabric/job_curve.h). */
extern const step_model job_curve_model;

/** Is that all the machine file knows of the predictor's network? */
bool job_curve_applies(const predictor *who);

/** Does the machine file know its networks only by single layers or kernels? */
bool layers_model_applies(const calibration *cal, const char *name);

/** The times whose formulas add up to a program, on one rank or on several, into `out`; how many.
 * Of inference it is PHASE_FORWARD where nothing was measured in evaluation mode; of networks of
 * which only whole steps were measured PHASE_STEP, on several ranks with PHASE_SYNC. */
size_t linear_parts(const predictor *who, program_kind program, bool many, phase out[4]);

/** Error for a time without a formula: LM_E_NOTFOUND, with what to measure. */
lm_status linear_missing(const predictor *who, phase which, lm_error *err);

/** Certainty of a share, unless this very step was measured. */
certainty fabric_certainty(const predictor *who, const collective_share *s);

/** LM_E_UNSUPPORTED for a network without parameters. */
lm_status linear_trains(const predictor *who, const net_metrics *counts, lm_error *err);

/** Seconds of what an update takes beside its map (optimizer_products()), at the prices of a forward
 * pass, or of a whole step where none was measured by itself: assumed, into `g`. 0: nothing. */
lm_status linear_products(const predictor *who, const step_setup *s, double *seconds, grounds *g,
                          lm_error *err);

/** Exchange and buckets by the model's own formulas, as in step_model. */
lm_status linear_exchange(const predictor *who, const step_setup *s, const net_metrics *counts,
                          exchange_price *out, lm_error *err);
lm_status linear_buckets(const predictor *who, const step_setup *s,
                         const gradient_schedule *gradients, priced_program **out, lm_error *err);
/** Does the machine file tell inference of 16 bits by that under autocast (predictor.weights)? */
bool linear_tells_halves(const predictor *who);
/** calibration_contributions(), at linear_coefficient(). */
size_t linear_contributions(const predictor *who, phase which, size_t form_at, const workload *load,
                            contribution *room);
/** Seconds of a unit, of a contribution by terms: the fitted coefficient, and what 16 bits make of it. */
double linear_coefficient(const predictor *who, phase which, const contribution *c);
/** Certainty of a contribution to a time, including step_measured(). */
certainty linear_certainty(const predictor *who, unsigned measured, phase which,
                           const contribution *c);
lm_status linear_explain(const predictor *who, const step_setup *s, explanation *e, lm_error *err);
/** Adds what a pass or an update takes longer where other ranks of its host do the same. */
void linear_share_host(const predictor *who, const step_setup *s, phase which, unsigned measured,
                       double *seconds, grounds *g);

/**
 * Times that were measured at this very step, 1 << phase each: of this network, input and batch,
 * all-reduces also on as many ranks. 0: none.
 */
unsigned step_measured(const predictor *who, const step_setup *s);
/** May steps of the network have been measured? With which input. */
bool step_measurable(const predictor *who, const char **input);
/** Are gradients sent as all-reduces of whole steps are measured: in one message, uncast? */
bool step_measured_as_sent(const step_setup *s);

#endif
