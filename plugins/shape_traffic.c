/* traffic: reads its inputs and writes an output of a given shape. */
#include <stdbool.h>

#include "shape.h"

enum { SHAPE, LIKE, DTYPE, READS, FLOPS };

static const lm_param params[] = {
    [SHAPE] = { .name = "shape",
                .kind = LM_LIST,
                .min  = 0,
                .max  = 1e12,
                .unit = "elements",
                .doc  = "of the output, batch included; 0 copies a dimension of the input that "
                        "`like` names" },
    [LIKE]  = { .name     = "like",
                .kind     = LM_INT,
                .min      = 0,
                .max      = LM_KEEPS_MAX - 1,
                .fallback = "0",
                .doc      = "the input whose dimensions are copied, from 0" },
    [DTYPE] = { .name     = "dtype",
                .kind     = LM_ENUM,
                .choices  = TENSOR_DTYPES_OR_NETWORK,
                .fallback = "network",
                .doc      = "element type of the output; integers carry no gradient" },
    [READS] = { .name     = "reads",
                .kind     = LM_BOOL,
                .fallback = "yes",
                .doc      = "are the inputs read? Random numbers take no more than a shape" },
    [FLOPS] = { .name     = "flops",
                .kind     = LM_INT,
                .min      = 0,
                .max      = 1e6,
                .unit     = "FLOP",
                .fallback = "0",
                .doc      = "for each element of the output, forward and backward" },
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_value *shape = &layer->param[SHAPE];
    const uint32_t  like  = (uint32_t)lm_int(layer, LIKE);
    lm_tensor out = { .dtype = tensor_dtype_of(layer, lm_int(layer, DTYPE)), .rank = shape->count };

    if (like >= layer->n_inputs)
        return lm_fail(layer, LM_E_ARG, "like: %u inputs, no input %u", (unsigned)layer->n_inputs,
                       (unsigned)like);
    for (uint32_t d = 0; d < shape->count; d++) {
        if (!shape->u.i[d] && d >= layer->input[like].rank)
            return lm_fail(layer, LM_E_ARG, "shape: no dimension %u in input %u to copy",
                           (unsigned)d, (unsigned)like);
        out.dim[d] = shape->u.i[d] ? shape->u.i[d] : layer->input[like].dim[d];
    }
    output[0] = out;
    return LM_OK;
}

/* Size of all inputs, or of the real ones, in elements of the output's type. */
static uint64_t input_elements(const lm_layer *layer, bool real)
{
    const uint64_t size  = lm_dtype_bytes(layer->output[0].dtype);
    uint64_t       bytes = 0;

    for (uint32_t i = 0; i < layer->n_inputs; i++)
        if (!real || lm_dtype_is_real(layer->input[i].dtype))
            bytes = lm_add(bytes, lm_bytes(&layer->input[i]));
    return bytes / size + (bytes % size != 0);
}

/* Backward reads the output's gradient and writes those of the real inputs. */
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const bool     forward = pass == LM_FORWARD;
    const int64_t  out     = (int64_t)lm_elements(&layer->output[0]);
    const uint64_t in      = lm_int(layer, READS) ? input_elements(layer, !forward) : 0;

    if (pass == LM_GRAD_WEIGHT || !out ||
        (!forward && (!in || !lm_dtype_is_real(layer->output[0].dtype))))
        return LM_OK;
    emit(sink, (lm_kernel){ .op    = LM_OP_MAP,
                            .pass  = pass,
                            .dtype = layer->output[0].dtype,
                            .u.map = { .elements          = out,
                                       .operands          = in != 0,
                                       .flops_per_element = lm_int(layer, FLOPS),
                                       .reads             = forward ? (int64_t)in : out,
                                       .writes            = forward ? out : (int64_t)in } });
    return LM_OK;
}

/* Keeps the indices of moved elements. */
static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    for (uint32_t i = 0; i < layer->n_inputs && i < LM_KEEPS_MAX; i++)
        if (!lm_dtype_is_real(layer->input[i].dtype) && lm_dtype_is_real(layer->output[0].dtype))
            cost->keeps |= LM_KEEPS_ONE(i);
    return cost_of_kernels(layer, cost);
}

const lm_layer_type shape_traffic = {
    .size = sizeof(lm_layer_type),
    .name = "traffic",
    .doc  = "reads its inputs and writes an output: what moves, selects or maps elements",
    LM_PARAMS(params),
    .min_inputs = 1,
    .n_outputs  = 1,
    .flags      = LM_FUNCTIONAL,
    .infer      = infer,
    .cost       = cost,
    .lower      = lower,
};
