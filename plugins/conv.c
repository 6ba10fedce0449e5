/* conv2d: convolution of images, with the semantics of torch.nn.Conv2d. */
#include <layermeter/plugin.h>

enum { FILTERS, KERNEL, STRIDE, PADDING, DILATION, GROUPS, BIAS };

static const lm_param params[] = {
    [FILTERS]  = { .name = "filters",
                   .kind = LM_INT,
                   .min  = 1,
                   .max  = 1e9,
                   .doc  = "output channels" },
    [KERNEL]   = { .name  = "kernel",
                   .kind  = LM_INT,
                   .count = 2,
                   .min   = 1,
                   .max   = 1e6,
                   .doc   = "height and width of the window, in pixels" },
    [STRIDE]   = { .name     = "stride",
                   .kind     = LM_INT,
                   .count    = 2,
                   .min      = 1,
                   .max      = 1e6,
                   .fallback = "1",
                   .doc      = "step of the window, in pixels" },
    [PADDING]  = { .name     = "padding",
                   .kind     = LM_INT,
                   .count    = 2,
                   .min      = 0,
                   .max      = 1e6,
                   .fallback = "0",
                   .doc      = "zeros added on each side, in pixels" },
    [DILATION] = { .name     = "dilation",
                   .kind     = LM_INT,
                   .count    = 2,
                   .min      = 1,
                   .max      = 1e6,
                   .fallback = "1",
                   .doc      = "distance between neighbouring taps of the window, in pixels" },
    [GROUPS]   = { .name     = "groups",
                   .kind     = LM_INT,
                   .min      = 1,
                   .max      = 1e9,
                   .fallback = "1",
                   .doc      = "parts the channels are cut into; divides input and output channels" },
    [BIAS]     = { .name     = "bias",
                   .kind     = LM_BOOL,
                   .fallback = "yes",
                   .doc      = "add a number per filter" },
};

/* One axis: floor((in + 2 padding - dilation (kernel - 1) - 1) / stride) + 1, as in the
 * documentation of torch.nn.Conv2d. */
static lm_status infer_axis(const lm_layer *layer, uint32_t axis, int64_t *out)
{
    const uint64_t padded =
        (uint64_t)layer->input[0].dim[2 + axis] + 2 * (uint64_t)layer->param[PADDING].u.i[axis];
    const uint64_t reach = (uint64_t)layer->param[DILATION].u.i[axis] *
                               (uint64_t)(layer->param[KERNEL].u.i[axis] - 1) +
                           1;
    uint64_t n;

    if (reach > padded)
        return lm_fail(layer, LM_E_SHAPE,
                       "window reaches over %llu pixels of a padded input of %llu",
                       (unsigned long long)reach, (unsigned long long)padded);
    n = (padded - reach) / (uint64_t)layer->param[STRIDE].u.i[axis] + 1;
    if (n > INT64_MAX)
        return lm_fail(layer, LM_E_OVERFLOW, "an output of %llu pixels", (unsigned long long)n);
    *out = (int64_t)n;
    return LM_OK;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const int64_t filters = lm_int(layer, FILTERS), groups = lm_int(layer, GROUPS);
    lm_tensor     out = layer->input[0];
    lm_status     status;

    if (out.rank != 4)
        return lm_fail(layer, LM_E_SHAPE,
                       "input of rank %u, expected 4: batch, channels, height, width",
                       (unsigned)out.rank);
    if (out.dim[1] % groups)
        return lm_fail(layer, LM_E_SHAPE, "%lld input channels do not divide into %lld groups",
                       (long long)out.dim[1], (long long)groups);
    if (filters % groups)
        return lm_fail(layer, LM_E_ARG, "%lld filters do not divide into %lld groups",
                       (long long)filters, (long long)groups);
    out.dim[1] = filters;
    for (uint32_t axis = 0; axis < 2; axis++) {
        status = infer_axis(layer, axis, &out.dim[2 + axis]);
        if (status)
            return status;
    }
    output[0] = out;
    return LM_OK;
}

static lm_kernel kernel_of(const lm_layer *layer, lm_pass pass)
{
    const int64_t  *in = layer->input[0].dim, *out = layer->output[0].dim;
    const lm_value *p = layer->param;

    return (lm_kernel){
        .size   = sizeof(lm_kernel),
        .op     = LM_OP_CONV,
        .pass   = pass,
        .dtype  = layer->input[0].dtype,
        .repeat = 1,
        .u.conv = { .n        = in[0],
                    .c_in     = in[1],
                    .c_out    = out[1],
                    .groups   = lm_int(layer, GROUPS),
                    .bias     = lm_int(layer, BIAS),
                    .in       = { 1, in[2], in[3] },
                    .out      = { 1, out[2], out[3] },
                    .window   = { 1, p[KERNEL].u.i[0], p[KERNEL].u.i[1] },
                    .stride   = { 1, p[STRIDE].u.i[0], p[STRIDE].u.i[1] },
                    .pad      = { 0, p[PADDING].u.i[0], p[PADDING].u.i[1] },
                    .dilation = { 1, p[DILATION].u.i[0], p[DILATION].u.i[1] } },
    };
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    for (lm_pass pass = 0; pass < LM_N_PASSES; pass++) {
        const lm_kernel kernel = kernel_of(layer, pass);

        cost->pass[pass] = lm_kernel_work(&kernel);
    }
    cost->keeps = LM_KEEPS_INPUT;
    return LM_OK;
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    const int64_t  filters = lm_int(layer, FILTERS), groups = lm_int(layer, GROUPS);
    const int64_t *window = layer->param[KERNEL].u.i;
    lm_weight      w      = { .size = sizeof w, .role = "weight" };

    w.tensor = (lm_tensor){
        .dtype = layer->input[0].dtype,
        .rank  = 4,
        .dim   = { filters, layer->input[0].dim[1] / groups, window[0], window[1] },
    };
    sink->weight(sink, &w);
    if (lm_int(layer, BIAS)) {
        w.role   = "bias";
        w.tensor = (lm_tensor){ .dtype = w.tensor.dtype, .rank = 1, .dim = { filters } };
        sink->weight(sink, &w);
    }
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_kernel kernel = kernel_of(layer, pass);

    sink->kernel(sink, &kernel);
    return LM_OK;
}

static const lm_layer_type conv2d = {
    .size = sizeof(lm_layer_type),
    .name = "conv2d",
    .doc  = "convolution over height and width",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
    .weights    = weights,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &conv2d };

LM_PLUGIN = {
    .name    = "layermeter-conv",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
