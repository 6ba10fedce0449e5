/** Least squares over points: coefficients, and their errors in cross-validation over networks. */
#ifndef FIT_FIT_H
#define FIT_FIT_H

#include "fit/calibration.h"
#include "fit/form_data.h"

/**
 * Fits each form that has enough rows (others stay absent), and judges it by cross-validation over
 * networks.
 *
 * @return LM_E_ARG if no form could be fitted, or if the networks have several element types or
 *         settings (variants.h); the text names what is missing
 */
lm_status fit_all(const observations *obs, const points *p, calibration **out, lm_error *err);

/**
 * Fits only what one model needs for a step, all-reduces included. Forms with too few rows stay
 * absent. For predictions of cases that are not among the points.
 */
lm_status fit_model(const points *p, const char *model, calibration **out, lm_error *err);

/**
 * A calibration without a fit, for observations that contain nothing to fit: only the origin.
 * Prices come from other machines.
 */
lm_status fit_none(const observations *obs, const points *p, calibration **out, lm_error *err);

/**
 * Number of steps of networks without measured parts, in a file whose other networks have measured
 * parts: formulas are fitted to parts and do not use these steps. 0 if there are no others.
 */
size_t fit_steps_alone(const points *p);

#endif
