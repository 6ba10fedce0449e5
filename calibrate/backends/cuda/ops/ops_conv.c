/* Convolutions: cuDNN graphs. */
#include "ops/ops.h"

#include <stdlib.h>

#include "cuda_loops.h"
#include "ops/ops_classic.h"
#include "ops/ops_graph.h"

#include "base/no_memory.h"

/*
 * The same kernels as in PyTorch: the product, a separate kernel for the bias ("output.add_(bias)"
 * there, cudnnAddTensor here), and a separate sum for the gradient of the bias (cuda_sums.c here).
 * Images of one axis count as two, with height 1, as there. PyTorch splits batches of more than
 * 2^31 elements, because few implementations support them; here they are refused.
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
