/**
 * Factors on the prices of kernels, from a fit to whole steps under layouts (predict/laid_fit.h).
 *
 * Training frameworks for language models fuse kernels and choose matrix shapes, so their products
 * cost less than those of image networks in plain PyTorch. If all steps of the fit are of networks
 * of tokens, their factors are for such networks alone.
 */
#ifndef FIT_LAID_FACTORS_H
#define FIT_LAID_FACTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "fit/forms.h"

/** Kernels with a factor of their own. */
typedef enum laid_kernel {
    LAID_PRODUCTS,  /**< products of activations and weights */
    LAID_ATTENTION, /**< fused attention */
    LAID_MOVES,     /**< norms, elementwise functions, copies */
    LAID_UPDATE,    /**< the optimizer */
    N_LAID_KERNELS
} laid_kernel;

typedef struct laid_factors {
    bool   known;  /**< false: no steps were fitted, all prices hold as they are */
    bool   tokens; /**< for networks of tokens alone */
    double of[N_LAID_KERNELS];
    double start; /**< s, added to the price of a launch in training */
    /**
     * if for networks of tokens alone: factors for all others, from a later correction by their own
     * times (transfer/correct.h)
     */
    double others[N_RESOURCES];
} laid_factors;

/**
 * The kernel of a term; N_LAID_KERNELS: of none that has a factor. A forward pass of inference has the
 * products of one of training; its other kernels differ.
 */
laid_kernel laid_kernel_of(phase part, size_t term);

/** Factors that change nothing. */
extern const laid_factors laid_factors_none;

/**
 * Price of a term of a kernel in a network.
 *
 * @param tokens is it a network of tokens?
 * @param part   of the form that the price belongs to
 * @param price  s per unit of the term, without the factors
 */
double laid_factors_price(const laid_factors *f, bool tokens, phase part, size_t term,
                          double price);

#endif
