/**
 * The roofline: the least time of a pass that the device's datasheet allows (Williams, Waterman &
 * Patterson 2009, "Roofline: an insightful visual performance model"). Products take at least FLOPs
 * / peak rate. Weights that do not fit into a cache come from the memory once.
 */
#ifndef DEVICE_ROOFLINE_H
#define DEVICE_ROOFLINE_H

#include "counts/terms.h"
#include "device/device.h"

/** Peak rates of a device. Zeros: unknown, and no lower bound. */
typedef struct roofline {
    double flops;     /**< of products, FLOP/s */
    double bandwidth; /**< of the memory, bytes/s */
    double cache;     /**< bytes that need not come from memory; used with `bandwidth` */
} roofline;

/**
 * Makes a roofline from a datasheet, for products of an element type. A bandwidth without the size
 * of the cache is not used.
 *
 * @param tf32 products of f32 may run as TF32, as frameworks do by default
 */
roofline roofline_of(const double figure[N_DEVICE_FIGURES], lm_dtype products, bool tf32);

/** Least seconds of one FLOP of products; 0: unknown. */
double roofline_flop(const roofline *r);

/**
 * Least seconds of a pass with these terms. Convolutions count with a quarter of their FLOPs,
 * because Winograd's F(4x4, 3x3) multiplies that much (Lavin & Gray 2016, "Fast algorithms for
 * convolutional neural networks"). Fused attention counts with a half, because keys behind a causal
 * query need no work. Traffic of activations may stay in caches and is not counted.
 *
 * @param weights upper limit for bytes of weights and gradients that the pass must move: a
 *                recurrent layer keeps its weights from step to step
 */
double roofline_seconds(const roofline *r, const term_vector *terms, double weights);

#endif
