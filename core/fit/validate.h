/** How good each model is on observations: on those it was fitted to, and on networks left out. */
#ifndef FIT_VALIDATE_H
#define FIT_VALIDATE_H

#include "base/stats.h"
#include "fit/fit.h"

/** What is compared: parts of a step, and the whole. */
typedef enum quantity {
    QUANTITY_FORWARD,
    QUANTITY_BACKWARD,
    QUANTITY_GRAD,          /**< synchronisation and update */
    QUANTITY_BACKWARD_GRAD, /**< backward and grad; the joint fit where a model has one and N > 1 */
    QUANTITY_STEP,          /**< forward, backward and grad */
    N_QUANTITIES
} quantity;

const char *quantity_name(quantity q);

/** Predicted and measured seconds at one point; NAN: not measured, or not predicted by this model.
 */
typedef struct comparison {
    double predicted[N_QUANTITIES], measured[N_QUANTITIES];
} comparison;

/** Where the coefficients come from. */
typedef enum {
    VALIDATE_LEFT_OUT, /**< each network is predicted by fits to all others */
    VALIDATE_FITTED,   /**< by fits to all points */
    VALIDATE_GIVEN     /**< by a calibration made elsewhere */
} validate_mode;

/** Compares one model with every point (out: n_points of them). `cal`: for VALIDATE_GIVEN, else
 * NULL. */
lm_status validate_model(const points *p, const char *model, validate_mode mode,
                         const calibration *cal, comparison *out, lm_error *err);

/** Errors over the points of one group (NAMES_NONE: of all). */
stats_errors validate_errors(const points *p, const comparison *c, quantity q, size_t group);

#endif
