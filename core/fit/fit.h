/** Least squares over points: coefficients, and their errors on networks left out. */
#ifndef FIT_FIT_H
#define FIT_FIT_H

#include "fit/calibration.h"
#include "fit/form_data.h"

/**
 * Fits every form that has enough rows (others stay absent) and judges it on networks left out.
 *
 * @return LM_E_ARG if not a single form could be fitted, or if the networks are of several element
 *         types or settings (variants.h); the text says what is missing
 */
lm_status fit_all(const observations *obs, const points *p, calibration **out, lm_error *err);

/**
 * Fits what a step by one model needs, all-reduces among it, and nothing else: what has too few
 * rows stays absent. For predictions of what is not among the points.
 */
lm_status fit_model(const points *p, const char *model, calibration **out, lm_error *err);

/** Of observations that hold nothing to fit to: where they are from, for prices of other machines.
 */
lm_status fit_none(const observations *obs, const points *p, calibration **out, lm_error *err);

/** Steps of networks of which nothing else is known, beside others with their parts: formulas are
 * fitted to parts, and take none of them. 0 where there are no others. */
size_t fit_steps_alone(const points *p);

#endif
