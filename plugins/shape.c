/* concat, flatten: layers that only arrange elements. */
#include <layermeter/plugin.h>

enum { AXIS };       /* of concat */
enum { START, END }; /* of flatten */

static const lm_param concat_params[] = {
    [AXIS] = { .name     = "axis",
               .kind     = LM_INT,
               .min      = -LM_MAX_RANK,
               .max      = LM_MAX_RANK - 1,
               .fallback = "1",
               .doc =
                   "dimension along which the inputs follow each other; below 0: from the last" },
};

static const lm_param flatten_params[] = {
    [START] = { .name     = "start",
                .kind     = LM_INT,
                .min      = -LM_MAX_RANK,
                .max      = LM_MAX_RANK - 1,
                .fallback = "1",
                .doc      = "first dimension to join; below 0: from the last" },
    [END]   = { .name     = "end",
                .kind     = LM_INT,
                .min      = -LM_MAX_RANK,
                .max      = LM_MAX_RANK - 1,
                .fallback = "-1",
                .doc      = "last dimension to join; below 0: from the last" },
};

/* The dimension that parameter `param` means for a tensor of `rank`. */
static lm_status dimension(const lm_layer *layer, uint32_t param, uint32_t rank, uint32_t *out)
{
    const int64_t value = lm_int(layer, param), d = value < 0 ? value + (int64_t)rank : value;

    if (d < 0 || d >= (int64_t)rank)
        return lm_fail(layer, LM_E_ARG, "no dimension %lld in an input of rank %u",
                       (long long)value, (unsigned)rank);
    *out = (uint32_t)d;
    return LM_OK;
}

static lm_status concat_infer(const lm_layer *layer, lm_tensor *output)
{
    lm_tensor out    = layer->input[0];
    uint32_t  axis   = 0;
    lm_status status = dimension(layer, AXIS, out.rank, &axis);

    if (status)
        return status;
    for (uint32_t i = 1; i < layer->n_inputs; i++) {
        const lm_tensor *in = &layer->input[i];

        if (in->dtype != out.dtype)
            return lm_fail(layer, LM_E_SHAPE, "inputs of different element types");
        if (in->rank != out.rank)
            return lm_fail(layer, LM_E_SHAPE, "inputs of rank %u and %u", (unsigned)out.rank,
                           (unsigned)in->rank);
        for (uint32_t d = 0; d < out.rank; d++)
            if (d != axis && in->dim[d] != out.dim[d])
                return lm_fail(layer, LM_E_SHAPE,
                               "%lld and %lld elements do not fit in dimension %u",
                               (long long)out.dim[d], (long long)in->dim[d], (unsigned)d);
        if (in->dim[axis] > INT64_MAX - out.dim[axis])
            return lm_fail(layer, LM_E_OVERFLOW, "more than 2^63 elements in dimension %u",
                           (unsigned)axis);
        out.dim[axis] += in->dim[axis];
    }
    output[0] = out;
    return LM_OK;
}

static lm_kernel concat_kernel(const lm_layer *layer, lm_pass pass)
{
    return (lm_kernel){
        .size         = sizeof(lm_kernel),
        .op           = LM_OP_COPY,
        .pass         = pass,
        .dtype        = layer->output[0].dtype,
        .repeat       = 1,
        .u.copy.bytes = (int64_t)lm_bytes(&layer->output[0]),
    };
}

static lm_status concat_cost(const lm_layer *layer, lm_cost *cost)
{
    const lm_kernel forward  = concat_kernel(layer, LM_FORWARD);
    const lm_kernel backward = concat_kernel(layer, LM_GRAD_INPUT);

    cost->pass[LM_FORWARD]    = lm_kernel_work(&forward);
    cost->pass[LM_GRAD_INPUT] = lm_kernel_work(&backward);
    return LM_OK;
}

static lm_status concat_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_kernel kernel = concat_kernel(layer, pass);

    if (pass != LM_GRAD_WEIGHT)
        sink->kernel(sink, &kernel);
    return LM_OK;
}

static lm_status flatten_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in    = &layer->input[0];
    lm_tensor        out   = { .dtype = in->dtype };
    uint32_t         start = 0, end = 0;
    uint64_t         joined = 1;
    lm_status        status = dimension(layer, START, in->rank, &start);

    if (!status)
        status = dimension(layer, END, in->rank, &end);
    if (status)
        return status;
    if (start > end)
        return lm_fail(layer, LM_E_ARG, "start at dimension %u comes after end at %u",
                       (unsigned)start, (unsigned)end);
    for (uint32_t d = 0; d < in->rank; d++) {
        if (d >= start && d <= end)
            joined = lm_mul(joined, (uint64_t)in->dim[d]);
        if (d < start || d > end)
            out.dim[out.rank++] = in->dim[d];
        else if (d == end)
            out.dim[out.rank++] = (int64_t)joined;
    }
    if (joined > INT64_MAX)
        return lm_fail(layer, LM_E_OVERFLOW, "more than 2^63 elements in dimension %u",
                       (unsigned)start);
    output[0] = out;
    return LM_OK;
}

/* A view: the same bytes under another shape. */
static lm_status flatten_cost(const lm_layer *layer, lm_cost *cost)
{
    (void)layer;
    (void)cost;
    return LM_OK;
}

static lm_status flatten_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    (void)layer;
    (void)pass;
    (void)sink;
    return LM_OK;
}

static const lm_layer_type concat = {
    .size = sizeof(lm_layer_type),
    .name = "concat",
    .doc  = "its inputs one after the other along a dimension",
    LM_PARAMS(concat_params),
    .min_inputs = 1,
    .n_outputs  = 1,
    .flags      = LM_FUNCTIONAL,
    .infer      = concat_infer,
    .cost       = concat_cost,
    .lower      = concat_lower,
};

static const lm_layer_type flatten = {
    .size = sizeof(lm_layer_type),
    .name = "flatten",
    .doc  = "joins neighbouring dimensions into one",
    LM_PARAMS(flatten_params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .flags      = LM_FUNCTIONAL | LM_VIEW,
    .infer      = flatten_infer,
    .cost       = flatten_cost,
    .lower      = flatten_lower,
};

static const lm_layer_type *const types[] = { &concat, &flatten };

LM_PLUGIN = {
    .name    = "layermeter-shape",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
