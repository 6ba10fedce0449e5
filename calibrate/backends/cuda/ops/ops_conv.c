/* Convolutions: cuDNN graphs, and kernels of our own for those depthwise ones that PyTorch runs so. */
#include "ops/ops.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda_loops.h"
#include "ops/ops_classic.h"
#include "ops/ops_graph.h"

#include "base/no_memory.h"

/*
 * The same kernels as in PyTorch: the product, a separate kernel for the bias ("output.add_(bias)"
 * there, cudnnAddTensor here), and a separate sum for the gradient of the bias (cuda_sums.c here).
 * A depthwise kernel adds the bias itself. Images of one axis count as two, with height 1, as there.
 * PyTorch splits batches of more than 2^31 elements, because few implementations support them; here
 * they are refused.
 */

enum { DEPTH, HEIGHT, WIDTH };

typedef struct conv {
    graph_layout image, filter, result, bias;
    graph_window window;
} conv;

/*
 * Padding behind. The library requires (in + before + after - reach) / stride + 1 == out. Its fast
 * kernels need equal padding on both sides. So equal padding is used if it gives `out`, even if the
 * last window does not reach the end. Else the padding behind completes the last window.
 */
static int64_t padding_after(int64_t in, int64_t out, int64_t reach, int64_t stride, int64_t before)
{
    const int64_t lacks = (out - 1) * stride + reach - in - before;

    if (in + 2 * before >= reach && (in + 2 * before - reach) / stride + 1 == out)
        return before;
    return lacks > 0 ? lacks : 0;
}

static bool describe(const lm_kernel *k, bool nhwc, conv *out)
{
    const int axes =
        k->u.conv.in[DEPTH] != 1 || k->u.conv.out[DEPTH] != 1 || k->u.conv.window[DEPTH] != 1 ? 3
                                                                                              : 2;
    int64_t       image[5]  = { k->u.conv.n, k->u.conv.c_in };
    int64_t       result[5] = { k->u.conv.n, k->u.conv.c_out };
    int64_t       filter[5] = { k->u.conv.c_out, 0 };
    const int64_t bias[5]   = { 1, k->u.conv.c_out, 1, 1, 1 };

    if (k->u.conv.groups < 1 || k->u.conv.c_in % k->u.conv.groups ||
        k->u.conv.c_out % k->u.conv.groups)
        return false;
    filter[1]        = k->u.conv.c_in / k->u.conv.groups;
    out->window.axes = axes;
    for (int i = 0; i < axes; i++) {
        const int     a     = 3 - axes + i;
        const int64_t reach = (k->u.conv.window[a] - 1) * k->u.conv.dilation[a] + 1;

        image[2 + i]            = k->u.conv.in[a];
        result[2 + i]           = k->u.conv.out[a];
        filter[2 + i]           = k->u.conv.window[a];
        out->window.size[i]     = k->u.conv.window[a];
        out->window.stride[i]   = k->u.conv.stride[a];
        out->window.dilation[i] = k->u.conv.dilation[a];
        out->window.before[i]   = k->u.conv.pad[a];
        out->window.after[i]    = padding_after(k->u.conv.in[a], k->u.conv.out[a], reach,
                                                k->u.conv.stride[a], k->u.conv.pad[a]);
    }
    out->image  = graph_image(2 + axes, image, nhwc);
    out->result = graph_image(2 + axes, result, nhwc);
    out->filter = graph_image(2 + axes, filter, nhwc);
    out->bias   = graph_image(2 + axes, bias, nhwc);
    return true;
}

/* Places in `at`. */
typedef struct places {
    size_t image, filter, result, bias, scratch; /* scratch: for the bias only */
} places;

/* The gradient of the bias: a sum over everything except channels. */
static cuda_sum bias_sum(const lm_kernel *k, bool nhwc)
{
    const int64_t pixels = (int64_t)lm_volume(k->u.conv.out);

    return nhwc ? (cuda_sum){ 1, 1, k->u.conv.n * pixels, k->u.conv.c_out }
                : (cuda_sum){ k->u.conv.n, k->u.conv.c_out, pixels, 1 };
}

static void add_slots(cuda_kernel *k, const conv *c, bool bias, uint64_t scratch, places *p)
{
    const lm_kernel *s       = &k->base.kernel;
    const lm_dtype   t       = s->dtype;
    const fill       normal  = cuda_normal(t, 1.0);
    const fill       weights = cuda_normal(
              t, ops_fan_in(s->u.conv.c_in / s->u.conv.groups * (int64_t)lm_volume(s->u.conv.window)));

    switch ((enum lm_passes)s->pass) {
    case LM_FORWARD:
        p->image  = ops_slot(k, CUDA_SRC, ROLE_IN, &c->image, t, normal);
        p->filter = ops_slot(k, CUDA_WEIGHTS, ROLE_WEIGHT, &c->filter, t, weights);
        if (bias)
            p->bias = ops_slot(k, CUDA_BIAS, ROLE_WEIGHT, &c->bias, t, (fill){ FILL_ZERO, t, 0 });
        p->result = ops_slot(k, CUDA_DST, ROLE_OUT, &c->result, t, normal);
        break;
    case LM_GRAD_INPUT:
        p->result = ops_slot(k, CUDA_DIFF_DST, ROLE_IN, &c->result, t, normal);
        p->filter = ops_slot(k, CUDA_WEIGHTS, ROLE_WEIGHT, &c->filter, t, weights);
        p->image  = ops_slot(k, CUDA_DIFF_SRC, ROLE_OUT, &c->image, t, normal);
        break;
    case LM_GRAD_WEIGHT:
        p->result = ops_slot(k, CUDA_DIFF_DST, ROLE_IN, &c->result, t, normal);
        p->image  = ops_slot(k, CUDA_SRC, ROLE_SAVED_IN, &c->image, t, normal);
        p->filter = ops_slot(k, CUDA_DIFF_WEIGHTS, ROLE_GRADIENT, &c->filter, t, normal);
        if (bias)
            p->bias = ops_slot(k, CUDA_DIFF_BIAS, ROLE_GRADIENT, &c->bias, t, normal);
        p->scratch = k->base.n_slots;
        if (bias)
            cuda_add_slot(k, CUDA_BIAS_SCRATCH, ROLE_SCRATCH, scratch, (fill){ .kind = FILL_NONE });
        break;
    case LM_N_PASSES: break;
    }
}

/* ---- bias ------------------------------------------------------------------------------------ */

typedef struct bias_step {
    ops_after               base;         /* first */
    cudnnTensorDescriptor_t bias, result; /* forward */
    cuda_sum                sum;          /* backward */
    lm_dtype                type;
    places                  at;
    bool                    forward;
} bias_step;

static lm_status run_bias(const ops_after *self, const cuda_device *device, void *const *at,
                          lm_error *err)
{
    const bias_step *b   = (const bias_step *)(const void *)self;
    const float      one = 1.0f;
    void *const bias = at[b->at.bias], *const result = at[b->at.result];
    cudnnStatus_t cause;

    if (!b->forward)
        return cuda_sum_run(device, b->type, &b->sum, result, bias, at[b->at.scratch], err);
    cause = cudnnAddTensor(device->cudnn, &one, b->bias, bias, &one, b->result, result);
    return cause == CUDNN_STATUS_SUCCESS ? LM_OK : cudnn_failed(err, "cuDNN's bias", cause);
}

static void release_bias(ops_after *self)
{
    bias_step *b = (bias_step *)(void *)self;

    ops_tensor_free(b->bias);
    ops_tensor_free(b->result);
    free(b);
}

static lm_status make_bias(const lm_kernel *k, const conv *c, const places *p, bool nhwc,
                           cudnnDataType_t type, ops_after **out, lm_error *err)
{
    bias_step *b      = calloc(1, sizeof *b);
    lm_status  status = LM_OK;

    if (!b)
        return no_memory(err);
    *b = (bias_step){ .base    = { run_bias, release_bias },
                      .sum     = bias_sum(k, nhwc),
                      .type    = k->dtype,
                      .at      = *p,
                      .forward = k->pass == LM_FORWARD };
    if (b->forward)
        status = ops_tensor_make(&c->bias, type, &b->bias, err);
    if (b->forward && !status)
        status = ops_tensor_make(&c->result, type, &b->result, err);
    if (status)
        release_bias(&b->base);
    else
        *out = &b->base;
    return status;
}

/* ---- depthwise ------------------------------------------------------------------------------- */

/*
 * Which f16 ones PyTorch leaves to cuDNN (Convolution.cpp, use_cudnn_depthwise and
 * check_cudnn_depthwise_workload_with_filter). Its newest sources ask a generated tree for each
 * generation of devices instead.
 */
static bool half_is_cudnns(const lm_kernel *k)
{
    const int64_t images = k->u.conv.n, channels = k->u.conv.c_in, wide = k->u.conv.in[WIDTH];
    const int64_t size = k->u.conv.window[WIDTH], stride = k->u.conv.stride[WIDTH];
    const bool    line = k->u.conv.in[HEIGHT] == 1;

    if (k->u.conv.dilation[HEIGHT] != 1 || k->u.conv.dilation[WIDTH] != 1 || channels < 32 ||
        (k->u.conv.stride[HEIGHT] != stride && !line))
        return false;
    if (line && stride == 1)
        return true;
    if (k->u.conv.window[HEIGHT] != size || (size != 1 && size != 3 && size != 5) || wide < 7)
        return false;
    if (stride != 2)
        return stride == 1;
    if (size == 1)
        return images == 1 ? wide <= 28 : images <= 16 && channels >= 128 && wide <= 7;
    return images == 1 || channels >= 512 || (channels >= 256 && wide >= 28);
}

/* PyTorch's choice (Convolution.cpp, is_depthwise and use_cudnn_depthwise): autotuning does not change
 * it. Those of three axes are its own, too, but here cuDNN's. */
static bool is_own_depthwise(const lm_kernel *k, bool nhwc, int axes)
{
    const int64_t groups = k->u.conv.groups;

    return axes == 2 && !nhwc && groups > 1 && groups == k->u.conv.c_in &&
           k->u.conv.c_out % groups == 0 && !(k->dtype == LM_F16 && half_is_cudnns(k));
}

/* Those the compiler knows: a square window of 1, 3 or 5 (its place among the loops), and equal strides
 * of 1 or 2; else 0. */
static unsigned known_window(const lm_kernel *k)
{
    const int64_t size = k->u.conv.window[HEIGHT];

    if (size != k->u.conv.window[WIDTH])
        return 0;
    return size == 1 ? 1 : size == 3 ? 2 : size == 5 ? 3 : 0;
}

static unsigned known_stride(const lm_kernel *k)
{
    const int64_t stride = k->u.conv.stride[HEIGHT];

    return stride == k->u.conv.stride[WIDTH] && stride <= 2 ? (unsigned)stride : 0;
}

/* PyTorch's blocks: of elements, CUDA_NUM_THREADS; of a weight, a warp for each image, at most eight
 * (getGradParamsNumThreads). */
enum { THREADS_OF_ELEMENTS = 1024, WARP = 32, MAX_WARPS = 8 };

static loop_window window_of(const lm_kernel *k)
{
    loop_window w = { .images     = (int)k->u.conv.n,
                      .channels   = (int)k->u.conv.c_in,
                      .multiplier = (int)(k->u.conv.c_out / k->u.conv.c_in) };

    for (int i = 0; i < 2; i++) {
        w.in[i]       = (int)k->u.conv.in[HEIGHT + i];
        w.out[i]      = (int)k->u.conv.out[HEIGHT + i];
        w.size[i]     = (int)k->u.conv.window[HEIGHT + i];
        w.stride[i]   = (int)k->u.conv.stride[HEIGHT + i];
        w.pad[i]      = (int)k->u.conv.pad[HEIGHT + i];
        w.dilation[i] = (int)k->u.conv.dilation[HEIGHT + i];
    }
    return w;
}

static lm_status run_elements(const lm_kernel *k, const cuda_device *device, cuda_loop loop,
                              const loop_args *args, lm_error *err)
{
    return cuda_loop_blocks(device, loop, k->dtype,
                            (args->n + THREADS_OF_ELEMENTS - 1) / THREADS_OF_ELEMENTS,
                            THREADS_OF_ELEMENTS, 1, args, err);
}

/* Slots as add_slots() has them. */
static lm_status run_depthwise(const cuda_kernel *kernel, const cuda_device *device,
                               void *const *at, lm_error *err)
{
    const lm_kernel *k    = &kernel->base.kernel;
    const bool       bias = k->u.conv.bias != 0;
    const cuda_sum   sum  = bias_sum(k, false);
    loop_args        args = { .at = { at[0], at[1], at[2] }, .window = window_of(k) };
    lm_status        status;

    if (k->pass == LM_FORWARD) {
        args.at[2] = bias ? at[2] : NULL;
        args.at[3] = bias ? at[3] : at[2];
        args.n     = k->u.conv.n * k->u.conv.c_out * (int64_t)lm_volume(k->u.conv.out);
        return run_elements(k, device, LOOP_DEPTHWISE + known_window(k), &args, err);
    }
    if (k->pass == LM_GRAD_INPUT) {
        args.n = k->u.conv.n * k->u.conv.c_in * (int64_t)lm_volume(k->u.conv.in);
        return run_elements(k, device, LOOP_DEPTHWISE_BACK + 3 * known_window(k) + known_stride(k),
                            &args, err);
    }
    args.n = k->u.conv.c_out * (int64_t)lm_volume(k->u.conv.window);
    status =
        cuda_loop_blocks(device, LOOP_DEPTHWISE_WEIGHTS, k->dtype, args.n, WARP,
                         k->u.conv.n < MAX_WARPS ? (unsigned)k->u.conv.n : MAX_WARPS, &args, err);
    if (status || !bias)
        return status;
    return cuda_sum_run(device, k->dtype, &sum, at[0], at[3],
                        cuda_sum_scratch(device, k->dtype, &sum) ? at[4] : NULL, err);
}

static lm_status make_depthwise(cuda_kernel *k)
{
    static const char sizes[] = { '*', '1', '3', '5' }, strides[] = { '*', '1', '2' };
    const lm_kernel  *s = &k->base.kernel;

    k->run = run_depthwise;
    if (s->pass == LM_GRAD_WEIGHT)
        snprintf(k->implementation, sizeof k->implementation, "own depthwise");
    else
        snprintf(k->implementation, sizeof k->implementation, "own depthwise, window %c, stride %c",
                 sizes[known_window(s)], strides[s->pass == LM_GRAD_INPUT ? known_stride(s) : 0]);
    return LM_OK;
}

lm_status ops_conv(const cuda_device *device, const settings *how, cuda_kernel *k, lm_error *err)
{
    const lm_kernel  *s     = &k->base.kernel;
    const bool        bias  = s->u.conv.bias && s->pass != LM_GRAD_INPUT;
    const bool        nhwc  = how->value[SETTING_LAYOUT] != 0;
    const graph_rules rules = ops_rules(device, how, s->dtype, CUDNN_HEUR_MODE_INSTANT);
    const cuda_sum    sum   = bias_sum(s, nhwc);
    ops_after        *after = NULL;
    dnn_graph        *g;
    cudnnDataType_t   type;
    conv              c;
    places            p = { 0 };
    lm_status         status;

    if (!ops_type(s->dtype, &type))
        return cuda_unsupported(k, "cuDNN", "no such element type", err);
    if (!describe(s, nhwc, &c))
        return cuda_unsupported(k, "cuDNN", "channels do not divide into the groups", err);
    if (graph_elements(&c.image) > INT32_MAX || graph_elements(&c.result) > INT32_MAX)
        return cuda_unsupported(k, "cuDNN", "a tensor beyond 31 bits", err);
    add_slots(k, &c, bias, cuda_sum_scratch(device, s->dtype, &sum), &p);
    if (is_own_depthwise(s, nhwc, c.window.axes))
        return make_depthwise(k);
    if (bias) {
        status = make_bias(s, &c, &p, nhwc, type, &after, err);
        if (status)
            return status;
    }
    g = ops_graph_new(device);
    if (g)
        graph_conv(g, s->pass, &c.window, graph_argument(g, p.image, &c.image, type),
                   graph_argument(g, p.filter, &c.filter, type),
                   graph_argument(g, p.result, &c.result, type));
    return ops_graph_finish(device, k, g, after, &rules, err);
}
