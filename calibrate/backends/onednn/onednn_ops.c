/* Kernels as operations of the library, with their buffers. */
#include "onednn_ops.h"

#include <math.h>

#include "measure/kernel_kinds.h"
#include "measure/map_function.h"
#include "network/autocast.h"

enum { DEPTH, HEIGHT, WIDTH };

static const fill normal = { .kind = FILL_NORMAL, .scale = 1.0 };
static const fill zero   = { .kind = FILL_ZERO };
static const fill one    = { .kind = FILL_ONE };

/* Random numbers that keep the variance of a signal through a rectifier and `n` weights (He et al.
 * 2015). */
static fill fan_in(int64_t n)
{
    return (fill){ .kind = FILL_NORMAL, .scale = sqrt(2.0 / (double)n) };
}

/* Element type of a filled buffer; work spaces are bytes. */
static lm_dtype dtype_of(dnnl_data_type_t type)
{
    return type == dnnl_f32    ? LM_F32
           : type == dnnl_f16  ? LM_F16
           : type == dnnl_bf16 ? LM_BF16
                               : LM_U8;
}

/* An argument of a primitive that may not have it: workspaces, scratchpads. */
static void add_slot(prepared_kernel *k, int argument, slot_role role, fill f)
{
    const size_t bytes = api_bytes(&k->primitive, argument);

    if (bytes == 0)
        return;
    f.type                          = dtype_of(api_type(&k->primitive, argument));
    k->base.slot[k->base.n_slots++] = (slot){ argument, role, bytes, f };
}

static bool is_forward(const prepared_kernel *k)
{
    return k->base.kernel.pass == LM_FORWARD;
}

static void tensor_set(api_tensor *t, dnnl_format_tag_t layout, int rank, const int64_t *dim)
{
    t->rank   = rank;
    t->layout = layout;
    for (int i = 0; i < rank; i++)
        t->dim[i] = dim[i];
}

static api_tensor flat(int64_t elements, dnnl_data_type_t type)
{
    return (api_tensor){ .rank = 1, .dim = { elements }, .type = type, .layout = dnnl_a };
}

typedef struct axes {
    const int64_t *in, *out, *window, *stride, *pad, *dilation;
} axes;

/*
 * Windows over `n_axes` trailing axes, and how much of the input they reach (`in`).
 *
 * The library requires floor((in + front + behind - reach) / stride) + 1 == out. Padding completes
 * the last window. A rest behind it of less than a stride stays; a longer one (some adaptive
 * poolings) is cut off, because nothing reads it.
 */
static void window_set(api_window *w, const axes *a, int n_axes, int64_t *in)
{
    for (int i = 0; i < n_axes; i++) {
        const int     axis  = 3 - n_axes + i;
        const int64_t reach = (a->window[axis] - 1) * a->dilation[axis] + 1;
        const int64_t behind =
            (a->out[axis] - 1) * a->stride[axis] + reach - a->in[axis] - a->pad[axis];

        w->size[i]     = a->window[axis];
        w->stride[i]   = a->stride[axis];
        w->dilation[i] = a->dilation[axis] - 1;
        w->front[i]    = a->pad[axis];
        w->behind[i]   = behind > 0 ? behind : 0;
        in[i]          = a->in[axis] + (-behind >= a->stride[axis] ? behind : 0);
    }
}

static bool has_depth(const axes *a)
{
    return a->in[DEPTH] != 1 || a->out[DEPTH] != 1 || a->window[DEPTH] != 1;
}

static lm_status create_conv(const lm_kernel *k, api_op *op)
{
    const axes    a      = { k->u.conv.in,     k->u.conv.out, k->u.conv.window,
                             k->u.conv.stride, k->u.conv.pad, k->u.conv.dilation };
    const int64_t groups = k->u.conv.groups, c_in = k->u.conv.c_in, c_out = k->u.conv.c_out;
    const int     n_axes = has_depth(&a) ? 3 : 2, first = 3 - n_axes, grouped = groups > 1;
    int64_t       src[5] = { k->u.conv.n, c_in }, dst[5] = { k->u.conv.n, c_out };
    int64_t       weights[6] = { groups };

    if (groups < 1 || c_in % groups || c_out % groups)
        return LM_E_UNSUPPORTED;
    weights[grouped]     = c_out / groups;
    weights[grouped + 1] = c_in / groups;
    for (int i = 0; i < n_axes; i++) {
        dst[2 + i]               = a.out[first + i];
        weights[grouped + 2 + i] = a.window[first + i];
    }
    op->kind = API_CONV;
    window_set(&op->window, &a, n_axes, src + 2);
    tensor_set(&op->src, dnnl_format_tag_any, 2 + n_axes, src);
    tensor_set(&op->dst, dnnl_format_tag_any, 2 + n_axes, dst);
    tensor_set(&op->weights, dnnl_format_tag_any, grouped + 2 + n_axes, weights);
    if (k->u.conv.bias && k->pass != LM_GRAD_INPUT)
        tensor_set(&op->bias, dnnl_a, 1, &c_out);
    return LM_OK;
}

static void slots_conv(prepared_kernel *k)
{
    const lm_kernel *c = &k->base.kernel;
    const fill       weights =
        fan_in(c->u.conv.c_in / c->u.conv.groups * (int64_t)lm_volume(c->u.conv.window));

    switch ((enum lm_passes)c->pass) {
    case LM_FORWARD:
        add_slot(k, DNNL_ARG_SRC, ROLE_IN, normal);
        add_slot(k, DNNL_ARG_WEIGHTS, ROLE_WEIGHT, weights);
        add_slot(k, DNNL_ARG_BIAS, ROLE_WEIGHT, zero);
        add_slot(k, DNNL_ARG_DST, ROLE_OUT, normal);
        break;
    case LM_GRAD_INPUT:
        add_slot(k, DNNL_ARG_DIFF_DST, ROLE_IN, normal);
        add_slot(k, DNNL_ARG_WEIGHTS, ROLE_WEIGHT, weights);
        add_slot(k, DNNL_ARG_DIFF_SRC, ROLE_OUT, normal);
        break;
    case LM_GRAD_WEIGHT:
        add_slot(k, DNNL_ARG_DIFF_DST, ROLE_IN, normal);
        add_slot(k, DNNL_ARG_SRC, ROLE_SAVED_IN, normal);
        add_slot(k, DNNL_ARG_DIFF_WEIGHTS, ROLE_GRADIENT, normal);
        add_slot(k, DNNL_ARG_DIFF_BIAS, ROLE_GRADIENT, normal);
        break;
    case LM_N_PASSES: break;
    }
}

/*
 * Row-major. Operands are transposed where a framework's linear layer has them so: weights (n, k)
 * in the forward pass, the gradient of the output (k, m) in the weight gradient.
 */
static lm_status create_gemm(const lm_kernel *k, api_op *op)
{
    const int64_t batch = k->u.gemm.batch, m = k->u.gemm.m, n = k->u.gemm.n, depth = k->u.gemm.k;
    const int     rank = batch > 1 ? 3 : 2, skip = 3 - rank;
    const int64_t src[3] = { batch, m, depth }, weights[3] = { batch, depth, n };
    const int64_t dst[3] = { batch, m, n }, bias[3] = { 1, 1, n };
    const dnnl_format_tag_t plain      = rank == 3 ? dnnl_abc : dnnl_ab;
    const dnnl_format_tag_t transposed = rank == 3 ? dnnl_acb : dnnl_ba;

    op->kind = API_MATMUL;
    tensor_set(&op->src, k->pass == LM_GRAD_WEIGHT ? transposed : plain, rank, src + skip);
    tensor_set(&op->weights, k->pass == LM_FORWARD && rank == 2 ? transposed : plain, rank,
               weights + skip);
    tensor_set(&op->dst, plain, rank, dst + skip);
    if (k->u.gemm.bias)
        tensor_set(&op->bias, plain, rank, bias + skip);
    return LM_OK;
}

/* Adds slots. A product of two activations has no weights, nor has a batch of products. */
static void slots_gemm(prepared_kernel *k)
{
    const bool weights = k->base.kernel.u.gemm.batch == 1 && !k->base.kernel.u.gemm.activations;
    slot_role  second = ROLE_SAVED_IN, out = ROLE_OUT;

    if (is_forward(k))
        second = weights ? ROLE_WEIGHT : ROLE_IN_OTHER;
    else if (k->base.kernel.pass == LM_GRAD_INPUT && weights)
        second = ROLE_WEIGHT;
    if (k->base.kernel.pass == LM_GRAD_WEIGHT && weights)
        out = ROLE_GRADIENT;
    add_slot(k, DNNL_ARG_SRC, ROLE_IN, normal);
    add_slot(k, DNNL_ARG_WEIGHTS, second,
             second == ROLE_WEIGHT ? fan_in(k->base.kernel.u.gemm.k) : normal);
    add_slot(k, DNNL_ARG_BIAS, ROLE_WEIGHT, zero);
    add_slot(k, DNNL_ARG_DST, out, normal);
}

/* Layout in blocks of channels, as for this CPU's convolutions; the last block is padded. Few
 * channels have the plain layout. */
static dnnl_format_tag_t image_layout(int64_t channels, bool depth)
{
    if (channels >= 16 && api_channel_block() == 16)
        return depth ? dnnl_nCdhw16c : dnnl_nChw16c;
    if (channels >= 8)
        return depth ? dnnl_nCdhw8c : dnnl_nChw8c;
    return depth ? dnnl_ncdhw : dnnl_nchw;
}

static lm_status create_pool(const lm_kernel *k, api_op *op)
{
    const axes    a        = { k->u.pool.in,     k->u.pool.out, k->u.pool.window,
                               k->u.pool.stride, k->u.pool.pad, k->u.pool.dilation };
    const bool    depth    = has_depth(&a);
    const int     n_axes   = depth ? 3 : 2;
    const int64_t channels = k->u.pool.channels;
    int64_t       src[5] = { k->u.pool.n, channels }, dst[5] = { k->u.pool.n, channels };

    for (int i = 0; i < n_axes; i++)
        dst[2 + i] = a.out[3 - n_axes + i];
    op->kind = API_POOL;
    op->algorithm =
        k->u.pool.mode == LM_POOL_MAX ? dnnl_pooling_max : dnnl_pooling_avg_include_padding;
    window_set(&op->window, &a, n_axes, src + 2);
    tensor_set(&op->src, image_layout(channels, depth), 2 + n_axes, src);
    tensor_set(&op->dst, image_layout(channels, depth), 2 + n_axes, dst);
    return LM_OK;
}

static void slots_pool(prepared_kernel *k)
{
    add_slot(k, is_forward(k) ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST, ROLE_IN, normal);
    add_slot(k, DNNL_ARG_WORKSPACE, ROLE_STATE, zero);
    add_slot(k, is_forward(k) ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC, ROLE_OUT, normal);
}

static void create_eltwise(const lm_kernel *k, api_op *op)
{
    const map_function f = map_function_of(k);

    op->kind = API_ELTWISE;
    op->src  = flat(k->u.map.elements, op->src.type);
    if (f == MAP_RELU || f == MAP_RELU_BACK) {
        op->algorithm = dnnl_eltwise_relu;
    } else if (f == MAP_SWISH || f == MAP_SWISH_BACK) {
        op->algorithm = dnnl_eltwise_swish;
        op->alpha     = 1.0f;
    } else {
        op->algorithm = dnnl_eltwise_gelu_erf;
    }
}

/* A map of one operand is a function. Of two it is their sum forward, and a function's gradient
 * backward. */
static lm_status create_map(const lm_kernel *k, api_op *op)
{
    const api_tensor tensor = flat(k->u.map.elements, op->src.type);
    bool             widens;

    if (autocast_is_cast(k, &widens)) {
        op->kind = API_COPY;
        op->src = op->dst                    = tensor;
        (widens ? &op->dst : &op->src)->type = dnnl_f32;
    } else if (k->u.map.operands == 1 || k->pass != LM_FORWARD) {
        create_eltwise(k, op);
        if (k->u.map.operands == 1)
            op->pass = LM_FORWARD;
    } else {
        op->kind = API_BINARY;
        op->src = op->weights = op->dst = tensor;
    }
    return LM_OK;
}

/* Casts of weights from the optimizer's memory to copies, and of their gradients back. */
static void slots_cast(prepared_kernel *k, bool widens)
{
    const bool weights = k->base.kernel.pass == LM_GRAD_WEIGHT;

    add_slot(k, DNNL_ARG_FROM, !weights ? ROLE_IN : widens ? ROLE_ASIDE : ROLE_WEIGHT, normal);
    add_slot(k, DNNL_ARG_TO, !weights ? ROLE_OUT : widens ? ROLE_GRADIENT : ROLE_ASIDE, normal);
}

static void slots_map(prepared_kernel *k)
{
    const slot_role out = k->base.kernel.pass == LM_GRAD_WEIGHT ? ROLE_ASIDE : ROLE_OUT;
    bool            widens;

    if (autocast_is_cast(&k->base.kernel, &widens)) {
        slots_cast(k, widens);
    } else if (k->base.kernel.u.map.operands == 1) {
        add_slot(k, DNNL_ARG_SRC, ROLE_IN, normal);
        add_slot(k, DNNL_ARG_DST, out, normal);
    } else if (is_forward(k)) {
        add_slot(k, DNNL_ARG_SRC_0, ROLE_IN, normal);
        add_slot(k, DNNL_ARG_SRC_1, ROLE_IN_OTHER, normal);
        add_slot(k, DNNL_ARG_DST, out, normal);
    } else {
        add_slot(k, DNNL_ARG_DIFF_DST, ROLE_IN, normal);
        add_slot(k, DNNL_ARG_SRC, ROLE_SAVED_IN, normal);
        add_slot(k, DNNL_ARG_DIFF_SRC, out, normal);
    }
}

/* Is it run as a layer norm? An RMS norm is, too: the library has none, and the traffic is the
 * same. */
static bool is_layer_norm(const lm_kernel *k)
{
    return !norm_over_channels(k);
}

static lm_status create_norm(const lm_kernel *k, api_op *op)
{
    const int64_t rows = k->u.norm.rows, group = k->u.norm.group, inner = k->u.norm.inner;

    if (inner < 1 || group % inner)
        return LM_E_UNSUPPORTED;
    if (is_layer_norm(k)) {
        const int64_t data[2] = { rows, group };

        op->kind         = API_LAYERNORM;
        op->weights.type = dnnl_f32;
        tensor_set(&op->src, dnnl_ab, 2, data);
        tensor_set(&op->weights, dnnl_a, 1, data);
    } else {
        const int64_t data[4] = { group / inner, rows, 1, inner };

        op->kind = API_BATCHNORM;
        tensor_set(&op->src, image_layout(rows, false), 4, data);
    }
    return LM_OK;
}

static void slots_norm(prepared_kernel *k)
{
    enum { BACKWARD_INPUTS = 5 }; /* all below; some releases want the shift, too, some refuse it */

    add_slot(k, DNNL_ARG_SRC, is_forward(k) ? ROLE_IN : ROLE_SAVED_IN, normal);
    add_slot(k, DNNL_ARG_MEAN, ROLE_STATE, zero);
    add_slot(k, DNNL_ARG_VARIANCE, ROLE_STATE, one);
    add_slot(k, DNNL_ARG_SCALE, ROLE_WEIGHT, one);
    if (is_forward(k)) {
        add_slot(k, DNNL_ARG_SHIFT, ROLE_WEIGHT, zero);
        add_slot(k, DNNL_ARG_DST, ROLE_OUT, normal);
        return;
    }
    add_slot(k, DNNL_ARG_DIFF_DST, ROLE_IN, normal);
    if (api_inputs(&k->primitive) > BACKWARD_INPUTS)
        add_slot(k, DNNL_ARG_SHIFT, ROLE_WEIGHT, zero);
    add_slot(k, DNNL_ARG_DIFF_SRC, ROLE_OUT, normal);
    add_slot(k, DNNL_ARG_DIFF_SCALE, ROLE_GRADIENT, normal);
    add_slot(k, DNNL_ARG_DIFF_SHIFT, ROLE_GRADIENT, normal);
}

static lm_status create_softmax(const lm_kernel *k, api_op *op)
{
    const int64_t data[2] = { k->u.softmax.rows, k->u.softmax.group };

    op->kind = API_SOFTMAX;
    tensor_set(&op->src, dnnl_ab, 2, data);
    return LM_OK;
}

static void slots_softmax(prepared_kernel *k)
{
    if (is_forward(k)) {
        add_slot(k, DNNL_ARG_SRC, ROLE_IN, normal);
        add_slot(k, DNNL_ARG_DST, ROLE_OUT, normal);
    } else {
        add_slot(k, DNNL_ARG_DIFF_DST, ROLE_IN, normal);
        add_slot(k, DNNL_ARG_DST, ROLE_SAVED_OUT, normal);
        add_slot(k, DNNL_ARG_DIFF_SRC, ROLE_OUT, normal);
    }
}

/* Copies move whole words if the number of bytes allows it. */
static lm_status create_copy(const lm_kernel *k, api_op *op)
{
    const int64_t bytes = k->u.copy.bytes;

    op->kind = API_COPY;
    op->src  = bytes % 4 ? flat(bytes, dnnl_u8) : flat(bytes / 4, dnnl_f32);
    return LM_OK;
}

static void slots_copy(prepared_kernel *k)
{
    add_slot(k, DNNL_ARG_FROM, ROLE_IN, normal);
    add_slot(k, DNNL_ARG_TO, k->base.kernel.pass == LM_GRAD_WEIGHT ? ROLE_ASIDE : ROLE_OUT, normal);
}

/* Kernels with oneDNN primitives. */
static const struct {
    lm_op op;
    lm_status (*create)(const lm_kernel *k, api_op *op);
    void (*slots)(prepared_kernel *k);
} makers[] = {
    { LM_OP_GEMM, create_gemm, slots_gemm }, { LM_OP_CONV, create_conv, slots_conv },
    { LM_OP_POOL, create_pool, slots_pool }, { LM_OP_MAP, create_map, slots_map },
    { LM_OP_NORM, create_norm, slots_norm }, { LM_OP_SOFTMAX, create_softmax, slots_softmax },
    { LM_OP_COPY, create_copy, slots_copy },
};

#define N_MAKERS (sizeof makers / sizeof makers[0])

static size_t maker_of(const lm_kernel *k)
{
    size_t i = 0;

    while (i < N_MAKERS && makers[i].op != k->op)
        i++;
    return i;
}

lm_status op_of_kernel(const lm_kernel *k, api_op *out)
{
    const dnnl_data_type_t type = kernel_data_type(k->dtype);
    const size_t           i    = maker_of(k);

    *out = (api_op){ .pass = k->pass };
    if (i == N_MAKERS || (type == dnnl_data_type_undef && k->op != LM_OP_COPY))
        return LM_E_UNSUPPORTED;
    out->src.type = out->weights.type = out->bias.type = out->dst.type = type;
    return makers[i].create(k, out);
}

void op_add_slots(prepared_kernel *k)
{
    makers[maker_of(&k->base.kernel)].slots(k); /* op_of_kernel() refuses all others */
    add_slot(k, DNNL_ARG_SCRATCHPAD, ROLE_SCRATCH, zero);
}
