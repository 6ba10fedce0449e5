/** Learned models of single layers on observations: fits, cross-validation, networks. */
#ifndef LAYERWISE_POINTS_H
#define LAYERWISE_POINTS_H

#include "fit/comparison.h"
#include "layerwise/layerwise_model.h"
#include "observe/workloads.h"

/** Observations of one device. */
typedef struct layerwise_source {
    const observations *obs; /**< source of `p` */
    const points       *p;
    const device       *on; /**< device with a datasheet; NULL: unknown */
    /** rows at all clocks, for models that know clocks; NULL: `p` has them */
    const points *clocks;
    /**
     * Rows at a clock outside this model's range are predicted at its nearest clock; NULL: they are
     * not.
     */
    const layerwise_model *taught;
} layerwise_source;

/**
 * Collects single layers of all sources by task. `from` of a row is point x N_PHASES + phase, with
 * the points of all sources numbered consecutively.
 *
 * @return errors of binding a layer, with file and line; LM_E_ARG, LM_E_NOMEM
 */
lm_status layerwise_gather(const layerwise_kind *kind, const layerwise_source *from, size_t n,
                           layerwise_data *out, lm_error *err);

/**
 * compare_points() for such a model: points of single layers, by fits that did not see their fold.
 * LM_E_ARG without such points.
 *
 * @param untold reason why no point has a prediction; else as before. NULL: not wanted
 */
lm_status compare_layerwise(const layerwise_kind *kind, const double *setting,
                            const layerwise_source *from, const split *by, comparison *out,
                            lm_error *untold, lm_error *err);

/**
 * Explains why rows of the lowest and the highest clock have no prediction, if these were left out.
 */
void layerwise_say_clocks(const layerwise_kind *kind, const points *p, const comparison *at,
                          lm_error *untold);

/**
 * The same for several devices, each of which is a fold: its single layers are predicted from the
 * layers of all other devices and the datasheets.
 *
 * @param from measurements on each device
 * @param all  the points of all devices in this order
 * @return LM_E_ARG, LM_E_NOTFOUND also if a datasheet lacks a figure
 */
lm_status compare_layerwise_devices(const layerwise_kind *kind, const double *setting,
                                    const layerwise_source *from, size_t n, const points *all,
                                    const split *by, comparison *out, lm_error *err);

/**
 * The same by a given model, which also predicts whole networks as sums of their layers. Rows at a
 * clock that it did not learn are predicted at the nearest clock and converted by the power model.
 *
 * @param cal    prices of layers that the model does not know, and the power model
 * @param untold reason why the first network has no prediction; LM_OK: all have one. NULL: not
 *               wanted
 */
lm_status compare_by_layerwise(const layerwise_model *m, const layerwise_source *from,
                               const calibration *cal, comparison *out, lm_error *untold,
                               lm_error *err);

#endif
