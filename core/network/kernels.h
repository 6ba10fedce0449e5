/** Kernels of a whole network. */
#ifndef NETWORK_KERNELS_H
#define NETWORK_KERNELS_H

#include <layermeter/error.h>
#include <layermeter/kernel.h>

#include "layers/kernel_text.h"
#include "network/bind.h"
#include "network/optimizer.h"

/** A growing list. */
typedef struct kernel_list {
    lm_kernel *kernel; /**< malloc'ed */
    size_t     n, room;
} kernel_list;

lm_status kernel_list_add(kernel_list *list, const lm_kernel *kernel, lm_error *err);
void      kernel_list_free(kernel_list *list);

/** Appends the kernels of the forward pass, in the order in which the layers run. */
lm_status kernels_forward(const bound_network *net, kernel_list *list, lm_error *err);
/**
 * Appends the kernels of the backward pass: layers in reverse order, in each layer the input
 * gradient before the weight gradient.
 */
lm_status kernels_backward(const bound_network *net, kernel_list *list, lm_error *err);
/** Appends the kernels of the update: one map per trained tensor, see optimizer_update(). */
lm_status kernels_update(const bound_network *net, optimizer o, kernel_list *list, lm_error *err);
/**
 * Joins the maps of `list` that have the same element type, operands and FLOPs to one of all their elements, as
 * optimizers go over all tensors at once. In place.
 */
void kernels_join_maps(kernel_list *list);

/** The gradient of one trained tensor. */
typedef struct weight_gradient {
    uint64_t bytes;
    lm_dtype dtype;
    /**
     * indices of the layer's backward kernels. The gradient is complete after kernel `end` - 1.
     * begin = end: the layer has none
     */
    size_t begin, end;
} weight_gradient;

typedef struct gradient_list {
    weight_gradient *gradient; /**< malloc'ed */
    size_t           n;
} gradient_list;

/**
 * The gradients in the order of completion in kernels_backward(): layers in reverse, and the
 * tensors of a layer in reverse. A shared tensor is complete after the last of its layers. The
 * bytes add up to net_metrics.param_bytes. The caller frees `out` in any case.
 */
lm_status kernels_gradients(const bound_network *net, gradient_list *out, lm_error *err);
void      gradient_list_free(gradient_list *list);

#endif
