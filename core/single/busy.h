/**
 * Time that a device is busy with a layer, and the part that follows its clock.
 *
 * Coefficients alone cannot separate memory from caches, or counts that grow together. Therefore the
 * seconds of memory follow from the bytes: each tensor of a pass moves about once, at the rate of
 * elementwise functions, which only move data (McCalpin 1995, "Memory bandwidth and machine
 * balance"; the roofline: Williams, Waterman & Patterson 2009). All other time follows the clock of
 * the device, as its caches do.
 */
#ifndef SINGLE_BUSY_H
#define SINGLE_BUSY_H

#include "single/model.h"

typedef struct layer_busy {
    double seconds;             /**< of the layer; NAN: it has no price */
    double arithmetic, traffic; /**< seconds of arithmetic and of traffic, by prices */
    /**
     * seconds of memory, out of both together; all traffic if elementwise functions have no price
     */
    double memory;
    double join; /**< exponent p that joins waiting and work (rows.h) */
} layer_busy;

/** Computes it with the model's prices. LM_E_NOMEM */
lm_status layer_busy_of(layer_asker *a, const layer_shape *s, const layer_run *run, layer_busy *out,
                        lm_error *err);

#endif
