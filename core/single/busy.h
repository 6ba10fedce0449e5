/**
 * How long a device is busy with a layer, and for how much of it its clock matters.
 *
 * Prices tell arithmetic from traffic only as far as rows did: counts that grow together bear each
 * other's time, and what of it is memory's they cannot tell from a cache's. How long memory takes
 * is told by what it has to move: each tensor of a pass once at least, and hardly more, at the rate
 * of functions of elements, which do nothing else (McCalpin 1995, "Memory bandwidth and machine
 * balance"; the roofline: Williams, Waterman & Patterson 2009). Time beyond follows the clock of
 * the device, as its caches do.
 */
#ifndef SINGLE_BUSY_H
#define SINGLE_BUSY_H

#include "single/model.h"

typedef struct layer_busy {
    double seconds;             /**< that the layer takes; NAN: it has no price */
    double arithmetic, traffic; /**< of these, by prices */
    double memory; /**< of both together what memory takes; without a price of functions of
                      elements: all traffic */
    double join;   /**< p by which waiting and work join, as rows.h has it */
} layer_busy;

/** By the model's prices. LM_E_NOMEM */
lm_status layer_busy_of(layer_model *m, const layer_shape *s, const layer_run *run, layer_busy *out,
                        lm_error *err);

#endif
