/* Poolings: cuDNN's classic calls, and adaptive averages of our own. */
#include "ops/ops.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_loops.h"
#include "ops/ops_classic.h"
#include "ops/ops_graph.h"

#include "base/no_memory.h"
#include "measure/kernel_kinds.h"

/*
 * PyTorch has its own poolings; these are cuDNN's. They pad both sides equally, and a window must
 * begin within the input. So dilation is refused, and so are outputs (ceil mode) whose last windows
 * reach beyond such padding. Inputs are cut off behind the last window.
 *
 * Adaptive windows lie at no stride. Averages of them are our own kernels (loops_pool.cu); maxima of
 * no more outputs than inputs take as many of the longest window, and others are refused.
 *
 * The gradient of a maximum needs input and output of the forward kernel. That of an average needs
 * neither: it gets buffers of these shapes, which it does not read.
 */

enum { DEPTH, HEIGHT, WIDTH };

typedef struct pool {
    cudnnPoolingDescriptor_t window;
    cudnnTensorDescriptor_t  in, out;
    size_t                   x, y, dx, dy; /* places in `at` */
} pool;

static void free_pool(pool *p)
{
    if (p->window)
        (void)cudnnDestroyPoolingDescriptor(p->window);
    ops_tensor_free(p->in);
    ops_tensor_free(p->out);
    free(p);
}

static void release(cuda_kernel *k)
{
    free_pool(k->made);
    k->made = NULL;
}

static lm_status run_forward(const cuda_kernel *k, const cuda_device *device, void *const *at,
                             lm_error *err)
{
    const pool         *p   = k->made;
    const float         one = 1.0f, zero = 0.0f;
    const cudnnStatus_t cause = cudnnPoolingForward(device->cudnn, p->window, &one, p->in, at[p->x],
                                                    &zero, p->out, at[p->y]);

    return cause == CUDNN_STATUS_SUCCESS ? LM_OK : cudnn_failed(err, k->implementation, cause);
}

static lm_status run_backward(const cuda_kernel *k, const cuda_device *device, void *const *at,
                              lm_error *err)
{
    const pool         *p   = k->made;
    const float         one = 1.0f, zero = 0.0f;
    const cudnnStatus_t cause =
        cudnnPoolingBackward(device->cudnn, p->window, &one, p->out, at[p->y], p->out, at[p->dy],
                             p->in, at[p->x], &zero, p->in, at[p->dx]);

    return cause == CUDNN_STATUS_SUCCESS ? LM_OK : cudnn_failed(err, k->implementation, cause);
}

/* ---- geometry -------------------------------------------------------------------------------- */

typedef struct shape {
    graph_layout whole, in, out; /* the whole input; its part that is read */
    int          axes, size[3], pad[3], stride[3];
} shape;

/* NULL, or the reason why these calls cannot run it. */
static const char *describe(const lm_kernel *k, bool nhwc, shape *s)
{
    int64_t   in[5] = { k->u.pool.n, k->u.pool.channels }, out[5] = { in[0], in[1] };
    const int axes = k->u.pool.in[DEPTH] != 1 || k->u.pool.window[DEPTH] != 1 ? 3 : 2;

    s->axes = axes;
    for (int i = 0; i < axes; i++) {
        const int     a      = 3 - axes + i;
        const int64_t window = k->u.pool.window[a], stride = k->u.pool.stride[a];
        const int64_t pad = k->u.pool.pad[a], size = k->u.pool.in[a];
        const int64_t spare = size + 2 * pad - window - (k->u.pool.out[a] - 1) * stride;

        if (window > 1 && k->u.pool.dilation[a] != 1)
            return "no windows with gaps";
        if (window > INT_MAX || stride > INT_MAX || pad >= window)
            return "no such window";
        if (spare < 0)
            return pool_is_adaptive(k) ? "no adaptive maxima of more outputs than inputs"
                                       : "no padding behind other than in front";
        s->size[i]   = (int)window;
        s->stride[i] = (int)stride;
        s->pad[i]    = (int)pad;
        in[2 + i]    = size;
        out[2 + i]   = k->u.pool.out[a];
    }
    s->whole = s->in = graph_image(2 + axes, in, nhwc);
    s->out           = graph_image(2 + axes, out, nhwc);
    for (int i = 0; i < axes; i++) {
        const int64_t spare =
            in[2 + i] + 2 * s->pad[i] - s->size[i] - (out[2 + i] - 1) * s->stride[i];

        if (spare >= s->stride[i] && s->pad[i])
            return "no padding in front alone";
        s->in.dim[2 + i] -= spare / s->stride[i] * s->stride[i];
    }
    return NULL;
}

static lm_status make(const shape *s, const lm_kernel *k, cudnnDataType_t type, pool *p,
                      lm_error *err)
{
    const cudnnPoolingMode_t mode  = k->u.pool.mode == LM_POOL_MAX
                                         ? CUDNN_POOLING_MAX
                                         : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
    cudnnStatus_t            cause = cudnnCreatePoolingDescriptor(&p->window);
    lm_status                status;

    if (cause == CUDNN_STATUS_SUCCESS)
        cause = cudnnSetPoolingNdDescriptor(p->window, mode, CUDNN_NOT_PROPAGATE_NAN, s->axes,
                                            s->size, s->pad, s->stride);
    if (cause != CUDNN_STATUS_SUCCESS)
        return cudnn_failed(err, "cuDNN's pooling", cause);
    status = ops_tensor_make(&s->in, type, &p->in, err);
    return status ? status : ops_tensor_make(&s->out, type, &p->out, err);
}

static void add_slots(cuda_kernel *k, const shape *s, pool *p)
{
    const lm_dtype t      = k->base.kernel.dtype;
    const fill     normal = cuda_normal(t, 1.0);

    if (k->base.kernel.pass == LM_FORWARD) {
        p->x = ops_slot(k, CUDA_SRC, ROLE_IN, &s->whole, t, normal);
        p->y = ops_slot(k, CUDA_DST, ROLE_OUT, &s->out, t, normal);
        return;
    }
    p->dy = ops_slot(k, CUDA_DIFF_DST, ROLE_IN, &s->out, t, normal);
    p->dx = ops_slot(k, CUDA_DIFF_SRC, ROLE_OUT, &s->whole, t, normal);
    p->x  = p->dx;
    p->y  = p->dy;
    if (k->base.kernel.u.pool.mode == LM_POOL_MAX) {
        p->x = ops_slot(k, CUDA_SRC, ROLE_SAVED_IN, &s->whole, t, normal);
        p->y = ops_slot(k, CUDA_DST, ROLE_SAVED_OUT, &s->out, t, normal);
    }
}

/* ---- adaptive averages ------------------------------------------------------------------------ */

enum { ADAPTIVE_LANES = 256 }; /* at most, of a plane */

typedef struct adaptive {
    loop_args args; /* without buffers */
    unsigned  lanes;
} adaptive;

static lm_status run_adaptive(const cuda_kernel *k, const cuda_device *device, void *const *at,
                              lm_error *err)
{
    const adaptive *p    = k->made;
    loop_args       args = p->args;

    args.at[0] = at[0];
    args.at[1] = at[1];
    return cuda_loop_rows(
        device, k->base.kernel.pass == LM_FORWARD ? LOOP_POOL_ADAPTIVE : LOOP_POOL_ADAPTIVE_BACK,
        k->base.kernel.dtype, p->lanes, args.n * args.slices, &args, err);
}

static void release_adaptive(cuda_kernel *k)
{
    free(k->made);
    k->made = NULL;
}

/* Our kernels number elements of a plane, and pixels times windows along an axis, in 32 bits. */
static bool fits(const lm_kernel *k, uint64_t inner)
{
    for (int a = 0; a < 3; a++)
        if (lm_mul((uint64_t)k->u.pool.in[a], (uint64_t)k->u.pool.out[a]) > INT_MAX)
            return false;
    return lm_mul(inner, lm_volume(k->u.pool.in)) <= INT_MAX &&
           lm_mul(inner, lm_volume(k->u.pool.out)) <= INT_MAX;
}

static lm_status prepare_adaptive(cuda_kernel *k, bool nhwc, lm_error *err)
{
    const lm_kernel *m       = &k->base.kernel;
    const bool       forward = m->pass == LM_FORWARD;
    const int64_t   *from    = forward ? m->u.pool.in : m->u.pool.out;
    const int64_t   *to      = forward ? m->u.pool.out : m->u.pool.in;
    const int64_t    inner   = nhwc ? m->u.pool.channels : 1;
    const uint64_t   each    = lm_mul((uint64_t)m->u.pool.n,
                                      lm_mul((uint64_t)m->u.pool.channels, lm_dtype_bytes(m->dtype)));
    const fill       normal  = cuda_normal(m->dtype, 1.0);
    int64_t          elements;
    adaptive        *p;

    if (!cuda_loops_know(m->dtype))
        return cuda_unsupported(k, "the backend cudnn", "element type", err);
    if (!fits(m, (uint64_t)inner))
        return cuda_unsupported(k, "the backend cudnn", "adaptive windows beyond 31 bits", err);
    p = calloc(1, sizeof *p);
    if (!p)
        return no_memory(err);
    elements = inner * (int64_t)lm_volume(to);
    p->lanes = cuda_loop_lanes(elements, ADAPTIVE_LANES);
    p->args  = (loop_args){ .n      = nhwc ? m->u.pool.n : m->u.pool.n * m->u.pool.channels,
                            .inner  = inner,
                            .slices = (elements + p->lanes - 1) / p->lanes };
    for (int a = 0; a < 3; a++) {
        p->args.from[a] = (int)from[a];
        p->args.to[a]   = (int)to[a];
    }
    cuda_add_slot(k, forward ? CUDA_SRC : CUDA_DIFF_DST, ROLE_IN, lm_mul(each, lm_volume(from)),
                  normal);
    cuda_add_slot(k, forward ? CUDA_DST : CUDA_DIFF_SRC, ROLE_OUT, lm_mul(each, lm_volume(to)),
                  normal);
    k->made    = p;
    k->run     = run_adaptive;
    k->release = release_adaptive;
    snprintf(k->implementation, sizeof k->implementation, "own adaptive average");
    return LM_OK;
}

lm_status ops_pool(const cuda_device *device, const settings *how, cuda_kernel *k, lm_error *err)
{
    const bool      nhwc = how->value[SETTING_LAYOUT] != 0;
    const bool      max  = k->base.kernel.u.pool.mode == LM_POOL_MAX;
    cudnnDataType_t type;
    shape           s;
    const char     *refused;
    pool           *p;
    lm_status       status;

    (void)device;
    if (!max && pool_is_adaptive(&k->base.kernel))
        return prepare_adaptive(k, nhwc, err);
    if (!ops_type(k->base.kernel.dtype, &type))
        return cuda_unsupported(k, "cuDNN", "no such element type", err);
    refused = describe(&k->base.kernel, nhwc, &s);
    if (refused)
        return cuda_unsupported(k, "cuDNN's pooling", refused, err);
    p = calloc(1, sizeof *p);
    if (!p)
        return no_memory(err);
    status = make(&s, &k->base.kernel, type, p, err);
    if (status) {
        free_pool(p);
        return status;
    }
    add_slots(k, &s, p);
    k->made    = p;
    k->run     = k->base.kernel.pass == LM_FORWARD ? run_forward : run_backward;
    k->release = release;
    snprintf(k->implementation, sizeof k->implementation, "cudnn pooling %s",
             max ? "max" : "average");
    return LM_OK;
}
