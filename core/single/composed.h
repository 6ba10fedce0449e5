/**
 * Networks composed of the seconds of their layers, corrected by a few measured networks.
 *
 *   seconds = (host^4 + device^4)^(1/4),  host, device = sums of factor x part
 *
 * A layer takes another time in a network than alone: the host runs ahead of the device, caches
 * hold other tensors, and a framework's work for a call is done once for all layers. Each part of a
 * step has one factor, fitted by relative robust non-negative least squares (Huber 0.3). A ridge
 * 0.1 (factor - 1)^2 holds it near 1, as in transfer/correct.h: a part that no network determines
 * keeps 1.
 */
#ifndef SINGLE_COMPOSED_H
#define SINGLE_COMPOSED_H

#include <layermeter/error.h>
#include <stdbool.h>
#include <stddef.h>

/** Parts of a step, or of a forward pass in evaluation mode. */
typedef enum whole_part {
    WHOLE_HOST,      /**< calls of the forward pass */
    WHOLE_HOST_BACK, /**< further calls for training */
    WHOLE_PRODUCTS,  /**< convolutions and products with weights, forward */
    WHOLE_OTHERS,    /**< all other layers, forward */
    WHOLE_PRODUCTS_BACK,
    WHOLE_OTHERS_BACK,
    WHOLE_UPDATE,
    N_WHOLE_PARTS
} whole_part;

/** "host", "host.backward", "products", "others", "products.backward" ... */
const char *whole_part_name(whole_part p);

/** A measured network, and the seconds of its layers. */
typedef struct composed_row {
    double part[N_WHOLE_PARTS]; /**< s */
    double seconds;             /**< measured, > 0 */
} composed_row;

typedef struct composed_factors {
    double of[N_WHOLE_PARTS];
    size_t rows; /**< rows of the fit; 0: no fit, all factors are 1 */
} composed_factors;

/** Factors for steps, and for forward passes in evaluation mode. */
typedef struct composed_set {
    composed_factors step, inference;
} composed_set;

/** All factors 1: plain sums. */
extern const composed_factors composed_plain;

/**
 * Fits factors to the rows with in[] true (NULL: all); composed_plain without rows. LM_E_ARG for
 * times of 0 or less, LM_E_NOMEM.
 */
lm_status composed_fit(const composed_row *row, const bool *in, size_t n, composed_factors *out,
                       lm_error *err);

double composed_seconds(const composed_factors *f, const double part[N_WHOLE_PARTS]);
/** The part of these seconds in which the device works. */
double composed_device_seconds(const composed_factors *f, const double part[N_WHOLE_PARTS]);

#endif
