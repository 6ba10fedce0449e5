/**
 * Powers of single layers: by what their time goes to (device/power.h), and what that leaves over,
 * learned: regression trees of log(measured / modelled), on the shares of the time, the counts and
 * the kinds of kernels of a layer, and never above the board's limit.
 */
#ifndef FIT_LAYER_WATTS_H
#define FIT_LAYER_WATTS_H

#include "counts/shape.h"
#include "device/power.h"
#include "fit/calibration.h"
#include "fit/split.h"
#include "learn/trees.h"
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

struct layer_model; /* single/model.h */
struct layer_run;   /* counts/layer_class.h */

/** A model of powers, learned of all layers of a device. */
typedef struct layer_watts {
    power_model base;      /**< its powers and the limit */
    double      low, high; /**< what the logarithm of the trees is held between */
    trees      *grown;     /**< NULL: none */
} layer_watts;

#define LAYER_WATTS_FEATURES (30 + N_WORK_KINDS)

/** Name in `validate` ("machine.power") and in machine files (section [learned.power]). */
#define LAYER_WATTS_NAME "power"

/** Learns from all layers with a power, at the prices of `m`. *out NULL: there are too few. */
lm_status layer_watts_fit(const points *p, const struct layer_model *m, layer_watts **out,
                          lm_error *err);
void      layer_watts_free(layer_watts *w);

extern const kept_kind layer_watts_kept;

/** Watts of all measured phases of single layers, where a machine file has learned them; else
 * `watts` stays as it is. LM_E_NOMEM. */
lm_status layer_watts_by_machine(const points *p, const calibration *cal, double *watts,
                                 lm_error *err);

/** Fewest powers that trees are grown on. */
#define LAYER_WATTS_ROWS 100

/** The board's limit as powers show it: where a twentieth or more are within 2 % of the largest
 * (their 99th percentile); NAN: they do not. LM_E_NOMEM. */
lm_status watts_limit(const double *watts, size_t n, double *out, lm_error *err);

#endif
