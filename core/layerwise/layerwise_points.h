/** Learned models of single layers on observations: fits, left-out rows, networks. */
#ifndef LAYERWISE_POINTS_H
#define LAYERWISE_POINTS_H

#include "fit/comparison.h"
#include "layerwise/layerwise_model.h"
#include "observe/workloads.h"

/** Observations of one device. */
typedef struct layerwise_source {
    const observations *obs; /**< whose `p` is */
    const points       *p;
    const device       *on;     /**< by its datasheet; NULL: unknown */
    const points       *clocks; /**< rows at every clock, for models that know clocks; NULL: `p`
                                     has them */
    /** A row at a clock that this was not taught is asked at the nearest one; NULL: it is not. */
    const layerwise_model *taught;
} layerwise_source;

/**
 * Single layers of all sources by task. `from` of a row is its phase and point, the points of all
 * sources counted through: point x N_PHASES + phase.
 *
 * @return what binding a layer returns, with file and line; LM_E_ARG, LM_E_NOMEM
 */
lm_status layerwise_gather(const layerwise_kind *kind, const layerwise_source *from, size_t n,
                           layerwise_data *out, lm_error *err);

/** Compares as compare_points() does: points of single layers by fits that did not see their fold.
 * LM_E_ARG where there are none. */
lm_status compare_layerwise(const layerwise_kind *kind, const double *setting,
                            const layerwise_source *from, const split *by, comparison *out,
                            lm_error *err);

/** Says why rows of the lowest and the highest clock are not told, where these were left out. */
void layerwise_say_clocks(const layerwise_kind *kind, const points *p, const comparison *at,
                          lm_error *untold);

/**
 * The same of several devices, each of which is a fold: single layers of each by a fit to the
 * layers of all others and what the datasheets say.
 *
 * @param from what was measured on each
 * @param all  the points of all of them, one behind the other
 * @return LM_E_ARG, LM_E_NOTFOUND also where a datasheet lacks a figure
 */
lm_status compare_layerwise_devices(const layerwise_kind *kind, const double *setting,
                                    const layerwise_source *from, size_t n, const points *all,
                                    const split *by, comparison *out, lm_error *err);

/**
 * The same by a model made elsewhere, which tells whole networks, too, as sums of their layers. Rows
 * at a clock that it was not taught are told at the nearest one, and carried over by the power model.
 *
 * @param cal    prices of layers that the model does not know, and the power model
 * @param untold why a network is not told, the first of these: LM_OK: each is; NULL: not asked
 */
lm_status compare_by_layerwise(const layerwise_model *m, const layerwise_source *from,
                               const calibration *cal, comparison *out, lm_error *untold,
                               lm_error *err);

#endif
