/* opaque: a layer of which only the counts are known. */
#include "lowering.h"

enum {
    SHAPE,
    FLOPS_FORWARD,
    READ_FORWARD,
    WRITTEN_FORWARD,
    FLOPS_BACKWARD,
    READ_BACKWARD,
    WRITTEN_BACKWARD
};

#define COUNT(param_name, param_unit, param_doc)                                       \
    {                                                                                  \
        .name = param_name, .kind = LM_INT, .min = 0, .max = 1e18, .unit = param_unit, \
        .doc = param_doc                                                               \
    }

/* Counts have no default: an unknown count is not 0. */
static const lm_param params[] = {
    [SHAPE]            = { .name = "shape",
                           .kind = LM_LIST,
                           .min  = 0,
                           .max  = 1e12,
                           .unit = "elements",
                           .doc  = "of the output, batch included; 0 copies the input's dimension at that "
                                              "place" },
    [FLOPS_FORWARD]    = COUNT("flops_forward", "FLOP", "forward, for a sample"),
    [READ_FORWARD]     = COUNT("read_forward", "bytes", "read forward, for a sample"),
    [WRITTEN_FORWARD]  = COUNT("written_forward", "bytes", "written forward, for a sample"),
    [FLOPS_BACKWARD]   = COUNT("flops_backward", "FLOP", "backward, for a sample"),
    [READ_BACKWARD]    = COUNT("read_backward", "bytes", "read backward, for a sample"),
    [WRITTEN_BACKWARD] = COUNT("written_backward", "bytes", "written backward, for a sample"),
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in    = &layer->input[0];
    const lm_value  *shape = &layer->param[SHAPE];
    lm_tensor        out   = { .dtype = in->dtype, .rank = shape->count };

    if (!in->rank)
        return lm_fail(layer, LM_E_SHAPE, "an input of rank 0 has no samples");
    for (uint32_t d = 0; d < shape->count; d++) {
        if (!shape->u.i[d] && d >= in->rank)
            return lm_fail(layer, LM_E_ARG, "shape: no dimension %u in the input to copy",
                           (unsigned)d);
        out.dim[d] = shape->u.i[d] ? shape->u.i[d] : in->dim[d];
    }
    output[0] = out;
    return LM_OK;
}

static uint64_t count(const lm_layer *layer, uint32_t param)
{
    return lm_mul((uint64_t)layer->input[0].dim[0], (uint64_t)lm_int(layer, param));
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const uint32_t first = pass == LM_FORWARD ? FLOPS_FORWARD : FLOPS_BACKWARD;
    const lm_work  work = { count(layer, first), count(layer, first + 1), count(layer, first + 2) };

    if (pass != LM_GRAD_WEIGHT && (work.flops || work.read_bytes || work.written_bytes))
        emit(sink, (lm_kernel){ .op       = LM_OP_OPAQUE,
                                .pass     = pass,
                                .dtype    = layer->output[0].dtype,
                                .u.opaque = work });
    return LM_OK;
}

/* Inputs and output are kept, as the backward pass may need them. */
static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    cost->keeps = LM_KEEPS_INPUT | LM_KEEPS_OUTPUT;
    return cost_of_kernels(layer, cost);
}

static const lm_layer_type opaque = {
    .size = sizeof(lm_layer_type),
    .name = "opaque",
    .doc  = "a stand-in for what no other type describes: its work is what you say it is",
    LM_PARAMS(params),
    .min_inputs = 1,
    .n_outputs  = 1,
    .flags      = LM_FUNCTIONAL,
    .infer      = infer,
    .cost       = cost,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &opaque };

LM_PLUGIN = {
    .name    = "layermeter-opaque",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
