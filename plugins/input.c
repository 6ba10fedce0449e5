/* input: the start of a network, one batch of samples of a given shape. */
#include "tensors.h"

enum { SHAPE, DTYPE };

static const lm_param params[] = {
    [SHAPE] = { .name = "shape",
                .kind = LM_SHAPE,
                .min  = 1,
                .max  = 1e9,
                .unit = "elements",
                .doc  = "one sample without the batch, outermost dimension first; at most 7 "
                        "dimensions" },
    [DTYPE] = { .name     = "dtype",
                .kind     = LM_ENUM,
                .choices  = TENSOR_DTYPES_OR_NETWORK,
                .fallback = "network",
                .doc      = "element type, an integer for tokens and classes; network: that of "
                            "weights and activations" },
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_value *shape = &layer->param[SHAPE];
    lm_tensor       out   = layer->input[0];

    if (out.rank != 1)
        return lm_fail(layer, LM_E_SHAPE, "expects the batch as a tensor of rank 1, not %u",
                       (unsigned)out.rank);
    if (shape->count + 1 > LM_MAX_RANK)
        return lm_fail(layer, LM_E_ARG,
                       "a sample of %u dimensions; at most %d fit beside the batch",
                       (unsigned)shape->count, LM_MAX_RANK - 1);
    out.dtype = tensor_dtype_of(layer, lm_int(layer, DTYPE));
    out.rank  = shape->count + 1;
    for (uint32_t i = 0; i < shape->count; i++)
        out.dim[i + 1] = shape->u.i[i];
    output[0] = out;
    return LM_OK;
}

static const lm_layer_type input = {
    .size = sizeof(lm_layer_type),
    .name = "input",
    .doc  = "samples that enter the network; adds the batch as first dimension",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .flags      = LM_SOURCE,
    .infer      = infer,
    .cost       = cost_of_kernels,
    .lower      = lower_nothing, /* the data loader's work does not count */
};

static const lm_layer_type *const types[] = { &input };

LM_PLUGIN = {
    .name    = "layermeter-input",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
