/* softmax, log_softmax, softmin: exponentials along one dimension, scaled to
 * the sum 1, as in torch.nn. */
#include "inputs.h"
#include "tensors.h"

enum { AXIS };

static const lm_param params[] = {
    [AXIS] = { .name = "axis",
               TENSOR_AXIS(LM_INT),
               .fallback = "-1",
               .doc      = "dimension whose elements sum to 1; below 0: from the last" },
};

typedef struct softmax_type {
    lm_layer_type type;    /* first: a layer's `type` points here */
    int           negated; /* 1: of -x */
} softmax_type;

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    uint32_t  axis   = 0;
    lm_status status = input_real(layer, 0);

    if (!status)
        status = tensor_axis(layer, lm_int(layer, AXIS), layer->input[0].rank, &axis);
    if (!status)
        output[0] = layer->input[0];
    return status;
}

/* log_softmax has the same number of FLOPs: forward max, subtract, exp, sum, subtract (and one
 * logarithm per row), backward dy - exp(y) sum(dy). */
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const softmax_type *self     = (const softmax_type *)(const void *)layer->type;
    const lm_tensor    *in       = &layer->input[0];
    const int64_t       n        = (int64_t)lm_elements(in);
    uint32_t            axis     = 0;
    const lm_status     status   = tensor_axis(layer, lm_int(layer, AXIS), in->rank, &axis);
    const lm_kernel     negative = { .op    = LM_OP_MAP,
                                     .pass  = pass,
                                     .dtype = in->dtype,
                                     .u.map = {
                                         .elements = n, .operands = 1, .flops_per_element = 1 } };

    if (status || pass == LM_GRAD_WEIGHT)
        return status;
    if (self->negated && pass == LM_FORWARD)
        emit(sink, negative);
    emit(sink, (lm_kernel){ .op        = LM_OP_SOFTMAX,
                            .pass      = pass,
                            .dtype     = in->dtype,
                            .u.softmax = { n / in->dim[axis], in->dim[axis] } });
    if (self->negated && pass == LM_GRAD_INPUT)
        emit(sink, negative);
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    cost->keeps = LM_KEEPS_OUTPUT;
    return cost_of_kernels(layer, cost);
}

#define SOFTMAX(type_name, type_doc)                                                      \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, LM_PARAMS(params), \
    .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .infer = infer, .cost = cost, .lower = lower

static const softmax_type softmax = {
    .type = { SOFTMAX("softmax", "exponentials along a dimension, scaled to the sum 1") },
};
static const softmax_type log_softmax = {
    .type = { SOFTMAX("log_softmax", "logarithms of what softmax yields") },
};
static const softmax_type softmin = {
    .type    = { SOFTMAX("softmin", "softmax of -x") },
    .negated = 1,
};

static const lm_layer_type *const types[] = { &softmax.type, &log_softmax.type, &softmin.type };

LM_PLUGIN = {
    .name    = "layermeter-softmax",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
