/*
 * Convolutions and transposed convolutions of 1, 2 and 3 dimensions, as in torch.nn.
 *
 * Each of the three products of a convolution pairs every output with every weight it sees, once.
 * PALEO (Qi et al. 2017) differs for the input gradient: a convolution over the output's gradient,
 * with zeros between and around its pixels. It counts products with the zeros around, too: one for
 * each pixel of the input.
 *
 * A transposed convolution is lowered to the convolution that it transposes. Its forward pass is
 * the input gradient of that convolution, and vice versa.
 */
#include "tensors.h"
#include "windows.h"

enum { FILTERS, KERNEL, STRIDE, PADDING, DILATION, GROUPS, BIAS, OUTPUT_PADDING, N_PARAMS };

#define CONV_PARAMS(axes, extent, padding_doc)                                                        \
    {                                                                                                 \
        [FILTERS] = { .name = "filters",                                                              \
                      .kind = LM_INT,                                                                 \
                      .min  = 1,                                                                      \
                      .max  = 1e9,                                                                    \
                      .unit = "channels",                                                             \
                      .doc  = "output channels" },                                                     \
        [KERNEL]  = WINDOW_KERNEL(axes, extent),                                                      \
        [STRIDE]  = { .name     = "stride",                                                           \
                      .kind     = LM_INT,                                                             \
                      .count    = (axes),                                                             \
                      .min      = 1,                                                                  \
                      .max      = 1e6,                                                                \
                      .unit     = "pixels",                                                           \
                      .fallback = "1",                                                                \
                      .doc      = "step of the window" },                                                  \
        [PADDING] = WINDOW_PADDING(axes, padding_doc), [DILATION] = WINDOW_DILATION(axes),            \
        [GROUPS]         = { .name     = "groups",                                                    \
                             .kind     = LM_INT,                                                      \
                             .min      = 1,                                                           \
                             .max      = 1e9,                                                         \
                             .fallback = "1",                                                         \
                             .doc      = "parts the channels are cut into; divides input and output " \
                                                 "channels" },                                                     \
        [BIAS]           = { .name     = "bias",                                                      \
                             .kind     = LM_BOOL,                                                     \
                             .fallback = "yes",                                                       \
                             .doc      = "add a number per filter" },                                      \
        [OUTPUT_PADDING] = { .name     = "output_padding",                                            \
                             .kind     = LM_INT,                                                      \
                             .count    = (axes),                                                      \
                             .min      = 0,                                                           \
                             .max      = 1e6,                                                         \
                             .unit     = "pixels",                                                    \
                             .fallback = "0",                                                         \
                             .doc = "added to the output behind; less than stride or dilation" },     \
    }

#define CONV_PARAMS_OF_ALL(padding_doc)                                                 \
    {                                                                                   \
        CONV_PARAMS(1, WINDOW_1D, padding_doc), CONV_PARAMS(2, WINDOW_2D, padding_doc), \
            CONV_PARAMS(3, WINDOW_3D, padding_doc),                                     \
    }

static const lm_param plain_params[3][N_PARAMS] = CONV_PARAMS_OF_ALL("zeros added on each side");
static const lm_param transposed_params[3][N_PARAMS] =
    CONV_PARAMS_OF_ALL("cut off each side of the output");

typedef struct conv_type {
    lm_layer_type type; /* first: a layer's `type` points here */
    uint32_t      axes;
    int           transposed;
} conv_type;

static const conv_type *conv_of(const lm_layer *layer)
{
    return (const conv_type *)(const void *)layer->type;
}

/* (in - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1, as in the documentation
 * of torch.nn.ConvTranspose2d. */
static lm_status spread_axis(const lm_layer *layer, uint32_t i, int64_t in, int64_t *out)
{
    const lm_value *p      = layer->param;
    const int64_t   behind = p[OUTPUT_PADDING].u.i[i], dilation = p[DILATION].u.i[i];
    const int64_t   stride = p[STRIDE].u.i[i], padding = p[PADDING].u.i[i];
    const uint64_t  reach = (uint64_t)(dilation * (p[KERNEL].u.i[i] - 1) + behind) + 1;
    const uint64_t  all   = lm_add(lm_mul((uint64_t)in - 1, (uint64_t)stride), reach);

    if (behind >= stride && behind >= dilation)
        return lm_fail(layer, LM_E_ARG,
                       "output_padding of %lld must be less than stride %lld or dilation %lld",
                       (long long)behind, (long long)stride, (long long)dilation);
    if (all > INT64_MAX)
        return lm_fail(layer, LM_E_OVERFLOW, "an output of more than 2^63 pixels");
    if (all <= 2 * (uint64_t)padding)
        return lm_fail(layer, LM_E_SHAPE,
                       "padding of %lld on each side leaves nothing of an output of %llu pixels",
                       (long long)padding, (unsigned long long)all);
    *out = (int64_t)all - 2 * padding;
    return LM_OK;
}

static window_axis axis_of(const lm_layer *layer, uint32_t i)
{
    const lm_value *p = layer->param;

    return (window_axis){ .in       = layer->input[0].dim[2 + i],
                          .size     = p[KERNEL].u.i[i],
                          .stride   = p[STRIDE].u.i[i],
                          .pad      = p[PADDING].u.i[i],
                          .dilation = p[DILATION].u.i[i] };
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const conv_type *self    = conv_of(layer);
    const int64_t    filters = lm_int(layer, FILTERS), groups = lm_int(layer, GROUPS);
    lm_tensor        out    = layer->input[0];
    lm_status        status = window_rank(layer, self->axes);

    if (status)
        return status;
    if (out.dim[1] % groups)
        return lm_fail(layer, LM_E_SHAPE, "%lld input channels do not divide into %lld groups",
                       (long long)out.dim[1], (long long)groups);
    if (filters % groups)
        return lm_fail(layer, LM_E_ARG, "%lld filters do not divide into %lld groups",
                       (long long)filters, (long long)groups);
    out.dim[1] = filters;
    for (uint32_t i = 0; i < self->axes; i++) {
        window_axis axis = axis_of(layer, i);

        status = self->transposed ? spread_axis(layer, i, axis.in, &axis.out)
                                  : window_count(layer, &axis, 0);
        if (status)
            return status;
        out.dim[2 + i] = axis.out;
    }
    output[0] = out;
    return LM_OK;
}

static lm_pass pass_of_transposed(lm_pass pass)
{
    return pass == LM_FORWARD ? LM_GRAD_INPUT : pass == LM_GRAD_INPUT ? LM_FORWARD : pass;
}

static lm_kernel kernel_of(const lm_layer *layer, lm_pass pass)
{
    const conv_type *self    = conv_of(layer);
    const int64_t   *in      = self->transposed ? layer->output[0].dim : layer->input[0].dim;
    const int64_t   *out     = self->transposed ? layer->input[0].dim : layer->output[0].dim;
    window_axis      axis[3] = { window_none(), window_none(), window_none() };
    lm_kernel        k       = {
                     .op     = LM_OP_CONV,
                     .pass   = self->transposed ? pass_of_transposed(pass) : pass,
                     .dtype  = layer->input[0].dtype,
                     .u.conv = { .n      = in[0],
                                 .c_in   = in[1],
                                 .c_out  = out[1],
                                 .groups = lm_int(layer, GROUPS),
                                 .bias   = !self->transposed && lm_int(layer, BIAS) },
    };

    for (uint32_t i = 0; i < self->axes; i++) {
        window_axis *a = &axis[3 - self->axes + i];

        *a     = axis_of(layer, i);
        a->in  = in[2 + i];
        a->out = out[2 + i];
    }
    WINDOW_FILL(&k.u.conv, axis);
    return k;
}

/* The bias of a transposed convolution. Its forward kernel is an input gradient, which adds no
 * bias. So the bias and the sum for its gradient are separate launches. */
static lm_status transposed_bias(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const uint64_t n = lm_elements(&layer->output[0]), filters = (uint64_t)lm_int(layer, FILTERS);
    lm_kernel      k = { .pass = pass, .dtype = layer->input[0].dtype };

    if (pass == LM_FORWARD) {
        k.op                      = LM_OP_MAP;
        k.u.map.elements          = (int64_t)n;
        k.u.map.operands          = 1;
        k.u.map.flops_per_element = 1;
        emit(sink, k);
    } else if (pass == LM_GRAD_WEIGHT) {
        k.op             = LM_OP_REDUCE;
        k.u.reduce.rows  = (int64_t)filters;
        k.u.reduce.group = (int64_t)(n / filters);
        k.u.reduce.inner = 1;
        emit(sink, k);
    }
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    emit(sink, kernel_of(layer, pass));
    return conv_of(layer)->transposed && lm_int(layer, BIAS) ? transposed_bias(layer, pass, sink)
                                                             : LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    cost->keeps = LM_KEEPS_INPUT;
    return cost_of_kernels(layer, cost);
}

/* Output channels first, or the input's if transposed; the others within a group. */
static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    const conv_type *self    = conv_of(layer);
    const int64_t    filters = lm_int(layer, FILTERS), groups = lm_int(layer, GROUPS);
    const int64_t    channels = layer->input[0].dim[1];
    lm_tensor        weight   = { .dtype = layer->input[0].dtype, .rank = 2 + self->axes };

    weight.dim[0] = self->transposed ? channels : filters;
    weight.dim[1] = (self->transposed ? filters : channels) / groups;
    for (uint32_t i = 0; i < self->axes; i++)
        weight.dim[2 + i] = layer->param[KERNEL].u.i[i];
    emit_weight(sink, (lm_weight){ .role = "weight", .tensor = weight });
    if (lm_int(layer, BIAS))
        emit_weight(sink, (lm_weight){
                              .role   = "bias",
                              .tensor = { .dtype = weight.dtype, .rank = 1, .dim = { filters } } });
    return LM_OK;
}

#define CONV(ident, n_axes, is_transposed, table, n, type_doc) \
    static const conv_type ident = {                           \
        .type       = { .size       = sizeof(lm_layer_type),   \
                        .name       = #ident,                  \
                        .doc        = type_doc,                \
                        .params     = (table)[(n_axes)-1],     \
                        .param_size = sizeof(lm_param),        \
                        .n_params   = (n),                     \
                        .min_inputs = 1,                       \
                        .max_inputs = 1,                       \
                        .n_outputs  = 1,                       \
                        .infer      = infer,                   \
                        .cost       = cost,                    \
                        .weights    = weights,                 \
                        .lower      = lower },                      \
        .axes       = (n_axes),                                \
        .transposed = (is_transposed),                         \
    }
#define PLAIN(ident, axes, doc)      CONV(ident, axes, 0, plain_params, OUTPUT_PADDING, doc)
#define TRANSPOSED(ident, axes, doc) CONV(ident, axes, 1, transposed_params, N_PARAMS, doc)

PLAIN(conv1d, 1, "convolution over a sequence");
PLAIN(conv2d, 2, "convolution over height and width");
PLAIN(conv3d, 3, "convolution over depth, height and width");
TRANSPOSED(conv_transpose1d, 1, "transposed convolution of a sequence");
TRANSPOSED(conv_transpose2d, 2, "transposed convolution over height and width");
TRANSPOSED(conv_transpose3d, 3, "transposed convolution over depth, height and width");

static const lm_layer_type *const types[] = {
    &conv1d.type,           &conv2d.type,           &conv3d.type,
    &conv_transpose1d.type, &conv_transpose2d.type, &conv_transpose3d.type,
};

LM_PLUGIN = {
    .name    = "layermeter-conv",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
