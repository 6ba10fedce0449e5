/** Kernels of a whole network, and kernels as text. */
#ifndef NETWORK_KERNELS_H
#define NETWORK_KERNELS_H

#include <layermeter/error.h>
#include <layermeter/kernel.h>

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

const char *kernel_op_name(lm_op op);
/** LM_E_NOTFOUND for a name that is no op. */
lm_status   kernel_op_parse(const char *name, lm_op *out, lm_error *err);
const char *kernel_pass_name(lm_pass pass);
lm_status   kernel_pass_parse(const char *name, lm_pass *out, lm_error *err);

/** Geometry as text, "n=8 c_in=64 ... in=1x56x56": what stands in an observation. */
const char *kernel_print_geometry(const lm_kernel *k, char *buffer, size_t size);
/** The reverse; op, pass and dtype of *k are given, u and repeat are filled. Every field must be
 * there. */
lm_status kernel_parse_geometry(const char *text, lm_kernel *k, lm_error *err);

#endif
