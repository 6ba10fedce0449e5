/** Whole networks of observations, composed of measured single layers of the same device. */
#ifndef FIT_COMPOSED_POINTS_H
#define FIT_COMPOSED_POINTS_H

#include "fit/split.h"
#include "observe/points.h"
#include "single/composed.h"

struct layer_model; /* single/model.h */

/**
 * Fits the factors to all networks that were measured as a whole. LM_E_NOTFOUND for a layer without
 * a price, LM_E_NOMEM ...
 */
lm_status composed_calibrate(const points *p, const struct layer_model *m, composed_set *out,
                             lm_error *err);

/**
 * Seconds of steps, and of forward passes in evaluation mode, for each network. The factors did not
 * see the network's fold; without folds they come from all networks; or they are `given` (NULL: not
 * given).
 *
 * @param seconds n_points x N_PHASES; unchanged for points that are no network, and for networks
 *                with a layer without a price
 */
lm_status composed_left_out(const points *p, const struct layer_model *m, const split *by,
                            const composed_set *given, double *seconds, lm_error *err);

/**
 * Watts of the same networks, by the power model (device/power.h) and the shares of a network's
 * time. It is fitted to the networks outside the fold, to both phases together.
 *
 * @param watts n_points x N_PHASES; unchanged if too few powers were measured
 */
lm_status composed_watts_left_out(const points *p, const struct layer_model *m, const split *by,
                                  double *watts, lm_error *err);

#endif
