/**
 * Models that are linear in counts or terms of a network: the forms (fit/forms.h) of a machine
 * file.
 */
#ifndef MODELS_LINEAR_H
#define MODELS_LINEAR_H

#include "models/step_model.h"

extern const step_model linear_model;
/**
 * Networks as sums of the prices of their layers or kernels. The default model uses this if nothing
 * else was measured, or if sums of layers were corrected by networks (single/composed.h).
 */
extern const step_model layers_model;

/**
 * Steps of a network that was measured only as whole steps, on several numbers of ranks
 * (fabric/job_curve.h).
 */
extern const step_model job_curve_model;

/** Does the machine file have only such steps for the predictor's network? */
bool job_curve_applies(const predictor *who);

/** Does the machine file have only single layers or kernels for its networks? */
bool layers_model_applies(const calibration *cal, const char *name);

/**
 * Writes the times whose formulas add up to a program, on one rank or on several, to `out`; returns
 * their number. Inference uses PHASE_FORWARD if nothing was measured in evaluation mode. Networks
 * with only whole measured steps use PHASE_STEP, on several ranks with PHASE_SYNC.
 */
size_t linear_parts(const predictor *who, program_kind program, bool many, phase out[4]);

/** The error for a time without a formula: LM_E_NOTFOUND; the text says what to measure. */
lm_status linear_missing(const predictor *who, phase which, lm_error *err);

/** Certainty of a share, if this same step was not measured. */
certainty fabric_certainty(const predictor *who, const collective_share *s);

/** LM_E_UNSUPPORTED for a network without parameters. */
lm_status linear_trains(const predictor *who, const net_metrics *counts, lm_error *err);

/**
 * Seconds of an update's products, in addition to its map (optimizer_products()). They have the
 * prices of a forward pass, or of a whole step if no pass was measured separately. This is assumed,
 * and added to `g`. 0: no products.
 */
lm_status linear_products(const predictor *who, const step_setup *s, double *seconds, grounds *g,
                          lm_error *err);

/** Exchange and buckets by the model's own formulas, as in step_model. */
lm_status linear_exchange(const predictor *who, const step_setup *s, const net_metrics *counts,
                          exchange_price *out, lm_error *err);
lm_status linear_buckets(const predictor *who, const step_setup *s,
                         const gradient_schedule *gradients, priced_program **out, lm_error *err);
/**
 * Does the machine file predict 16-bit inference from measurements under autocast
 * (predictor.weights)?
 */
bool linear_tells_halves(const predictor *who);
/** calibration_contributions(), with linear_coefficient(). */
size_t linear_contributions(const predictor *who, phase which, size_t form_at, const workload *load,
                            contribution *room);
/**
 * Seconds per unit of a term's contribution: the fitted coefficient, times the factor for 16 bits.
 */
double linear_coefficient(const predictor *who, phase which, const contribution *c);
/** Certainty of a contribution to a time, with regard to step_measured(). */
certainty linear_certainty(const predictor *who, unsigned measured, phase which,
                           const contribution *c);
lm_status linear_explain(const predictor *who, const step_setup *s, explanation *e, lm_error *err);
/** Adds the slowdown of a pass or an update by other ranks of the same host. */
void linear_share_host(const predictor *who, const step_setup *s, phase which, unsigned measured,
                       double *seconds, grounds *g);

/**
 * The times that were measured for this same step, as bits 1 << phase: the same network, input and
 * batch, and for all-reduces as many ranks. 0: none.
 */
unsigned step_measured(const predictor *who, const step_setup *s);
/** Can steps of the network have been measured? Also returns their input. */
bool step_measurable(const predictor *who, const char **input);
/** Are gradients sent as in measured whole steps: in one message, without a cast? */
bool step_measured_as_sent(const step_setup *s);

#endif
