/* Small kernels that stand for larger ones. */
#include "verify/small.h"

#include "measure/kernel_kinds.h"
#include "measure/map_function.h"
#include "network/autocast.h"
#include "network/mixed/fp8.h"

enum { IMAGE = 9, WINDOW = 5, CHANNELS = 16, FEW = 8, SOME = 3 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* One axis of windows. An axis that does not exist stays so. */
typedef struct axis {
    int64_t *in, *out, *window, *stride, *pad, *dilation;
} axis;

static void shrink_axis(const axis *a)
{
    const bool whole = *a->out == 1 && *a->window == *a->in;

    if (*a->in == 1 && *a->out == 1 && *a->window == 1)
        return;
    *a->window   = *a->window < 3 ? *a->window : *a->window < WINDOW ? 3 : WINDOW;
    *a->in       = whole ? *a->window : IMAGE;
    *a->stride   = whole ? 1 : least(*a->stride, 2);
    *a->dilation = least(*a->dilation, 2);
    *a->pad      = *a->pad ? *a->window / 2 * *a->dilation : 0;
    *a->out      = (*a->in + 2 * *a->pad - (*a->window - 1) * *a->dilation - 1) / *a->stride + 1;
}

static void shrink_conv(lm_kernel *k)
{
    const int64_t per_group = k->u.conv.c_in / k->u.conv.groups;
    const bool    alone     = k->u.conv.groups > 1 && per_group == 1;

    k->u.conv.n      = 2;
    k->u.conv.groups = k->u.conv.groups == 1 ? 1 : alone ? CHANNELS : 2;
    k->u.conv.c_in   = k->u.conv.groups == 1 && per_group < FEW ? SOME : CHANNELS;
    k->u.conv.c_out  = CHANNELS;
    for (int i = 0; i < 3; i++)
        shrink_axis(&(axis){ &k->u.conv.in[i], &k->u.conv.out[i], &k->u.conv.window[i],
                             &k->u.conv.stride[i], &k->u.conv.pad[i], &k->u.conv.dilation[i] });
}

/* Adaptive windows over 9 pixels: 5 of 2 or 3 of them, or, of more outputs than inputs, 12 of 1 or 2.
 * Returns how many they hold together. */
static int64_t shrink_adaptive(const axis *a)
{
    const bool more = *a->out > *a->in;

    if (*a->in == 1 && *a->out == 1)
        return 1;
    *a->in     = IMAGE;
    *a->out    = more ? 12 : 5;
    *a->window = more ? 2 : 3;
    *a->stride = *a->dilation = 1;
    return more ? 18 : 13;
}

static void shrink_pool(lm_kernel *k)
{
    const bool adaptive = k->u.pool.mode == LM_POOL_AVG && pool_is_adaptive(k);

    k->u.pool.n        = 2;
    k->u.pool.channels = FEW;
    k->u.pool.taps     = adaptive;
    for (int i = 0; i < 3; i++) {
        const axis a = { &k->u.pool.in[i],     &k->u.pool.out[i], &k->u.pool.window[i],
                         &k->u.pool.stride[i], &k->u.pool.pad[i], &k->u.pool.dilation[i] };

        if (adaptive)
            k->u.pool.taps *= shrink_adaptive(&a);
        else
            shrink_axis(&a);
    }
}

static void shrink_gemm(lm_kernel *k)
{
    k->u.gemm.batch = k->u.gemm.batch > 1 ? 3 : 1;
    k->u.gemm.m     = 32;
    k->u.gemm.n     = 16;
    k->u.gemm.k     = 48;
}

static void shrink_map(lm_kernel *k, kernel_use use)
{
    enum { ELEMENTS = 259 };
    lm_dtype from;
    bool     widens;

    if (fp8_is_cast(k, &from, &widens)) {
        *k = fp8_cast(from, 32, 16, widens ? 2 : 1, k->pass);
        return;
    }
    if (autocast_is_cast(k, &widens)) {
        *k = autocast_kernel(k->dtype, widens, ELEMENTS, k->pass);
        return;
    }
    k->u.map.elements = ELEMENTS;
    k->u.map.reads = k->u.map.writes = 0;
    if (use != USE_UPDATE)
        k->u.map.flops_per_element = map_function_flops(k);
}

/* Over channels: of pixels, or of single values. */
static void shrink_norm(lm_kernel *k)
{
    const bool one = k->u.norm.channels != 0, pixels = k->u.norm.inner > 1;

    k->u.norm.rows = CHANNELS;
    if (!norm_over_channels(k)) {
        k->u.norm.group = k->u.norm.inner = 64;
        return;
    }
    k->u.norm.inner = pixels ? 15 : 1;
    k->u.norm.group = k->u.norm.inner * (one ? 1 : pixels ? 4 : 12);
}

static void shrink_reduce(lm_kernel *k)
{
    const bool columns = k->u.reduce.inner > 1 && k->u.reduce.inner == k->u.reduce.rows;

    k->u.reduce.inner = k->u.reduce.inner == 1 ? 1 : columns ? 12 : 4;
    k->u.reduce.rows  = 12;
    k->u.reduce.group = 20;
}

/* cuDNN before 9.15 masks padding unless 128 divides the keys. */
static void shrink_attention(lm_kernel *k)
{
    const int64_t shared = k->u.attention.heads / k->u.attention.kv_heads;

    k->u.attention.batch       = 2;
    k->u.attention.heads       = 4;
    k->u.attention.kv_heads    = shared == 1 ? 4 : k->u.attention.kv_heads == 1 ? 1 : 2;
    k->u.attention.queries     = 32;
    k->u.attention.keys        = k->u.attention.keys % 128 ? 72 : 128;
    k->u.attention.width       = least(k->u.attention.width, 64);
    k->u.attention.value_width = least(k->u.attention.value_width, 64);
    k->u.attention.dropout     = 0;
}

lm_kernel small_kernel(const lm_kernel *k, kernel_use use)
{
    lm_kernel s = *k;

    s.repeat = 1;
    switch ((enum lm_ops)k->op) {
    case LM_OP_CONV: shrink_conv(&s); break;
    case LM_OP_GEMM: shrink_gemm(&s); break;
    case LM_OP_POOL: shrink_pool(&s); break;
    case LM_OP_MAP: shrink_map(&s, use); break;
    case LM_OP_NORM: shrink_norm(&s); break;
    case LM_OP_SOFTMAX:
        s.u.softmax.rows  = 9;
        s.u.softmax.group = 33;
        break;
    case LM_OP_GATHER:
        s.u.gather.rows       = 77;
        s.u.gather.width      = 64;
        s.u.gather.table_rows = 10;
        break;
    case LM_OP_COPY: s.u.copy.bytes = 4004; break;
    case LM_OP_REDUCE: shrink_reduce(&s); break;
    case LM_OP_ATTENTION: shrink_attention(&s); break;
    case LM_OP_OPAQUE:
    case LM_OP_ALLREDUCE: break;
    }
    return s;
}

settings small_settings(const lm_kernel *k, kernel_use use, const settings *how)
{
    const bool product = k->op == LM_OP_CONV || k->op == LM_OP_GEMM || k->op == LM_OP_ATTENTION;
    settings   s       = { { 0 } };

    if (k->op == LM_OP_CONV || k->op == LM_OP_POOL || k->op == LM_OP_NORM)
        s.value[SETTING_LAYOUT] = how->value[SETTING_LAYOUT];
    if (product || k->op == LM_OP_NORM)
        s.value[SETTING_ALGORITHMS] = how->value[SETTING_ALGORITHMS];
    if (product && k->dtype == LM_F32)
        s.value[SETTING_MATH] = settings_tf32(how, k->op);
    if (use == USE_UPDATE)
        s.value[SETTING_UPDATE] = how->value[SETTING_UPDATE];
    return s;
}
