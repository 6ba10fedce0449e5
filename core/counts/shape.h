/**
 * Shapes: layers and launches that are timed separately. A convolution, or a product with weights,
 * has sizes, plus the functions that a framework runs in the same call. Any other layer has its
 * kernels. A launch is one kernel.
 */
#ifndef COUNTS_SHAPE_H
#define COUNTS_SHAPE_H

#include <stdbool.h>

#include "counts/work.h"

typedef enum shape_kind {
    SHAPE_OTHER,
    SHAPE_CONV,  /**< a convolution of 1 to 3 dimensions, not transposed */
    SHAPE_DENSE, /**< rows of features times a weight matrix */
    SHAPE_WORK,  /**< another layer with known kernels */
    SHAPE_LAUNCH /**< one launch of a kernel */
} shape_kind;

typedef struct layer_shape {
    shape_kind kind;
    int64_t    n; /**< samples; rows of a product */
    int64_t    c_in, c_out, groups;
    /*
     * depth, height, width; 1 where an axis does not exist. `in` is without padding: `before`
     * pixels in front, `behind` pixels at the end (negative: pixels outside all windows).
     */
    int64_t in[3], out[3], window[3], stride[3], dilation[3], before[3], behind[3];
    bool    bias;
    bool    activation; /**< a function of each output */
    bool    loss;       /**< a loss of the outputs */
    double  inputs, outputs,
        weights; /**< numbers of elements; weights without the bias, but for SHAPE_WORK all */
    double            tensors; /**< SHAPE_WORK: number of trained tensors */
    const layer_work *work;    /**< only SHAPE_WORK; else NULL */
    const lm_kernel  *kernel;  /**< only SHAPE_LAUNCH; else NULL */
    const char       *tag; /**< SHAPE_LAUNCH: name of the operator in its library; "": unknown */
    bool queued;           /**< SHAPE_LAUNCH: measured as one of many in a queue (timed_kernel) */
} layer_shape;

/**
 * The shape of a short chain: padding, a convolution or product, an elementwise function, a loss.
 * Other chains, and chains with several convolutions or products, become SHAPE_WORK, or SHAPE_OTHER
 * if their kernels are unknown.
 *
 * @param work room for the work of SHAPE_WORK; *out points to it. NULL: such chains become
 *             SHAPE_OTHER
 */
void shape_of_chain(const bound_network *chain, layer_work *work, layer_shape *out);

/** Any layer, from its kernels only: SHAPE_WORK, or SHAPE_OTHER. */
void shape_by_work(const bound_layer *layer, layer_work *work, layer_shape *out);

/** Shape of one layer of a network. */
void shape_of_layer(const bound_layer *layer, layer_shape *out);

/** Adds padding, which is a separate layer before it, to the convolution. */
void shape_add_pad(const bound_layer *pad, layer_shape *conv);

/**
 * Turns a product of flattened images (channels x height x width) into the equivalent convolution:
 * one window over the whole image. `image` NULL: an image of one pixel.
 */
void shape_as_conv(layer_shape *product, const lm_tensor *image);

#endif
