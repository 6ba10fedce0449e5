/* Pooling of 1, 2 and 3 dimensions: sliding, adaptive and global windows, as in torch.nn. */
#include "tensors.h"
#include "windows.h"

enum { KERNEL, STRIDE, CEIL_MODE, PADDING, DILATION, N_MAX_PARAMS }; /* sliding windows */
enum { NORM = PADDING, N_POWER_PARAMS };                             /* of lp_pool */
enum { N_AVERAGE_PARAMS = DILATION }; /* an average has no dilation */
enum { SIZE, N_ADAPTIVE_PARAMS };     /* adaptive windows */

typedef enum pool_windows { SLIDING, ADAPTIVE, GLOBAL } pool_windows;

typedef struct pool_type {
    lm_layer_type type; /* first: a layer's `type` points here */
    int64_t       mode; /* LM_POOL_MAX or LM_POOL_AVG */
    pool_windows  windows;
    uint32_t      axes;  /* 0: any number */
    int           power; /* 1: lp_pool */
} pool_type;

#define SLIDING_HEAD(axes, extent)                                           \
    [KERNEL]    = WINDOW_KERNEL(axes, extent),                               \
    [STRIDE]    = { .name     = "stride",                                    \
                    .kind     = LM_INT,                                      \
                    .count    = (axes),                                      \
                    .min      = 0,                                           \
                    .max      = 1e6,                                         \
                    .unit     = "pixels",                                    \
                    .fallback = "0",                                         \
                    .doc      = "step of the window; 0: as long as the window" }, \
    [CEIL_MODE] = { .name     = "ceil_mode",                                 \
                    .kind     = LM_BOOL,                                     \
                    .fallback = "no",                                        \
                    .doc      = "let a last window reach over the edge instead of dropping it" }

#define SLIDING_PARAMS(axes, extent)                                                         \
    {                                                                                        \
        SLIDING_HEAD(axes, extent),                                                          \
            [PADDING] =                                                                      \
                WINDOW_PADDING(axes, "added on each side; at most half the window's reach"), \
            [DILATION] = WINDOW_DILATION(axes)                                               \
    }
#define POWER_PARAMS(axes, extent)                                  \
    {                                                               \
        SLIDING_HEAD(axes, extent), [NORM] = {                      \
            .name     = "norm",                                     \
            .kind     = LM_REAL,                                    \
            .min      = 0.001,                                      \
            .max      = 1e9,                                        \
            .fallback = "2",                                        \
            .doc      = "the power; no influence on work or memory" \
        }                                                           \
    }
#define ADAPTIVE_PARAMS(axes, extent)        \
    {                                        \
        [SIZE] = {                           \
            .name  = "size",                 \
            .kind  = LM_INT,                 \
            .count = (axes),                 \
            .min   = 1,                      \
            .max   = 1e9,                    \
            .unit  = "pixels",               \
            .doc   = extent " of the output" \
        }                                    \
    }

static const lm_param sliding_params[3][N_MAX_PARAMS] = {
    SLIDING_PARAMS(1, WINDOW_1D),
    SLIDING_PARAMS(2, WINDOW_2D),
    SLIDING_PARAMS(3, WINDOW_3D),
};
static const lm_param power_params[2][N_POWER_PARAMS] = {
    POWER_PARAMS(1, WINDOW_1D),
    POWER_PARAMS(2, WINDOW_2D),
};
static const lm_param adaptive_params[3][N_ADAPTIVE_PARAMS] = {
    ADAPTIVE_PARAMS(1, WINDOW_1D),
    ADAPTIVE_PARAMS(2, WINDOW_2D),
    ADAPTIVE_PARAMS(3, WINDOW_3D),
};

static const pool_type *pool_of(const lm_layer *layer)
{
    return (const pool_type *)(const void *)layer->type;
}

/* In ceil mode, a window that would begin behind the front padding and the input is dropped
 * (documentation of torch.nn.MaxPool2d). */
static lm_status slide(const lm_layer *layer, uint32_t i, window_axis *axis)
{
    const lm_value *p     = layer->param;
    const int       power = pool_of(layer)->power;
    window_axis     a     = { .in       = layer->input[0].dim[2 + i],
                              .size     = p[KERNEL].u.i[i],
                              .stride   = p[STRIDE].u.i[i] ? p[STRIDE].u.i[i] : p[KERNEL].u.i[i],
                              .pad      = power ? 0 : p[PADDING].u.i[i],
                              .dilation = layer->n_params > DILATION ? p[DILATION].u.i[i] : 1 };
    const int64_t   reach = a.dilation * (a.size - 1) + 1;
    const int64_t   slack = lm_int(layer, CEIL_MODE) ? a.stride - 1 : 0;
    lm_status       status;

    /* "pad should be at most half of effective kernel size" (PyTorch 2, max_pool2d); before, half
     * of the kernel without its dilation */
    if (a.pad > reach / 2)
        return lm_fail(layer, LM_E_ARG, "padding of %lld is more than half of a window of %lld",
                       (long long)a.pad, (long long)reach);
    status = window_count(layer, &a, slack);
    if (status)
        return status;
    if (slack && (a.out - 1) * a.stride >= a.in + a.pad)
        a.out--;
    *axis = a;
    return LM_OK;
}

/* Windows over whole axes. Any number of axes: those before the last two become one. */
static void cover_all(const lm_tensor *in, window_axis axis[3])
{
    const uint32_t last = in->rank > 4 ? in->rank - 2 : 2;

    if (in->rank > 4)
        axis[0] = window_adaptive((int64_t)tensor_span(in, 2, last), 1);
    for (uint32_t d = last; d < in->rank; d++)
        axis[3 - in->rank + d] = window_adaptive(in->dim[d], 1);
}

/* Depth, height and width. */
static lm_status place_windows(const lm_layer *layer, window_axis axis[3])
{
    const pool_type *self   = pool_of(layer);
    lm_status        status = LM_OK;

    for (uint32_t i = 0; i < 3; i++)
        axis[i] = window_none();
    if (self->windows == GLOBAL)
        cover_all(&layer->input[0], axis);
    for (uint32_t i = 0; i < self->axes && !status; i++) {
        window_axis *a = &axis[3 - self->axes + i];

        if (self->windows == SLIDING)
            status = slide(layer, i, a);
        else
            *a = window_adaptive(layer->input[0].dim[2 + i], layer->param[SIZE].u.i[i]);
    }
    return status;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const uint32_t axes = pool_of(layer)->axes;
    lm_tensor      out  = layer->input[0];
    window_axis    axis[3];
    lm_status      status =
        axes ? window_rank(layer, axes)
                  : input_rank(layer, 3, LM_MAX_RANK, "batch, channels, one or more others");

    if (!status)
        status = place_windows(layer, axis);
    if (status)
        return status;
    for (uint32_t d = 2; d < out.rank; d++)
        out.dim[d] = axes ? axis[3 - axes + d - 2].out : 1;
    output[0] = out;
    return LM_OK;
}

static lm_kernel map_of(const lm_layer *layer, lm_pass pass, const lm_tensor *tensor,
                        int64_t operands, int64_t flops)
{
    return (lm_kernel){
        .op    = LM_OP_MAP,
        .pass  = pass,
        .dtype = layer->input[0].dtype,
        .u.map = { .elements          = (int64_t)lm_elements(tensor),
                   .operands          = operands,
                   .flops_per_element = flops },
    };
}

static lm_status emit_windows(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_tensor *in = &layer->input[0];
    lm_kernel        k  = { .op = LM_OP_POOL, .pass = pass, .dtype = in->dtype };
    window_axis      axis[3];
    lm_status        status = place_windows(layer, axis);

    if (status)
        return status;
    k.u.pool.n        = in->dim[0];
    k.u.pool.channels = in->dim[1];
    k.u.pool.mode     = pool_of(layer)->mode;
    WINDOW_FILL(&k.u.pool, axis);
    if (pool_of(layer)->windows == ADAPTIVE)
        status = window_taps(layer, axis, &k.u.pool.taps);
    if (!status)
        emit(sink, k);
    return status;
}

/*
 * y = (sum x^p)^(1/p): a power of every input, the mean of each window, times its size and the root
 * of every output. Backward: dy y^(1-p) of every output goes to its window, times x^(p-1) of every
 * input.
 */
static lm_status emit_power(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_tensor *in = &layer->input[0], *out = &layer->output[0];
    const int        forward = pass == LM_FORWARD;
    lm_status        status;

    emit(sink, forward ? map_of(layer, pass, in, 1, 1) : map_of(layer, pass, out, 2, 2));
    status = emit_windows(layer, pass, sink);
    emit(sink, forward ? map_of(layer, pass, out, 1, 2) : map_of(layer, pass, in, 2, 2));
    return status;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    if (pass == LM_GRAD_WEIGHT)
        return LM_OK;
    return pool_of(layer)->power ? emit_power(layer, pass, sink) : emit_windows(layer, pass, sink);
}

/* Kept tensors. A mean needs nothing, a maximum a 64-bit index per output element. PyTorch also
 * keeps the input, for its shape (derivatives.yaml). For lp_pool it keeps the powers, and four
 * tensors between mean and root. */
static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    cost->keeps = LM_KEEPS_INPUT;
    if (pool_of(layer)->mode == LM_POOL_MAX)
        cost->saved_bytes = lm_mul(8, lm_elements(&layer->output[0]));
    if (pool_of(layer)->power)
        cost->saved_bytes =
            lm_add(lm_bytes(&layer->input[0]), lm_mul(4, lm_bytes(&layer->output[0])));
    return cost_of_kernels(layer, cost);
}

#define POOL(ident, lies, n_axes, how, powers, table, n, type_doc) \
    static const pool_type ident = {                               \
        .type    = { .size       = sizeof(lm_layer_type),          \
                     .name       = #ident,                         \
                     .doc        = type_doc,                       \
                     .params     = (table),                        \
                     .param_size = sizeof(lm_param),               \
                     .n_params   = (n),                            \
                     .min_inputs = 1,                              \
                     .max_inputs = 1,                              \
                     .n_outputs  = 1,                              \
                     .infer      = infer,                          \
                     .cost       = cost,                           \
                     .lower      = lower },                             \
        .mode    = (how),                                          \
        .windows = (lies),                                         \
        .axes    = (n_axes),                                       \
        .power   = (powers),                                       \
    }
#define MAXIMUM(ident, axes)                                                           \
    POOL(ident, SLIDING, axes, LM_POOL_MAX, 0, sliding_params[(axes)-1], N_MAX_PARAMS, \
         "maximum under a sliding window")
#define AVERAGE(ident, axes)                                                               \
    POOL(ident, SLIDING, axes, LM_POOL_AVG, 0, sliding_params[(axes)-1], N_AVERAGE_PARAMS, \
         "mean under a sliding window")
#define POWER(ident, axes)                                                             \
    POOL(ident, SLIDING, axes, LM_POOL_AVG, 1, power_params[(axes)-1], N_POWER_PARAMS, \
         "root of the sum of powers under a sliding window")
#define ADAPTIVE_MAXIMUM(ident, axes)                                                         \
    POOL(ident, ADAPTIVE, axes, LM_POOL_MAX, 0, adaptive_params[(axes)-1], N_ADAPTIVE_PARAMS, \
         "maximum under as many windows as the output has pixels")
#define ADAPTIVE_AVERAGE(ident, axes)                                                         \
    POOL(ident, ADAPTIVE, axes, LM_POOL_AVG, 0, adaptive_params[(axes)-1], N_ADAPTIVE_PARAMS, \
         "mean under as many windows as the output has pixels")

MAXIMUM(max_pool1d, 1);
MAXIMUM(max_pool2d, 2);
MAXIMUM(max_pool3d, 3);
AVERAGE(avg_pool1d, 1);
AVERAGE(avg_pool2d, 2);
AVERAGE(avg_pool3d, 3);
POWER(lp_pool1d, 1);
POWER(lp_pool2d, 2);
ADAPTIVE_MAXIMUM(adaptive_max_pool1d, 1);
ADAPTIVE_MAXIMUM(adaptive_max_pool2d, 2);
ADAPTIVE_MAXIMUM(adaptive_max_pool3d, 3);
ADAPTIVE_AVERAGE(adaptive_avg_pool1d, 1);
ADAPTIVE_AVERAGE(adaptive_avg_pool2d, 2);
ADAPTIVE_AVERAGE(adaptive_avg_pool3d, 3);
POOL(global_max_pool, GLOBAL, 0, LM_POOL_MAX, 0, NULL, 0, "maximum of each channel");
POOL(global_avg_pool, GLOBAL, 0, LM_POOL_AVG, 0, NULL, 0, "mean of each channel");

static const lm_layer_type *const types[] = {
    &max_pool1d.type,          &max_pool2d.type,          &max_pool3d.type,
    &avg_pool1d.type,          &avg_pool2d.type,          &avg_pool3d.type,
    &lp_pool1d.type,           &lp_pool2d.type,           &adaptive_max_pool1d.type,
    &adaptive_max_pool2d.type, &adaptive_max_pool3d.type, &adaptive_avg_pool1d.type,
    &adaptive_avg_pool2d.type, &adaptive_avg_pool3d.type, &global_max_pool.type,
    &global_avg_pool.type,
};

LM_PLUGIN = {
    .name    = "layermeter-pool",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
