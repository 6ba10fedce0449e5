/**
 * Networks composed of what their layers take by themselves, corrected by a few whole networks.
 *
 *   seconds = (host^4 + device^4)^(1/4),  host, device = sums of factor x part
 *
 * Within a network layers do not pay what they pay alone: hosts run ahead of the device, tensors
 * are in caches or are not, and what a framework does once for a call (its backward engine, sums of
 * gradients of inputs) is not done for each. One factor for each part of a step, relative, robust
 * (Huber 0.3), not negative, held near 1 by a ridge 0.1 (factor - 1)^2 beside the sum of squared
 * relative residuals, as those of transfer/correct.h: a part that the networks do not show keeps 1.
 */
#ifndef SINGLE_COMPOSED_H
#define SINGLE_COMPOSED_H

#include <layermeter/error.h>
#include <stdbool.h>
#include <stddef.h>

/** What a step, or a forward pass in evaluation mode, is made of. */
typedef enum whole_part {
    WHOLE_HOST,      /**< calls of the forward pass */
    WHOLE_HOST_BACK, /**< what training adds to these */
    WHOLE_PRODUCTS,  /**< convolutions and products with weights, forward */
    WHOLE_OTHERS,    /**< all other layers, forward */
    WHOLE_PRODUCTS_BACK,
    WHOLE_OTHERS_BACK,
    WHOLE_UPDATE,
    N_WHOLE_PARTS
} whole_part;

/** "host", "host.backward", "products", "others", "products.backward" ... */
const char *whole_part_name(whole_part p);

/** A network that was measured, and what its layers take. */
typedef struct composed_row {
    double part[N_WHOLE_PARTS]; /**< seconds */
    double seconds;             /**< measured, > 0 */
} composed_row;

typedef struct composed_factors {
    double of[N_WHOLE_PARTS];
    size_t rows; /**< that they were fitted to; 0: none, all are 1 */
} composed_factors;

/** Of steps, and of forward passes in evaluation mode. */
typedef struct composed_set {
    composed_factors step, inference;
} composed_set;

/** All 1: sums as they are. */
extern const composed_factors composed_plain;

/** Factors from those rows that are `in` (NULL: all); of no row composed_plain. LM_E_ARG for times
 * and parts that are none, LM_E_NOMEM. */
lm_status composed_fit(const composed_row *row, const bool *in, size_t n, composed_factors *out,
                       lm_error *err);

double composed_seconds(const composed_factors *f, const double part[N_WHOLE_PARTS]);
/** Of these what the device is at work. */
double composed_device_seconds(const composed_factors *f, const double part[N_WHOLE_PARTS]);

#endif
