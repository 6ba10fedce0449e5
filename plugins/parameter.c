/* parameter, constant: tensors that belong to the network and are not computed by it. */
#include <stdbool.h>

#include "splitting.h"
#include "tensors.h"

enum { SHAPE, EXPAND, TRAINED }; /* of parameter */
enum { DTYPE = 1, REPEATED };    /* of constant */

#define SHAPE_PARAM                                                                      \
    {                                                                                    \
        .name = "shape", .kind = LM_SHAPE, .min = 1, .max = 1e9, .unit = "elements",     \
        .doc = "the tensor, outermost dimension first; there is no batch in front of it" \
    }

static const lm_param parameter_params[] = {
    [SHAPE]   = SHAPE_PARAM,
    [EXPAND]  = { .name     = "expand",
                  .kind     = LM_BOOL,
                  .fallback = "no",
                  .doc      = "put the batch in front: the same memory for every sample, whose "
                               "gradients are added up" },
    [TRAINED] = { .name     = "trained",
                  .kind     = LM_BOOL,
                  .fallback = "yes",
                  .doc      = "no: it has no gradient and is not updated" },
};

static const lm_param constant_params[] = {
    [SHAPE]    = SHAPE_PARAM,
    [DTYPE]    = { .name     = "dtype",
                   .kind     = LM_ENUM,
                   .choices  = TENSOR_DTYPES_OR_NETWORK,
                   .fallback = "network",
                   .doc      = "element type; network: that of weights and activations" },
    [REPEATED] = { .name     = "expand",
                   .kind     = LM_BOOL,
                   .fallback = "no",
                   .doc      = "put the batch in front: the same memory for every sample" },
};

static lm_tensor tensor_of(const lm_layer *layer, lm_dtype dtype)
{
    const lm_value *shape = &layer->param[SHAPE];
    lm_tensor       t     = { .dtype = dtype, .rank = shape->count };

    for (uint32_t i = 0; i < shape->count; i++)
        t.dim[i] = shape->u.i[i];
    return t;
}

static lm_status put(const lm_layer *layer, lm_tensor out, bool expand, lm_tensor *output)
{
    if (expand) {
        if (out.rank == LM_MAX_RANK)
            return lm_fail(layer, LM_E_SHAPE, "%u dimensions; at most %d fit beside the batch",
                           (unsigned)out.rank, LM_MAX_RANK - 1);
        for (uint32_t d = out.rank++; d > 0; d--)
            out.dim[d] = out.dim[d - 1];
        out.dim[0] = layer->input[0].dim[0];
    }
    output[0] = out;
    return LM_OK;
}

static lm_status parameter_infer(const lm_layer *layer, lm_tensor *output)
{
    return put(layer, tensor_of(layer, layer->dtype), lm_int(layer, EXPAND), output);
}

/* The dimension of tokens or heads is the second one; the first one of a shape without batch. */
static lm_status split_shape(const lm_layer *layer, lm_split *s, uint32_t at)
{
    if ((s->way != LM_TOKENS && s->way != LM_HEADS) || at >= layer->param[SHAPE].count)
        return split_refused(layer);
    return split_evenly(layer, s, SHAPE, at, s->way == LM_TOKENS ? "tokens" : "heads");
}

static lm_status parameter_split(const lm_layer *layer, lm_split *s)
{
    return split_shape(layer, s, !lm_int(layer, EXPAND));
}

static lm_status constant_split(const lm_layer *layer, lm_split *s)
{
    return split_shape(layer, s, !lm_int(layer, REPEATED));
}

static lm_status constant_infer(const lm_layer *layer, lm_tensor *output)
{
    return put(layer, tensor_of(layer, tensor_dtype_of(layer, lm_int(layer, DTYPE))),
               lm_int(layer, REPEATED), output);
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    emit_weight(sink, (lm_weight){ .role   = "weight",
                                   .tensor = tensor_of(layer, layer->dtype),
                                   .flags  = lm_int(layer, TRAINED) ? 0 : LM_FROZEN });
    return LM_OK;
}

static lm_status parameter_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_tensor one = tensor_of(layer, layer->dtype);

    if (pass == LM_GRAD_WEIGHT && lm_int(layer, TRAINED))
        emit_sum_to(sink, pass, &one, &layer->output[0]);
    return LM_OK;
}

#define SOURCE(type_name, type_doc)                                                     \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = 1, \
    .max_inputs = 1, .n_outputs = 1, .flags = LM_SOURCE | LM_CONSTANT | LM_FUNCTIONAL,  \
    .cost = cost_of_kernels

static const lm_layer_type parameter = {
    SOURCE("parameter", "a learned tensor of the network: a class token, an embedding of places"),
    LM_PARAMS(parameter_params),
    .infer   = parameter_infer,
    .split   = parameter_split,
    .weights = weights,
    .lower   = parameter_lower,
};

static const lm_layer_type constant = {
    SOURCE("constant", "a tensor that is always the same: a mask, a table of frequencies"),
    LM_PARAMS(constant_params),
    .infer = constant_infer,
    .split = constant_split,
    .lower = lower_nothing,
};

static const lm_layer_type *const types[] = { &parameter, &constant };

LM_PLUGIN = {
    .name    = "layermeter-parameter",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
