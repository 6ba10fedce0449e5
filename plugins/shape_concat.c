/* concat: inputs one after the other. */
#include "shape.h"

enum { AXIS };

static const lm_param params[] = {
    [AXIS] = { .name = "axis",
               TENSOR_AXIS(LM_INT),
               .fallback = "1",
               .doc =
                   "dimension along which the inputs follow each other; below 0: from the last" },
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    lm_tensor out    = layer->input[0];
    uint32_t  axis   = 0;
    lm_status status = tensor_axis(layer, lm_int(layer, AXIS), out.rank, &axis);

    for (uint32_t i = 1; i < layer->n_inputs && !status; i++) {
        const lm_tensor *in = &layer->input[i];

        if (in->dtype != out.dtype)
            return lm_fail(layer, LM_E_SHAPE,
                           "inputs of different element types: put a cast before one of them");
        if (in->rank != out.rank)
            return lm_fail(layer, LM_E_SHAPE, "inputs of rank %u and %u", (unsigned)out.rank,
                           (unsigned)in->rank);
        for (uint32_t d = 0; d < out.rank; d++)
            if (d != axis && in->dim[d] != out.dim[d])
                return lm_fail(layer, LM_E_SHAPE,
                               "%lld and %lld elements do not fit in dimension %u",
                               (long long)out.dim[d], (long long)in->dim[d], (unsigned)d);
        status = tensor_set(layer, &out, axis, (uint64_t)out.dim[axis] + (uint64_t)in->dim[axis]);
    }
    if (!status)
        output[0] = out;
    return status;
}

const lm_layer_type shape_concat = {
    .size = sizeof(lm_layer_type),
    .name = "concat",
    .doc  = "its inputs one after the other along a dimension",
    LM_PARAMS(params),
    .min_inputs = 1,
    .n_outputs  = 1,
    .flags      = LM_FUNCTIONAL,
    .infer      = infer,
    .cost       = cost_of_kernels,
    .lower      = shape_lower_copy,
};
