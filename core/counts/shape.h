/** Shapes: what is timed by itself. A convolution or a product with weights has sizes, and what a
 * framework runs in the same call; any other layer has its kernels; a launch is one kernel. */
#ifndef COUNTS_SHAPE_H
#define COUNTS_SHAPE_H

#include <stdbool.h>

#include "counts/work.h"

typedef enum shape_kind {
    SHAPE_OTHER,
    SHAPE_CONV,  /**< a convolution of 1 to 3 dimensions, no transposed one */
    SHAPE_DENSE, /**< rows of features times a weight matrix */
    SHAPE_WORK,  /**< any other, of which its kernels are known */
    SHAPE_LAUNCH /**< one launch of a kernel */
} shape_kind;

typedef struct layer_shape {
    shape_kind kind;
    int64_t    n; /**< samples; of a product rows */
    int64_t    c_in, c_out, groups;
    /* depth, height, width, 1 where an axis does not exist. `in` is without padding, which is
     * `before` in front and `behind` behind (negative: pixels no window reaches). */
    int64_t in[3], out[3], window[3], stride[3], dilation[3], before[3], behind[3];
    bool    bias;
    bool    activation; /**< a function of each output */
    bool    loss;       /**< of the outputs */
    double  inputs, outputs,
        weights;               /**< elements; weights without the bias, but of SHAPE_WORK all */
    double            tensors; /**< of SHAPE_WORK: that are trained */
    const layer_work *work;    /**< of SHAPE_WORK; else NULL */
    const lm_kernel  *kernel;  /**< of SHAPE_LAUNCH; else NULL */
    const char       *tag;     /**< of SHAPE_LAUNCH: what its library calls it; "": not known */
} layer_shape;

/**
 * The shape of a network of a few layers in a row: padding, a convolution or product, a function of
 * its elements, a loss. Of any other, and of more than one convolution or product, SHAPE_WORK, and
 * SHAPE_OTHER where kernels are not known.
 *
 * @param work room for that of a SHAPE_WORK, which *out points to; NULL: such are SHAPE_OTHER
 */
void shape_of_chain(const bound_network *chain, layer_work *work, layer_shape *out);

/** Any layer by its kernels alone: SHAPE_WORK, or SHAPE_OTHER. */
void shape_by_work(const bound_layer *layer, layer_work *work, layer_shape *out);

/** Shape of one layer of a network. */
void shape_of_layer(const bound_layer *layer, layer_shape *out);

/** Takes padding, a layer of its own in front, into the convolution. */
void shape_add_pad(const bound_layer *pad, layer_shape *conv);

/**
 * Turns a product of flattened images (channels x height x width) into the convolution that it is:
 * one window over the whole image. `image` NULL: an image of one pixel.
 */
void shape_as_conv(layer_shape *product, const lm_tensor *image);

#endif
