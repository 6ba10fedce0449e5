/* Kernels of a whole network. */
#include "network/kernels.h"

#include <stdlib.h>

lm_status kernel_list_add(kernel_list *list, const lm_kernel *kernel, lm_error *err)
{
    if (list->n == list->room) {
        const size_t room = list->room ? 2 * list->room : 64;
        lm_kernel   *more = realloc(list->kernel, room * sizeof *more);

        if (!more)
            return lm_error_set(err, LM_E_NOMEM, "out of memory");
        list->kernel = more;
        list->room   = room;
    }
    list->kernel[list->n++] = *kernel;
    return LM_OK;
}

void kernel_list_free(kernel_list *list)
{
    free(list->kernel);
    *list = (kernel_list){ NULL, 0, 0 };
}

static lm_status add_pass(const bound_layer *l, lm_pass pass, kernel_list *list, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < l->n_kernels[pass] && !status; i++)
        status = kernel_list_add(list, &l->kernels[pass][i], err);
    return status;
}

lm_status kernels_forward(const bound_network *net, kernel_list *list, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < net->n_layers && !status; i++)
        status = add_pass(&net->layer[i], LM_FORWARD, list, err);
    return status;
}

lm_status kernels_backward(const bound_network *net, kernel_list *list, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = net->n_layers; i-- > 0 && !status;) {
        status = add_pass(&net->layer[i], LM_GRAD_INPUT, list, err);
        if (!status)
            status = add_pass(&net->layer[i], LM_GRAD_WEIGHT, list, err);
    }
    return status;
}

lm_status kernels_update(const bound_network *net, kernel_list *list, lm_error *err)
{
    for (size_t i = 0; i < net->n_layers; i++)
        for (size_t w = 0; w < net->layer[i].n_weights; w++) {
            const lm_weight *weight = &net->layer[i].weights[w];
            lm_kernel        k      = { .size   = sizeof k,
                                        .op     = LM_OP_MAP,
                                        .pass   = LM_GRAD_WEIGHT,
                                        .dtype  = weight->tensor.dtype,
                                        .repeat = 1 };
            lm_status        status;

            if (weight->flags & LM_FROZEN)
                continue;
            k.u.map.elements          = (int64_t)lm_elements(&weight->tensor);
            k.u.map.operands          = 3;
            k.u.map.flops_per_element = 4;
            if ((status = kernel_list_add(list, &k, err)))
                return status;
        }
    return LM_OK;
}
