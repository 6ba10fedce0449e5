/** Kernels of a whole network. */
#ifndef NETWORK_KERNELS_H
#define NETWORK_KERNELS_H

#include <layermeter/error.h>
#include <layermeter/kernel.h>

#include "layers/kernel_text.h"
#include "network/bind.h"
#include "network/optimizer.h"

/** A list that grows. */
typedef struct kernel_list {
    lm_kernel *kernel; /**< malloc'ed */
    size_t     n, room;
} kernel_list;

lm_status kernel_list_add(kernel_list *list, const lm_kernel *kernel, lm_error *err);
void      kernel_list_free(kernel_list *list);

/** Forward pass, in the order in which the layers run. Appends. */
lm_status kernels_forward(const bound_network *net, kernel_list *list, lm_error *err);
/** Backward pass: the layers in reverse, each with its input gradient
 * before its weight gradient. */
lm_status kernels_backward(const bound_network *net, kernel_list *list, lm_error *err);
/** One map a trained tensor: see optimizer_update(). */
lm_status kernels_update(const bound_network *net, optimizer o, kernel_list *list, lm_error *err);

/** The gradient of one trained tensor. */
typedef struct weight_gradient {
    uint64_t bytes;
    lm_dtype dtype;
    size_t   begin, end; /**< the backward kernels of its layer: it is complete once those before
                            `end` have run. begin = end: the layer has none */
} weight_gradient;

typedef struct gradient_list {
    weight_gradient *gradient; /**< malloc'ed */
    size_t           n;
} gradient_list;

/**
 * The gradients in the order in which the pass of kernels_backward() completes them: layers in
 * reverse, the tensors of a layer in reverse. Of a tensor that layers share, that is where the last
 * of them has run. Their bytes add up to net_metrics.param_bytes. `out` is to be freed in any case.
 */
lm_status kernels_gradients(const bound_network *net, gradient_list *out, lm_error *err);
void      gradient_list_free(gradient_list *list);

#endif
