/** PALEO's model (models/paleo.h) as a step model. */
#ifndef MODELS_PALEO_STEP_H
#define MODELS_PALEO_STEP_H

#include "models/step_model.h"

extern const step_model paleo_model;

/** A predictor by a platform whose peaks are known. LM_E_NOMEM. */
lm_status paleo_open_with(predictor *who, const paleo_platform *platform, lm_error *err);
/** Fraction of the datasheet's peaks at which an open predictor computes. */
double paleo_share(const predictor *who);

#endif
