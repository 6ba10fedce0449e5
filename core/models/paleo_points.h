/** PALEO's model on observations: percents of peak from some points, times of the others. */
#ifndef MODELS_PALEO_POINTS_H
#define MODELS_PALEO_POINTS_H

#include "device/device.h"
#include "fit/comparison.h"
#include "models/paleo.h"

/**
 * Predicts every point by percents of peak (paleo_fit()) that were fitted to the points of the
 * other folds: one for arithmetic and memory, from all that was measured of forward, backward,
 * evaluation and whole steps; one for the network between workers, from all-reduces, whose
 * bandwidth need not be known for that.
 *
 * @param by      of the same points; without folds (SPLIT_NONE) the fit is to all of them
 * @param of      device that all points were measured on: peak of their element type, bandwidth
 * @param seconds of each phase at each point; NAN: no fit, a point of no fold, a network of which
 * only counts are known
 * @return LM_E_NOTFOUND if the datasheet lacks a figure, or what opening and binding a network
 * returns
 */
lm_status paleo_predict_points(const points *p, const split *by, const registry *reg,
                               const device *of, paleo_scheme scheme, double (*seconds)[N_PHASES],
                               lm_error *err);

/**
 * As compare_points(), by paleo_predict_points(): percents of peak are fitted to the other folds.
 * It states no interval.
 */
lm_status compare_paleo(const points *p, const split *by, const registry *reg, const device *of,
                        comparison *out, lm_error *err);

#endif
