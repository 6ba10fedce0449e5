/* batch_norm: normalises each channel over the batch, as torch.nn.BatchNorm1d, 2d and 3d do. */
#include <layermeter/plugin.h>

enum { AFFINE, TRACK };

static const lm_param params[] = {
    [AFFINE] = { .name     = "affine",
                 .kind     = LM_BOOL,
                 .fallback = "yes",
                 .doc      = "learn a scale and a shift per channel" },
    [TRACK]  = { .name     = "track_running_stats",
                 .kind     = LM_BOOL,
                 .fallback = "yes",
                 .doc      = "keep running means and variances, which have no gradient" },
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const uint32_t rank = layer->input[0].rank;

    if (rank < 2 || rank > 5)
        return lm_fail(layer, LM_E_SHAPE, "input of rank %u, expected 2 to 5: batch, channels, ...",
                       (unsigned)rank);
    output[0] = layer->input[0];
    return LM_OK;
}

static lm_kernel kernel_of(const lm_layer *layer, lm_pass pass)
{
    const lm_tensor *in      = &layer->input[0];
    uint64_t         spatial = 1;

    for (uint32_t i = 2; i < in->rank; i++)
        spatial = lm_mul(spatial, (uint64_t)in->dim[i]);
    return (lm_kernel){
        .size   = sizeof(lm_kernel),
        .op     = LM_OP_NORM,
        .pass   = pass,
        .dtype  = in->dtype,
        .repeat = 1,
        .u.norm = { .rows  = in->dim[1],
                    .group = (int64_t)lm_mul((uint64_t)in->dim[0], spatial),
                    .inner = (int64_t)spatial },
    };
}

/* One backward launch yields all three gradients: it stands under LM_GRAD_INPUT. */
static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const lm_kernel forward  = kernel_of(layer, LM_FORWARD),
                    backward = kernel_of(layer, LM_GRAD_INPUT);
    const uint64_t element   = lm_dtype_bytes(layer->input[0].dtype);

    cost->pass[LM_FORWARD]    = lm_kernel_work(&forward);
    cost->pass[LM_GRAD_INPUT] = lm_kernel_work(&backward);
    cost->keeps               = LM_KEEPS_INPUT;
    /* mean and inverse deviation of each channel, in single precision or better */
    cost->saved_bytes = lm_mul(2 * (uint64_t)layer->input[0].dim[1], element > 4 ? element : 4);
    return LM_OK;
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    lm_weight w = {
        .size   = sizeof w,
        .tensor = { .dtype = layer->input[0].dtype, .rank = 1, .dim = { layer->input[0].dim[1] } }
    };

    if (lm_int(layer, AFFINE)) {
        w.role = "weight";
        sink->weight(sink, &w);
        w.role = "bias";
        sink->weight(sink, &w);
    }
    if (lm_int(layer, TRACK)) {
        w.flags = LM_FROZEN;
        w.role  = "running_mean";
        sink->weight(sink, &w);
        w.role = "running_var";
        sink->weight(sink, &w);
    }
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_kernel kernel = kernel_of(layer, pass);

    if (pass != LM_GRAD_WEIGHT)
        sink->kernel(sink, &kernel);
    return LM_OK;
}

static const lm_layer_type batch_norm = {
    .size = sizeof(lm_layer_type),
    .name = "batch_norm",
    .doc  = "normalises each channel over batch and space, then scales and shifts it",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
    .weights    = weights,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &batch_norm };

LM_PLUGIN = {
    .name    = "layermeter-norm",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
