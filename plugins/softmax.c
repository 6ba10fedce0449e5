/* softmax: exponentials along one dimension, scaled to the sum 1, as torch.nn.Softmax. */
#include <layermeter/plugin.h>

enum { AXIS };

static const lm_param params[] = {
    [AXIS] = { .name     = "axis",
               .kind     = LM_INT,
               .min      = -LM_MAX_RANK,
               .max      = LM_MAX_RANK - 1,
               .fallback = "-1",
               .doc      = "dimension whose elements sum to 1; below 0: from the last" },
};

static int64_t axis_of(const lm_layer *layer)
{
    const int64_t axis = lm_int(layer, AXIS);

    return axis < 0 ? axis + (int64_t)layer->input[0].rank : axis;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const int64_t axis = axis_of(layer);

    if (axis < 0 || axis >= (int64_t)layer->input[0].rank)
        return lm_fail(layer, LM_E_ARG, "no dimension %lld in an input of rank %u",
                       (long long)lm_int(layer, AXIS), (unsigned)layer->input[0].rank);
    output[0] = layer->input[0];
    return LM_OK;
}

static lm_kernel kernel_of(const lm_layer *layer, lm_pass pass)
{
    const int64_t axis = axis_of(layer), group = layer->input[0].dim[axis];
    lm_tensor     rows = layer->input[0];

    rows.dim[axis] = 1;
    return (lm_kernel){
        .size      = sizeof(lm_kernel),
        .op        = LM_OP_SOFTMAX,
        .pass      = pass,
        .dtype     = rows.dtype,
        .repeat    = 1,
        .u.softmax = { .rows = (int64_t)lm_elements(&rows), .group = group },
    };
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const lm_kernel forward  = kernel_of(layer, LM_FORWARD),
                    backward = kernel_of(layer, LM_GRAD_INPUT);

    cost->pass[LM_FORWARD]    = lm_kernel_work(&forward);
    cost->pass[LM_GRAD_INPUT] = lm_kernel_work(&backward);
    cost->keeps               = LM_KEEPS_OUTPUT;
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_kernel kernel = kernel_of(layer, pass);

    if (pass != LM_GRAD_WEIGHT)
        sink->kernel(sink, &kernel);
    return LM_OK;
}

static const lm_layer_type softmax = {
    .size = sizeof(lm_layer_type),
    .name = "softmax",
    .doc  = "exponentials along a dimension, scaled to the sum 1",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &softmax };

LM_PLUGIN = {
    .name    = "layermeter-softmax",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
