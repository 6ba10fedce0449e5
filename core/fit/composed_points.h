/** Whole networks of observations, composed of what single layers of the same device take. */
#ifndef FIT_COMPOSED_POINTS_H
#define FIT_COMPOSED_POINTS_H

#include "fit/split.h"
#include "observe/points.h"
#include "single/composed.h"

struct layer_model; /* single/model.h */

/** Factors from all networks that were measured as a whole. LM_E_NOTFOUND for a layer without a
 * price, LM_E_NOMEM ... */
lm_status composed_calibrate(const points *p, const struct layer_model *m, composed_set *out,
                             lm_error *err);

/**
 * Seconds of steps and of forward passes in evaluation mode of every network, by factors that did
 * not see its fold, without folds by those of all; or by those `given` (NULL: none are).
 *
 * @param seconds n_points x N_PHASES; left as it is of what is no network, and of networks with a
 *                layer that has no price
 */
lm_status composed_left_out(const points *p, const struct layer_model *m, const split *by,
                            const composed_set *given, double *seconds, lm_error *err);

/**
 * Watts of the same, by the power model (device/power.h) of what a network's time goes to, fitted
 * to the networks that its fold leaves in, of both phases together.
 *
 * @param watts n_points x N_PHASES; left as it is where too few powers were measured
 */
lm_status composed_watts_left_out(const points *p, const struct layer_model *m, const split *by,
                                  double *watts, lm_error *err);

#endif
