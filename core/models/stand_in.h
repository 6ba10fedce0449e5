/** Layers that a learned model does not know, by the default model's prices. */
#ifndef MODELS_STAND_IN_H
#define MODELS_STAND_IN_H

#include "fit/calibration.h"
#include "network/bind.h"

/**
 * Seconds of one layer of a bound network in each phase; 0 where it does nothing.
 *
 * Prices of single layers come first, without the call of a pass: the layers beside it have theirs.
 * Then prices of single kernels, then the formulas of whole networks.
 *
 * @param cal     NULL: there are no prices
 * @param updated optimizer of its update, by any word
 * @param out     NAN in a phase that has no price; step is the sum of passes and update
 * @return LM_E_NOTFOUND where the layer has no price; the text is its name and type. LM_E_NOMEM
 */
lm_status stand_in_price(const calibration *cal, const bound_network *net, const bound_layer *l,
                         const char *updated, double out[N_PHASES], lm_error *err);

#endif
