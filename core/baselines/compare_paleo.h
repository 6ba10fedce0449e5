/** PALEO's model beside others: its predictions of points that were left out. */
#ifndef BASELINES_COMPARE_PALEO_H
#define BASELINES_COMPARE_PALEO_H

#include "baselines/paleo_points.h"
#include "fit/comparison.h"

/**
 * As compare_points(), by paleo_predict_points(): percents of peak are fitted to the other folds.
 * It states no interval.
 */
lm_status compare_paleo(const points *p, const split *by, const registry *reg, const device *of,
                        comparison *out, lm_error *err);

#endif
