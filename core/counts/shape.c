/* Shapes of single layers. */
#include "counts/shape.h"

#include <string.h>

static void measure_conv(const lm_kernel *k, layer_shape *out)
{
    out->kind   = SHAPE_CONV;
    out->n      = k->u.conv.n;
    out->c_in   = k->u.conv.c_in;
    out->c_out  = k->u.conv.c_out;
    out->groups = k->u.conv.groups;
    out->bias   = k->u.conv.bias != 0;
    for (int i = 0; i < 3; i++) {
        out->in[i]       = k->u.conv.in[i];
        out->out[i]      = k->u.conv.out[i];
        out->window[i]   = k->u.conv.window[i];
        out->stride[i]   = k->u.conv.stride[i];
        out->dilation[i] = k->u.conv.dilation[i];
        out->before[i]   = k->u.conv.pad[i];
        out->behind[i]   = (out->out[i] - 1) * out->stride[i] +
                         out->dilation[i] * (out->window[i] - 1) + 1 - out->in[i] - out->before[i];
    }
    out->inputs  = (double)(out->n * out->c_in) * (double)lm_volume(out->in);
    out->outputs = (double)(out->n * out->c_out) * (double)lm_volume(out->out);
    out->weights =
        (double)out->c_out * (double)(out->c_in / out->groups) * (double)lm_volume(out->window);
}

static void measure_dense(const lm_kernel *k, layer_shape *out)
{
    *out         = (layer_shape){ .kind   = SHAPE_DENSE,
                                  .n      = k->u.gemm.m,
                                  .c_in   = k->u.gemm.k,
                                  .c_out  = k->u.gemm.n,
                                  .groups = 1,
                                  .bias   = k->u.gemm.bias != 0 };
    out->inputs  = (double)out->n * (double)out->c_in;
    out->outputs = (double)out->n * (double)out->c_out;
    out->weights = (double)out->c_in * (double)out->c_out;
}

void shape_of_layer(const bound_layer *layer, layer_shape *out)
{
    const lm_kernel *k = layer->kernels[LM_FORWARD];
    const size_t     n = layer->n_kernels[LM_FORWARD];

    *out = (layer_shape){ .kind = SHAPE_OTHER };
    if (n != 1 || k->repeat > 1)
        return;
    if (k->op == LM_OP_CONV && k->pass == LM_FORWARD)
        measure_conv(k, out);
    else if (k->op == LM_OP_GEMM && k->u.gemm.batch == 1 && !k->u.gemm.activations)
        measure_dense(k, out);
}

void shape_add_pad(const bound_layer *pad, layer_shape *conv)
{
    const lm_tensor *from = &pad->input[0], *to = &pad->output[0];

    for (uint32_t d = 2; d < from->rank && from->rank <= 5; d++) {
        const uint32_t  axis  = 3 + d - from->rank;
        const lm_value *list  = &pad->param[0];
        const uint32_t  first = from->rank - list->count;

        conv->before[axis] += d < first ? 0 : list->u.i[d - first];
        conv->behind[axis] += to->dim[d] - from->dim[d] - (d < first ? 0 : list->u.i[d - first]);
        conv->in[axis] = from->dim[d];
    }
    conv->inputs = (double)(conv->n * conv->c_in) * (double)lm_volume(conv->in);
}

void shape_as_conv(layer_shape *product, const lm_tensor *image)
{
    product->kind = SHAPE_CONV;
    for (int i = 0; i < 3; i++)
        product->in[i] = product->out[i] = product->window[i] = product->stride[i] =
            product->dilation[i]                              = 1;
    if (image && image->rank >= 3 && image->rank <= 5) {
        for (uint32_t d = 2; d < image->rank; d++)
            product->in[3 + d - image->rank] = product->window[3 + d - image->rank] = image->dim[d];
        product->c_in = image->dim[1];
    }
}

/* One kernel that reads one tensor and writes as many elements. */
static bool elementwise(const bound_layer *l)
{
    return l->n_inputs == 1 && l->n_kernels[LM_FORWARD] == 1 &&
           l->kernels[LM_FORWARD]->op == LM_OP_MAP &&
           lm_elements(&l->input[0]) == lm_elements(&l->output[0]);
}

static bool is_loss(const bound_layer *l)
{
    return l->n_outputs == 1 && lm_elements(&l->output[0]) == 1;
}

static bool add_work(const bound_layer *l, layer_work *work, layer_shape *to)
{
    for (size_t i = 0; i < l->n_weights; i++)
        if (!(l->weights[i].flags & LM_FROZEN))
            to->weights += (double)lm_elements(&l->weights[i].tensor);
    for (size_t i = 0; i < l->n_weights; i++)
        to->tensors += !(l->weights[i].flags & LM_FROZEN);
    return work_add(l, work);
}

void shape_by_work(const bound_layer *layer, layer_work *work, layer_shape *out)
{
    layer_shape found = { .kind = SHAPE_WORK, .n = 1, .work = work };

    *work = (layer_work){ 0 };
    *out  = add_work(layer, work, &found) ? found : (layer_shape){ .kind = SHAPE_OTHER };
}

/* Describes a chain by the work of all its layers. */
static void chain_by_work(const bound_network *chain, layer_work *work, layer_shape *out)
{
    layer_shape found = { .kind = SHAPE_WORK, .n = 1, .work = work };
    bool        any = false, known = true;

    *work = (layer_work){ 0 };
    for (size_t i = 0; i < chain->n_layers; i++) {
        const bound_layer *l = &chain->layer[i];

        if (!strcmp(l->decl->type, "input")) {
            found.inputs += l->n_outputs ? (double)lm_elements(&l->output[0]) : 0;
            continue;
        }
        any = true;
        known &= add_work(l, work, &found);
        found.outputs = l->n_outputs ? (double)lm_elements(&l->output[0]) : 0;
    }
    *out = any && known ? found : (layer_shape){ .kind = SHAPE_OTHER };
}

void shape_of_chain(const bound_network *chain, layer_work *work, layer_shape *out)
{
    const bound_layer *pad   = NULL;
    layer_shape        found = { .kind = SHAPE_OTHER };
    bool               other = false;

    for (size_t i = 0; i < chain->n_layers; i++) {
        const bound_layer *l = &chain->layer[i];
        layer_shape        here;

        if (!strcmp(l->decl->type, "input"))
            continue;
        shape_of_layer(l, &here);
        if (here.kind != SHAPE_OTHER && found.kind == SHAPE_OTHER)
            found = here;
        else if (found.kind == SHAPE_OTHER && !pad && !strcmp(l->decl->type, "pad"))
            pad = l;
        else if (found.kind != SHAPE_OTHER && elementwise(l) && !found.activation && !found.loss)
            found.activation = true;
        else if (found.kind != SHAPE_OTHER && is_loss(l) && !found.loss)
            found.loss = true;
        else
            other = true;
    }
    if (pad && found.kind == SHAPE_CONV)
        shape_add_pad(pad, &found);
    if (other || (pad && found.kind != SHAPE_CONV))
        found = (layer_shape){ .kind = SHAPE_OTHER };
    if (found.kind == SHAPE_OTHER && work)
        chain_by_work(chain, work, out);
    else
        *out = found;
}
