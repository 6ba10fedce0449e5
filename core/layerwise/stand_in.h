/** Layers that a learned model does not know, by the default model's prices. */
#ifndef LAYERWISE_STAND_IN_H
#define LAYERWISE_STAND_IN_H

#include "fit/calibration.h"
#include "network/bind.h"
#include "single/model.h"

/** Who is asked. stand_ins_of() */
typedef struct stand_ins {
    const calibration *cal; /**< NULL: there are no prices */
    layer_asker        layers, kernels;
} stand_ins;

stand_ins stand_ins_of(const calibration *cal);
void      stand_ins_free(stand_ins *s);

/**
 * Seconds of one layer of a bound network in each phase; 0 where it does nothing.
 *
 * Prices of single layers come first, without the call of a pass: the layers beside it have theirs.
 * Then prices of single kernels, then the formulas of whole networks.
 *
 * @param updated optimizer of its update, by any word
 * @param out     NAN in a phase that has no price; step is the sum of passes and update
 * @return LM_E_NOTFOUND where the layer has no price; the text is its name and type. LM_E_NOMEM
 */
lm_status stand_in_price(stand_ins *by, const bound_network *net, const bound_layer *l,
                         const char *updated, double out[N_PHASES], lm_error *err);

#endif
