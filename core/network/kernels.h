/** Kernels of a whole network. */
#ifndef NETWORK_KERNELS_H
#define NETWORK_KERNELS_H

#include <layermeter/error.h>
#include <layermeter/kernel.h>

#include "layers/kernel_text.h"
#include "network/bind.h"

/** A list that grows. */
typedef struct kernel_list {
    lm_kernel *kernel; /**< malloc'ed */
    size_t     n, room;
} kernel_list;

lm_status kernel_list_add(kernel_list *list, const lm_kernel *kernel, lm_error *err);
void      kernel_list_free(kernel_list *list);

/** Forward pass, in the order in which the layers run. Appends. */
lm_status kernels_forward(const bound_network *net, kernel_list *list, lm_error *err);
/** Backward pass: the layers in reverse, each with its input gradient before its weight gradient.
 */
lm_status kernels_backward(const bound_network *net, kernel_list *list, lm_error *err);
/** One map a trained tensor: weight, gradient and momentum read, 4 FLOP an element (SGD with
 * momentum). */
lm_status kernels_update(const bound_network *net, kernel_list *list, lm_error *err);

#endif
