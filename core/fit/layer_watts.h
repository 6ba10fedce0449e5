/**
 * Power of single layers: from the bounds of their time (device/power.h) plus a learned residual.
 * Regression trees learn log(measured / modelled) from the shares of the time, the counts and the
 * kinds of kernels of a layer. The result never exceeds the board's power limit.
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
 * Watts of each phase of each single layer with a measured power, by prices, power model and trees
 * that did not see the point's fold; without folds by those of all points.
 *
 * @param learned use trees, if the build can grow them and there are LAYER_WATTS_ROWS
 * @param watts   n_points x N_PHASES; unchanged where no prediction is possible
 */
lm_status layer_watts_left_out(const points *p, const split *by, bool learned, double *watts,
                               lm_error *err);

struct layer_model; /* single/model.h */
struct layer_run;   /* counts/layer_class.h */

/** A power model that was learned from all layers of a device. */
typedef struct layer_watts {
    power_model base;      /**< its powers and the power limit */
    double      low, high; /**< limits of the logarithm that the trees predict */
    trees      *grown;     /**< NULL: none */
} layer_watts;

#define LAYER_WATTS_FEATURES (30 + N_WORK_KINDS)

/** Name in `validate` ("machine.power") and in machine files (section [learned.power]). */
#define LAYER_WATTS_NAME "power"

/** Learns from all layers with a power, with the prices of `m`. *out NULL: too few layers. */
lm_status layer_watts_fit(const points *p, const struct layer_model *m, layer_watts **out,
                          lm_error *err);
void      layer_watts_free(layer_watts *w);

extern const kept_kind layer_watts_kept;

/**
 * Watts of all measured phases of single layers, from the learned part of a machine file; without
 * one `watts` is unchanged. LM_E_NOMEM.
 */
lm_status layer_watts_by_machine(const points *p, const calibration *cal, double *watts,
                                 lm_error *err);

/** Fewest powers for trees. */
#define LAYER_WATTS_ROWS 100

/**
 * The board's power limit, estimated from powers: their 99th percentile if at least a twentieth of
 * them lie within 2 % of the largest; else NAN. LM_E_NOMEM.
 */
lm_status watts_limit(const double *watts, size_t n, double *out, lm_error *err);

#endif
