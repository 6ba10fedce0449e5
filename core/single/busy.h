/**
 * How long a device is busy with a layer, and how much of that follows its clock.
 *
 * Prices alone do not tell memory from caches, nor counts that grow together from each other. The
 * seconds of memory are therefore told by the bytes: each tensor of a pass moves once, hardly more,
 * at the rate of functions of elements, which do nothing else (McCalpin 1995, "Memory bandwidth and
 * machine balance"; the roofline: Williams, Waterman & Patterson 2009). All other time follows the
 * clock of the device, as its caches do.
 */
#ifndef SINGLE_BUSY_H
#define SINGLE_BUSY_H

#include "single/model.h"

typedef struct layer_busy {
    double seconds;             /**< of the layer; NAN: it has no price */
    double arithmetic, traffic; /**< seconds of these, by prices */
    double memory; /**< seconds of memory, of both together; all traffic without a price of
                      functions of elements */
    double join;   /**< p by which waiting and work join (rows.h) */
} layer_busy;

/** By the model's prices. LM_E_NOMEM */
lm_status layer_busy_of(layer_asker *a, const layer_shape *s, const layer_run *run, layer_busy *out,
                        lm_error *err);

#endif
