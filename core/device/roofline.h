/**
 * The least time that a device's datasheet allows a pass: the roofline (Williams, Waterman &
 * Patterson 2009, "Roofline: an insightful visual performance model"). Its products take no less than
 * the peak allows, and weights that no cache holds come from the memory once.
 */
#ifndef DEVICE_ROOFLINE_H
#define DEVICE_ROOFLINE_H

#include "counts/terms.h"
#include "device/device.h"

/** A device at its best. Zeros: nothing is known, and nothing is too fast. */
typedef struct roofline {
    double flops;     /**< of products, FLOP/s */
    double bandwidth; /**< of the memory, bytes/s */
    double cache;     /**< bytes that need not come from the memory; in use beside `bandwidth` */
} roofline;

/**
 * By a datasheet, for products of an element type. A bandwidth without a size of the cache tells nothing.
 *
 * @param tf32 products of f32 may have been taken as TF32, which frameworks do by themselves
 */
roofline roofline_of(const double figure[N_DEVICE_FIGURES], lm_dtype products, bool tf32);

/** Least seconds of a FLOP of products; 0: unknown. */
double roofline_flop(const roofline *r);

/**
 * Least seconds of a pass with these terms. Convolutions count a quarter of their FLOPs, which Winograd's
 * F(4x4, 3x3) multiplies (Lavin & Gray 2016, "Fast algorithms for convolutional neural networks"), fused
 * attention a half: keys behind a causal query need none. Traffic of activations may stay in caches.
 *
 * @param weights bytes of weights and gradients that the pass has to move at most: a recurrent layer
 *                keeps its weights from step to step
 */
double roofline_seconds(const roofline *r, const term_vector *terms, double weights);

#endif
