/** What single operators take: products of matrices, convolutions, softmax, norms, and what only
 * moves data, as counts in columns. */
#ifndef SINGLE_OPERATORS_H
#define SINGLE_OPERATORS_H

#include <layermeter/kernel.h>

#include "counts/tiles.h"
#include "solve/rows.h"

/** Kinds of operators that have prices of their own. */
typedef enum operator_class {
    OPERATOR_GEMM,    /**< a weight and activations */
    OPERATOR_BATCHED, /**< batches of products of activations */
    OPERATOR_MAP,     /**< elementwise, and whatever else only moves data */
    OPERATOR_NORM,
    OPERATOR_SOFTMAX,
    OPERATOR_CONV_FORWARD,
    OPERATOR_CONV_GRAD_INPUT,
    OPERATOR_CONV_GRAD_WEIGHT,
    OPERATOR_OTHER, /**< none of these: has no columns */
    N_OPERATOR_CLASSES
} operator_class;

operator_class operator_class_of(const lm_kernel *k);
/** "gemm", "batched", "map", "norm", "softmax", "conv.forward" ..., "other" */
const char *operator_class_name(operator_class c);
/** N_OPERATOR_CLASSES if there is none of that name. */
operator_class operator_class_parse(const char *name);

/** How floor and work of a class join: seconds = (floor^p + work^p)^(1/p). */
double operator_power(operator_class c);

/** Tilings that a fit has to choose from, the usual one first; `multiprocessors` is not filled. */
const tiling *operator_tilings(operator_class c, size_t *n);

/** A product of matrices: `batch` times (m,k) x (k,n). */
typedef struct operator_product {
    double batch, m, n, k;
} operator_product;

/** What a kernel multiplies, of a convolution its implicit product, whose batches are the groups.
 * False: nothing. */
bool operator_product_of(const lm_kernel *k, operator_product *out);

#define OPERATOR_ITEMS_MAX 8

/**
 * Counts of one launch of `k` in the columns of its class, the floor first. Traffic is that of
 * lm_kernel_work(), but of a weight gradient of norms only what is read (their gradient is a row).
 *
 *  - products (m,k) x (k,n), `batch` times: wave_flops, tile_flops, tile_elements and steps of
 *    tile_plan_of(), bytes. Of weights long_flops: tile_flops x log2(k / 4096) of longer sums, for
 *    the rows of a factor then lie far apart; of activations tile_bytes, which tiles read: each
 *    factor once for every tile beside it.
 *  - convolutions, one pass: the FLOPs, those of its implicit product (Chetlur et al. 2014, "cuDNN:
 *    efficient primitives for deep learning", section 3) in waves, its steps, bytes of input,
 *    output and weights. FLOPs and the first two have families by window, so that the few rows of
 *    a window share what others show: no formula knows of Winograd's or FFT's discount.
 *  - softmax, norms: bytes, row_count, and long_bytes, those of rows over 1024 elements, which a
 * block of threads does not keep.
 *  - all else: bytes. With families by `tag`, since what a host does to launch `add` or `gelu`
 *    takes longer than the kernel.
 *  - all: launch, 1
 *
 * @param tag  what its library calls the operator; "": not known
 * @param make columns that are not there are made (COLUMN_NONE when memory runs out); else a
 *             family's column stands for one of its own that is not there, and what has neither is
 *             left out
 * @return how many; 0 for OPERATOR_OTHER
 */
size_t operator_items(const lm_kernel *k, const char *tag, const tiling *how, bool make, columns *c,
                      row_item out[OPERATOR_ITEMS_MAX]);

#endif
