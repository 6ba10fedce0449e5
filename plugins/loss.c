/* cross_entropy: mean loss of class scores against class numbers, as
 * torch.nn.functional.cross_entropy. */
#include <layermeter/plugin.h>

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    if (layer->input[0].rank < 2)
        return lm_fail(layer, LM_E_SHAPE,
                       "input of rank %u, expected 2 or more: batch, classes, ...",
                       (unsigned)layer->input[0].rank);
    output[0] = (lm_tensor){ .dtype = layer->input[0].dtype };
    return LM_OK;
}

/* Decisions: one for each sample and, behind the classes, each pixel. */
static int64_t rows_of(const lm_layer *layer)
{
    lm_tensor rows = layer->input[0];

    rows.dim[1] = 1;
    return (int64_t)lm_elements(&rows);
}

/* The logarithm of a softmax; its backward launch yields the gradient of the whole loss. */
static lm_kernel softmax_of(const lm_layer *layer, lm_pass pass)
{
    return (lm_kernel){
        .size      = sizeof(lm_kernel),
        .op        = LM_OP_SOFTMAX,
        .pass      = pass,
        .dtype     = layer->input[0].dtype,
        .repeat    = 1,
        .u.softmax = { .rows = rows_of(layer), .group = layer->input[0].dim[1] },
    };
}

/* Picks the score of each right class and adds them up for the mean. */
static lm_kernel pick_of(const lm_layer *layer)
{
    return (lm_kernel){
        .size   = sizeof(lm_kernel),
        .op     = LM_OP_MAP,
        .pass   = LM_FORWARD,
        .dtype  = layer->input[0].dtype,
        .repeat = 1,
        .u.map  = { .elements = rows_of(layer), .operands = 1, .flops_per_element = 1 },
    };
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const lm_kernel forward = softmax_of(layer, LM_FORWARD), pick = pick_of(layer);
    const lm_kernel backward = softmax_of(layer, LM_GRAD_INPUT);
    const lm_work   a = lm_kernel_work(&forward), b = lm_kernel_work(&pick);

    cost->pass[LM_FORWARD] =
        (lm_work){ lm_add(a.flops, b.flops), lm_add(a.read_bytes, b.read_bytes),
                   lm_add(a.written_bytes, b.written_bytes) };
    cost->pass[LM_GRAD_INPUT] = lm_kernel_work(&backward);
    cost->saved_bytes         = lm_bytes(&layer->input[0]); /* the logarithms */
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_kernel softmax = softmax_of(layer, pass), pick = pick_of(layer);

    if (pass != LM_GRAD_WEIGHT)
        sink->kernel(sink, &softmax);
    if (pass == LM_FORWARD)
        sink->kernel(sink, &pick);
    return LM_OK;
}

static const lm_layer_type cross_entropy = {
    .size       = sizeof(lm_layer_type),
    .name       = "cross_entropy",
    .doc        = "mean cross entropy of class scores (dimension 1); yields a scalar",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .flags      = LM_FUNCTIONAL,
    .infer      = infer,
    .cost       = cost,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &cross_entropy };

LM_PLUGIN = {
    .name    = "layermeter-loss",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
