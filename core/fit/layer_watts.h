/**
 * Powers of single layers: by what their time goes to (energy/power.h), and what that leaves over,
 * learned: regression trees of log(measured / modelled), on the shares of the time, the counts and
 * the kinds of kernels of a layer, and never above the board's limit.
 */
#ifndef FIT_LAYER_WATTS_H
#define FIT_LAYER_WATTS_H

#include "fit/split.h"
#include "observe/points.h"

/**
 * Watts of every phase of every single layer that was measured with its power, by prices, power
 * model and trees that did not see the point's fold; without folds by those of all.
 *
 * @param learned with trees, where the build can grow them and there are LAYER_WATTS_ROWS
 * @param watts   n_points x N_PHASES; left as it is where nothing can be said
 */
lm_status layer_watts_left_out(const points *p, const split *by, bool learned, double *watts,
                               lm_error *err);

/** Fewest powers that trees are grown on. */
#define LAYER_WATTS_ROWS 100

/** The board's limit as powers show it: where a twentieth or more are within 2 % of the largest
 * (their 99th percentile); NAN: they do not. LM_E_NOMEM. */
lm_status watts_limit(const double *watts, size_t n, double *out, lm_error *err);

#endif
