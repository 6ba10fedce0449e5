/* Kernels of a whole network. */
#include "network/kernels.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/no_memory.h"

lm_status kernel_list_add(kernel_list *list, const lm_kernel *kernel, lm_error *err)
{
    if (!array_grow(&list->kernel, list->n, &list->room, sizeof *list->kernel))
        return no_memory(err);
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

lm_status kernels_update(const bound_network *net, optimizer o, kernel_list *list, lm_error *err)
{
    for (size_t i = 0; i < net->n_layers; i++)
        for (size_t w = 0; w < net->layer[i].n_weights; w++) {
            const lm_weight *weight = &net->layer[i].weights[w];
            lm_kernel        k;
            lm_status        status;

            if (weight->flags & LM_FROZEN)
                continue;
            if ((status = optimizer_update(optimizer_of_layer(o, &net->layer[i]), &weight->tensor,
                                           &k, err)) ||
                (status = kernel_list_add(list, &k, err)))
                return status;
        }
    return LM_OK;
}

void kernels_join_maps(kernel_list *list)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        const lm_kernel *k = &list->kernel[i];
        size_t           to;

        for (to = 0; to < n; to++) {
            lm_kernel *all = &list->kernel[to];

            if (all->op == LM_OP_MAP && k->op == LM_OP_MAP && all->dtype == k->dtype &&
                all->u.map.operands == k->u.map.operands &&
                all->u.map.flops_per_element == k->u.map.flops_per_element &&
                all->u.map.elements <= INT64_MAX / 8 - k->u.map.elements)
                break;
        }
        if (to == n) {
            list->kernel[n++] = *k;
        } else {
            list->kernel[to].u.map.elements += k->u.map.elements;
            list->kernel[to].u.map.reads += k->u.map.reads;
            list->kernel[to].u.map.writes += k->u.map.writes;
        }
    }
    list->n = n;
}

/* Finds the first user of each layer's parameters in forward order. There the backward pass
 * completes their gradients. */
static void find_first_users(const bound_network *net, size_t *first)
{
    for (size_t i = 0; i < net->n_layers; i++)
        first[i] = i;
    for (size_t i = net->n_layers; i-- > 0;)
        if (net->layer[i].shares) {
            const size_t owner = (size_t)(net->layer[i].shares - net->layer);

            if (i < first[owner])
                first[owner] = i;
        }
}

static void add_gradients(const bound_layer *owner, size_t begin, size_t end, gradient_list *out)
{
    for (size_t w = owner->n_weights; w-- > 0;)
        if (!(owner->weights[w].flags & LM_FROZEN))
            out->gradient[out->n++] =
                (weight_gradient){ .bytes = lm_bytes(&owner->weights[w].tensor),
                                   .dtype = owner->weights[w].tensor.dtype,
                                   .begin = begin,
                                   .end   = end };
}

lm_status kernels_gradients(const bound_network *net, gradient_list *out, lm_error *err)
{
    size_t *first = calloc(net->n_layers + 1, sizeof *first);
    size_t  n = 0, end = 0;

    for (size_t i = 0; i < net->n_layers; i++)
        n += net->layer[i].n_weights;
    *out = (gradient_list){ .gradient = calloc(n + 1, sizeof *out->gradient) };
    if (!first || !out->gradient) {
        free(first);
        return no_memory(err);
    }
    find_first_users(net, first);
    for (size_t i = net->n_layers; i-- > 0;) {
        const bound_layer *l     = &net->layer[i];
        const size_t       begin = end;

        end += l->n_kernels[LM_GRAD_INPUT] + l->n_kernels[LM_GRAD_WEIGHT];
        if (l->shares && first[l->shares - net->layer] == i)
            add_gradients(l->shares, begin, end, out);
        if (first[i] == i)
            add_gradients(l, begin, end, out);
    }
    free(first);
    return LM_OK;
}

void gradient_list_free(gradient_list *list)
{
    free(list->gradient);
    *list = (gradient_list){ NULL, 0 };
}
