/**
 * PALEO's model on observations: percents of peak are fitted to some points and predict the others.
 */
#ifndef MODELS_PALEO_POINTS_H
#define MODELS_PALEO_POINTS_H

#include "device/device.h"
#include "fit/comparison.h"
#include "models/paleo.h"

/**
 * Predicts each point with percents of peak (paleo_fit()) that were fitted to the points of the
 * other folds. One percent is for arithmetic and memory, from all measured forward, backward,
 * evaluation and step times. One is for the network between workers, from all-reduces; its
 * bandwidth need not be known.
 *
 * @param by      split of the same points; without folds (SPLIT_NONE) the fit uses all points
 * @param of      device of all points: peak of their element type, bandwidth
 * @param seconds per phase and point; NAN: no fit, a point without a fold, or a network of which
 *                only counts are known
 * @return LM_E_NOTFOUND if the datasheet lacks a figure; errors of opening and binding a network
 */
lm_status paleo_predict_points(const points *p, const split *by, const registry *reg,
                               const device *of, paleo_scheme scheme, double (*seconds)[N_PHASES],
                               lm_error *err);

/** compare_points() with paleo_predict_points(). There is no interval. */
lm_status compare_paleo(const points *p, const split *by, const registry *reg, const device *of,
                        comparison *out, lm_error *err);

#endif
