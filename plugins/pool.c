/* Pooling over height and width: sliding, adaptive and global windows, as in torch.nn. */
#include <layermeter/plugin.h>

enum { KERNEL, STRIDE, PADDING, CEIL_MODE, DILATION }; /* of sliding windows */
enum { SIZE };                                         /* of adaptive windows */

typedef enum pool_windows { SLIDING, ADAPTIVE, GLOBAL } pool_windows;

typedef struct pool_type {
    lm_layer_type type; /* first: a layer's `type` points here */
    int64_t       mode; /* LM_POOL_MAX or LM_POOL_AVG */
    pool_windows  windows;
} pool_type;

/* How the windows lie along one axis, in pixels. */
typedef struct pool_axis {
    int64_t out, window, stride, pad, dilation;
    int     grid; /* 0: no constant stride gives these windows */
} pool_axis;

static const lm_param sliding_params[] = {
    [KERNEL]    = { .name  = "kernel",
                    .kind  = LM_INT,
                    .count = 2,
                    .min   = 1,
                    .max   = 1e6,
                    .doc   = "height and width of the window, in pixels" },
    [STRIDE]    = { .name     = "stride",
                    .kind     = LM_INT,
                    .count    = 2,
                    .min      = 0,
                    .max      = 1e6,
                    .fallback = "0",
                    .doc      = "step of the window, in pixels; 0: as long as the window" },
    [PADDING]   = { .name     = "padding",
                    .kind     = LM_INT,
                    .count    = 2,
                    .min      = 0,
                    .max      = 1e6,
                    .fallback = "0",
                    .doc      = "added on each side, in pixels; at most half the window's reach" },
    [CEIL_MODE] = { .name     = "ceil_mode",
                    .kind     = LM_BOOL,
                    .fallback = "no",
                    .doc      = "let a last window reach over the edge instead of dropping it" },
    [DILATION]  = { .name     = "dilation",
                    .kind     = LM_INT,
                    .count    = 2,
                    .min      = 1,
                    .max      = 1e6,
                    .fallback = "1",
                    .doc      = "distance between neighbouring taps of the window, in pixels" },
};
enum { N_AVERAGE_PARAMS = DILATION, N_MAX_PARAMS }; /* an average has no dilation */

static const lm_param adaptive_params[] = {
    [SIZE] = { .name  = "size",
               .kind  = LM_INT,
               .count = 2,
               .min   = 1,
               .max   = 1e9,
               .doc   = "height and width of the output, in pixels" },
};

static const pool_type *pool_of(const lm_layer *layer)
{
    return (const pool_type *)(const void *)layer->type;
}

/* floor((in + 2 padding - dilation (kernel - 1) - 1) / stride) + 1, or ceil in the place of floor;
 * then a window that would begin behind the front padding and the input is dropped (documentation
 * of torch.nn.MaxPool2d). */
static lm_status slide(const lm_layer *layer, uint32_t i, pool_axis *axis)
{
    const lm_value *p        = layer->param;
    const int64_t   window   = p[KERNEL].u.i[i];
    const int64_t   stride   = p[STRIDE].u.i[i] ? p[STRIDE].u.i[i] : window;
    const int64_t   pad      = p[PADDING].u.i[i];
    const int64_t   dilation = layer->n_params > DILATION ? p[DILATION].u.i[i] : 1;
    const int64_t   reach    = dilation * (window - 1) + 1;
    const uint64_t  in       = (uint64_t)layer->input[0].dim[2 + i];
    const uint64_t  padded   = in + 2 * (uint64_t)pad;
    const uint64_t  step     = (uint64_t)stride;
    const uint64_t  slack    = lm_int(layer, CEIL_MODE) ? step - 1 : 0;
    uint64_t        out;

    if (pad > reach / 2)
        return lm_fail(layer, LM_E_ARG, "padding of %lld is more than half of a window of %lld",
                       (long long)pad, (long long)reach);
    if ((uint64_t)reach > padded + slack)
        return lm_fail(layer, LM_E_SHAPE,
                       "window reaches over %lld pixels of a padded input of %llu",
                       (long long)reach, (unsigned long long)padded);
    out = (padded + slack - (uint64_t)reach) / step + 1;
    if (slack && (out - 1) * step >= in + (uint64_t)pad)
        out--;
    if (out > INT64_MAX)
        return lm_fail(layer, LM_E_OVERFLOW, "an output of %llu pixels", (unsigned long long)out);
    *axis = (pool_axis){ .out      = (int64_t)out,
                         .window   = window,
                         .stride   = stride,
                         .pad      = pad,
                         .dilation = dilation,
                         .grid     = 1 };
    return LM_OK;
}

/*
 * Window i runs from floor(i in / out) to ceil((i + 1) in / out), as PyTorch's adaptive pooling has
 * it. With in = q out + r the longest has q pixels if r is 0, q + 1 if r divides out, else q + 2.
 * Windows of that length at stride q stay within the input: the last ends at q out, q out + 1 or q
 * out + 2 <= in (r >= 2 where it does not divide out). If out > in the windows overlap and q is 0:
 * there is no grid.
 */
static pool_axis adapt(int64_t in, int64_t out)
{
    const int64_t q = in / out, r = in % out;

    return (pool_axis){ .out      = out,
                        .window   = q + (r != 0) + (r != 0 && out % r != 0),
                        .stride   = q,
                        .dilation = 1,
                        .grid     = q > 0 };
}

static lm_status place_windows(const lm_layer *layer, pool_axis axis[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        const int64_t in = layer->input[0].dim[2 + i];
        lm_status     status;

        switch (pool_of(layer)->windows) {
        case GLOBAL: axis[i] = adapt(in, 1); break;
        case ADAPTIVE: axis[i] = adapt(in, layer->param[SIZE].u.i[i]); break;
        case SLIDING:
            status = slide(layer, i, &axis[i]);
            if (status)
                return status;
            break;
        }
    }
    return LM_OK;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    pool_axis axis[2];
    lm_status status;

    if (layer->input[0].rank != 4)
        return lm_fail(layer, LM_E_SHAPE,
                       "input of rank %u, expected 4: batch, channels, height, width",
                       (unsigned)layer->input[0].rank);
    status = place_windows(layer, axis);
    if (status)
        return status;
    output[0]        = layer->input[0];
    output[0].dim[2] = axis[0].out;
    output[0].dim[3] = axis[1].out;
    return LM_OK;
}

/* Windows without a grid become a MAP over the output, 1 FLOP per element of the longest window. */
static lm_status kernel_of(const lm_layer *layer, lm_pass pass, lm_kernel *kernel)
{
    const int64_t *in = layer->input[0].dim;
    pool_axis      h_w[2];
    lm_status      status = place_windows(layer, h_w);
    lm_kernel      k      = { .size = sizeof k, .pass = pass, .repeat = 1 };

    if (status)
        return status;
    k.dtype = layer->input[0].dtype;
    if (h_w[0].grid && h_w[1].grid) {
        k.op              = LM_OP_POOL;
        k.u.pool.n        = in[0];
        k.u.pool.channels = in[1];
        k.u.pool.mode     = pool_of(layer)->mode;
        for (uint32_t i = 0; i < 3; i++) {
            const pool_axis depth = { .out = 1, .window = 1, .stride = 1, .dilation = 1 };
            const pool_axis axis  = i == 0 ? depth : h_w[i - 1];

            k.u.pool.in[i]       = i == 0 ? 1 : in[1 + i];
            k.u.pool.out[i]      = axis.out;
            k.u.pool.window[i]   = axis.window;
            k.u.pool.stride[i]   = axis.stride;
            k.u.pool.pad[i]      = axis.pad;
            k.u.pool.dilation[i] = axis.dilation;
        }
    } else {
        k.op             = LM_OP_MAP;
        k.u.map.elements = (int64_t)lm_elements(&layer->output[0]);
        k.u.map.operands = 1;
        k.u.map.flops_per_element =
            (int64_t)lm_mul((uint64_t)h_w[0].window, (uint64_t)h_w[1].window);
    }
    *kernel = k;
    return LM_OK;
}

/* Backward needs no element of forward, but for a maximum the places of the maxima: a 64-bit index
 * per output element. PyTorch keeps the input all the same, for its shape (derivatives.yaml). */
static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const lm_pass passes[] = { LM_FORWARD, LM_GRAD_INPUT };

    for (uint32_t i = 0; i < 2; i++) {
        lm_kernel kernel;
        lm_status status = kernel_of(layer, passes[i], &kernel);

        if (status)
            return status;
        cost->pass[passes[i]] = lm_kernel_work(&kernel);
    }
    cost->keeps = LM_KEEPS_INPUT;
    if (pool_of(layer)->mode == LM_POOL_MAX)
        cost->saved_bytes = lm_mul(8, lm_elements(&layer->output[0]));
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    lm_kernel kernel;
    lm_status status;

    if (pass == LM_GRAD_WEIGHT)
        return LM_OK;
    status = kernel_of(layer, pass, &kernel);
    if (status)
        return status;
    sink->kernel(sink, &kernel);
    return LM_OK;
}

#define POOL(type_name, type_doc)                                                       \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = 1, \
    .max_inputs = 1, .n_outputs = 1, .infer = infer, .cost = cost, .lower = lower
#define SLIDING_PARAMS(n) \
    .params = sliding_params, .param_size = sizeof sliding_params[0], .n_params = (n)

static const pool_type max_pool2d = {
    .type = { POOL("max_pool2d", "maximum under a sliding window"), SLIDING_PARAMS(N_MAX_PARAMS) },
    .mode = LM_POOL_MAX,
    .windows = SLIDING,
};
static const pool_type avg_pool2d = {
    .type = { POOL("avg_pool2d", "mean under a sliding window"), SLIDING_PARAMS(N_AVERAGE_PARAMS) },
    .mode = LM_POOL_AVG,
    .windows = SLIDING,
};
static const pool_type adaptive_max_pool2d = {
    .type = { POOL("adaptive_max_pool2d", "maximum under as many windows as the output has pixels"),
              LM_PARAMS(adaptive_params) },
    .mode = LM_POOL_MAX,
    .windows = ADAPTIVE,
};
static const pool_type adaptive_avg_pool2d = {
    .type    = { POOL("adaptive_avg_pool2d", "mean under as many windows as the output has pixels"),
                 LM_PARAMS(adaptive_params) },
    .mode    = LM_POOL_AVG,
    .windows = ADAPTIVE,
};
static const pool_type global_max_pool = {
    .type    = { POOL("global_max_pool", "maximum of each channel") },
    .mode    = LM_POOL_MAX,
    .windows = GLOBAL,
};
static const pool_type global_avg_pool = {
    .type    = { POOL("global_avg_pool", "mean of each channel") },
    .mode    = LM_POOL_AVG,
    .windows = GLOBAL,
};

static const lm_layer_type *const types[] = {
    &max_pool2d.type,          &avg_pool2d.type,      &adaptive_max_pool2d.type,
    &adaptive_avg_pool2d.type, &global_max_pool.type, &global_avg_pool.type,
};

LM_PLUGIN = {
    .name    = "layermeter-pool",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
