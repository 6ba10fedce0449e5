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
    QUANTITY_STEP,          /**< forward, backward and grad; as a whole where they are not known */
    QUANTITY_INFERENCE,
    N_QUANTITIES
} quantity;

const char *quantity_name(quantity q);

/** Predicted and measured seconds at one point; NAN: not measured, or not predicted by this model.
 */
typedef struct comparison {
    double predicted[N_QUANTITIES], measured[N_QUANTITIES];
} comparison;

/**
 * Compares one model with every point (out: n_points of them). Each point is predicted by fits that
 * did not see its fold, as form_data_predict() has it.
 *
 * @param by  split of the points
 * @param cal coefficients made elsewhere, which predict all points whatever their fold; NULL: none
 */
lm_status validate_model(const points *p, const char *model, const split *by,
                         const calibration *cal, comparison *out, lm_error *err);

/** Errors over the points of one fold (SPLIT_ALWAYS: of all points, those of no fold too). */
stats_errors validate_errors(const points *p, const comparison *c, quantity q, const split *by,
                             size_t fold);

#endif
