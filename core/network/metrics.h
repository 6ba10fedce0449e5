/** Exact counts of a bound network, the basis of all tables, files and regressors. */
#ifndef NETWORK_METRICS_H
#define NETWORK_METRICS_H

#include <stdbool.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>

#include "network/bind.h"

/**
 * Counts of a layer, a block or a network, at the batch it was bound with.
 *
 * Published tables count the FLOPs of convolutions, linear layers and products of activations, two
 * per multiply-accumulate. `flops_*` follow these tables. `other_flops_*` hold all other
 * arithmetic: bias, norm, activation, pooling, loss. The two do not overlap.
 */
typedef struct net_metrics {
    uint64_t params;                 /**< trained elements */
    uint64_t param_tensors;          /**< trained tensors: the gradients to synchronise */
    uint64_t param_bytes;            /**< of the trained tensors */
    uint64_t macs_conv, macs_linear; /**< forward pass, products with weights */
    uint64_t macs_matmul;   /**< forward pass, products of two activations, as in attention */
    uint64_t flops_forward; /**< 2 * the sum of these MACs */
    /** the same for both halves of the backward pass */
    uint64_t flops_grad_input, flops_grad_weight;
    uint64_t flops_backward; /**< sum of flops_grad_input and flops_grad_weight */
    uint64_t other_flops_forward, other_flops_backward;
    uint64_t conv_inputs,
        conv_outputs; /**< elements, summed over convolutions (ConvMeter's I, O) */
    uint64_t linear_inputs, linear_outputs; /**< elements, summed over linear layers */
    /** executed layers without functional ones: frameworks' leaf modules, each call counted */
    uint64_t layers;
    uint64_t activation_bytes;          /**< outputs of those layers */
    uint64_t read_bytes, written_bytes; /**< compulsory traffic of all passes */
    /**
     * layers with work but without kernels: their work is in `other_flops_*`, and no backend runs
     * them
     */
    uint64_t layers_not_lowered;
} net_metrics;

/** Is `name` the layer `prefix`, or a layer below it? "layer1" matches layer1 and layer1.*. */
bool metrics_in_block(const char *name, const char *prefix);

/** Counts of one layer. Pure. LM_E_OVERFLOW beyond 64 bits. */
lm_status metrics_of_layer(const bound_layer *layer, net_metrics *out, lm_error *err);

/**
 * Counts of all layers that metrics_in_block() finds below `prefix`; NULL: all layers. Pure.
 * @return LM_E_NOTFOUND: no such layer; LM_E_OVERFLOW beyond 64 bits
 */
lm_status metrics_of_network(const bound_network *net, const char *prefix, net_metrics *out,
                             lm_error *err);

/**
 * Tokens of a sample: the length of the first data input, if it is one row of integers; else 0.
 * Pure.
 */
int64_t metrics_tokens(const bound_network *net);

#endif
