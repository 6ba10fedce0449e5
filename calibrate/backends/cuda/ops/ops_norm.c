/* Norms: batch norm by cuDNN's classic calls, layer and RMS norm by its graphs. */
#include "ops/ops.h"

#include <stdio.h>
#include <stdlib.h>

#include "ops/ops_classic.h"
#include "ops/ops_graph.h"

#include "base/no_memory.h"
#include "measure/kernel_kinds.h"

/*
 * A kernel has statistics over `group` elements for each of `rows`; `inner` of these elements are
 * adjacent in memory.
 *
 * inner < group, or channels: a batch norm of images, N = group / inner, C = rows. The classic
 * calls are those of PyTorch (cudnnBatchNormalizationForwardTrainingEx, of one value a channel,
 * CUDNN_BATCHNORM_SPATIAL; NHWC: SPATIAL_PERSISTENT; two axes only: PER_ACTIVATION;
 * aten/src/ATen/native/cudnn/BatchNorm.cpp); in evaluation cudnnBatchNormalizationForwardInference,
 * with SPATIAL for NHWC. Scale, shift and statistics are always f32.
 *
 * inner == group: a layer norm of each row, with scale and shift of `group` values. PyTorch has its
 * own kernels; here the graph API runs it. The graph API may have no engine for rows of many
 * thousand elements, as in group and instance norms. Then it is a batch norm of N = 1, C = rows, as
 * PyTorch's instance norm. An RMS norm has no such substitute.
 *
 * Both ran on an H100 with cuDNN 9.14 and agree with a CPU's results. The graphs' engines there want
 * pointers aligned to more than 64 bytes, whatever the tensors declare.
 */

enum { NO_SLOT = MAX_SLOTS };

static const double epsilon = 1e-5; /* PyTorch's */

static const fill zero = { .kind = FILL_ZERO };
static const fill one  = { .kind = FILL_ONE };

/* ---- batch norm ------------------------------------------------------------------------------ */

typedef struct batch {
    cudnnBatchNormMode_t    mode;
    bool                    known; /* uses running statistics */
    cudnnTensorDescriptor_t image, channel;
    size_t                  workspace_bytes, reserve_bytes;
    /* places in `at` */
    size_t x, y, dy, dx, scale, shift, dscale, dshift, mean, deviation, reserve, scratch;
} batch;

static void free_batch(batch *b)
{
    ops_tensor_free(b->image);
    ops_tensor_free(b->channel);
    free(b);
}

static void release_batch(cuda_kernel *k)
{
    free_batch(k->made);
    k->made = NULL;
}

static void *pointer(void *const *at, size_t place)
{
    return place == NO_SLOT ? NULL : at[place];
}

static lm_status run_forward(const cuda_kernel *k, const cuda_device *device, void *const *at,
                             lm_error *err)
{
    const batch        *b  = k->made;
    const float         f1 = 1.0f, f0 = 0.0f;
    const cudnnStatus_t cause = cudnnBatchNormalizationForwardTrainingEx(
        device->cudnn, b->mode, CUDNN_BATCHNORM_OPS_BN, &f1, &f0, b->image, at[b->x], NULL, NULL,
        b->image, at[b->y], b->channel, at[b->scale], at[b->shift], 1.0, NULL, NULL, epsilon,
        at[b->mean], at[b->deviation], NULL, pointer(at, b->scratch), b->workspace_bytes,
        pointer(at, b->reserve), b->reserve_bytes);

    return cause == CUDNN_STATUS_SUCCESS ? LM_OK : cudnn_failed(err, k->implementation, cause);
}

static lm_status run_known(const cuda_kernel *k, const cuda_device *device, void *const *at,
                           lm_error *err)
{
    const batch        *b  = k->made;
    const float         f1 = 1.0f, f0 = 0.0f;
    const cudnnStatus_t cause = cudnnBatchNormalizationForwardInference(
        device->cudnn, b->mode, &f1, &f0, b->image, at[b->x], b->image, at[b->y], b->channel,
        at[b->scale], at[b->shift], at[b->mean], at[b->deviation], epsilon);

    return cause == CUDNN_STATUS_SUCCESS ? LM_OK : cudnn_failed(err, k->implementation, cause);
}

static lm_status run_backward(const cuda_kernel *k, const cuda_device *device, void *const *at,
                              lm_error *err)
{
    const batch        *b  = k->made;
    const float         f1 = 1.0f, f0 = 0.0f;
    const cudnnStatus_t cause = cudnnBatchNormalizationBackwardEx(
        device->cudnn, b->mode, CUDNN_BATCHNORM_OPS_BN, &f1, &f0, &f1, &f0, b->image, at[b->x],
        NULL, NULL, b->image, at[b->dy], NULL, NULL, b->image, at[b->dx], b->channel, at[b->scale],
        NULL, at[b->dscale], at[b->dshift], epsilon, at[b->mean], at[b->deviation], NULL,
        pointer(at, b->scratch), b->workspace_bytes, pointer(at, b->reserve), b->reserve_bytes);

    return cause == CUDNN_STATUS_SUCCESS ? LM_OK : cudnn_failed(err, k->implementation, cause);
}

static size_t place(cuda_kernel *k, cuda_argument argument, slot_role role, uint64_t elements,
                    lm_dtype type, fill f)
{
    f.type = type;
    if (elements == 0)
        return NO_SLOT;
    cuda_add_slot(k, argument, role, lm_mul(elements, lm_dtype_bytes(type)), f);
    return k->base.n_slots - 1;
}

static void batch_slots(cuda_kernel *k, batch *b)
{
    const lm_kernel *s        = &k->base.kernel;
    const bool       forward  = s->pass == LM_FORWARD;
    const uint64_t   channels = (uint64_t)s->u.norm.rows;
    const uint64_t   all      = lm_mul(channels, (uint64_t)s->u.norm.group);
    const fill       normal   = cuda_normal(s->dtype, 1.0);

    b->x         = place(k, CUDA_SRC, forward ? ROLE_IN : ROLE_SAVED_IN, all, s->dtype, normal);
    b->mean      = place(k, CUDA_MEAN, ROLE_STATE, channels, LM_F32, zero);
    b->deviation = place(k, CUDA_VARIANCE, ROLE_STATE, channels, LM_F32, one);
    b->reserve   = place(k, CUDA_MASK, ROLE_STATE, b->reserve_bytes, LM_U8, zero);
    b->scale     = place(k, CUDA_SCALE, ROLE_WEIGHT, channels, LM_F32, one);
    if (forward) {
        b->shift = place(k, CUDA_SHIFT, ROLE_WEIGHT, channels, LM_F32, zero);
        b->y     = place(k, CUDA_DST, ROLE_OUT, all, s->dtype, normal);
    } else {
        b->dy     = place(k, CUDA_DIFF_DST, ROLE_IN, all, s->dtype, normal);
        b->dx     = place(k, CUDA_DIFF_SRC, ROLE_OUT, all, s->dtype, normal);
        b->dscale = place(k, CUDA_DIFF_SCALE, ROLE_GRADIENT, channels, LM_F32, zero);
        b->dshift = place(k, CUDA_DIFF_SHIFT, ROLE_GRADIENT, channels, LM_F32, zero);
    }
    b->scratch = place(k, CUDA_SCRATCH, ROLE_SCRATCH, b->workspace_bytes, LM_U8,
                       (fill){ .kind = FILL_NONE });
}

/* Sizes of the calls' further arguments. */
static cudnnStatus_t batch_sizes(const cuda_device *device, lm_pass pass, batch *b)
{
    const cudnnBatchNormOps_t ops   = CUDNN_BATCHNORM_OPS_BN;
    cudnnStatus_t             cause = cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
                    device->cudnn, b->mode, ops, NULL, b->image, &b->reserve_bytes);

    if (cause != CUDNN_STATUS_SUCCESS)
        return cause;
    if (pass == LM_FORWARD)
        return cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
            device->cudnn, b->mode, ops, b->image, NULL, b->image, b->channel, NULL,
            &b->workspace_bytes);
    return cudnnGetBatchNormalizationBackwardExWorkspaceSize(device->cudnn, b->mode, ops, b->image,
                                                             NULL, b->image, NULL, b->image,
                                                             b->channel, NULL, &b->workspace_bytes);
}

static lm_status make_batch(const cuda_device *device, const lm_kernel *k, bool nhwc, batch *b,
                            lm_error *err)
{
    const int64_t      channels = k->u.norm.rows, inner = k->u.norm.inner;
    const graph_layout image =
        graph_image(4, (const int64_t[]){ k->u.norm.group / inner, channels, 1, inner }, nhwc);
    const graph_layout channel = graph_packed(4, (const int64_t[]){ 1, channels, 1, 1 });
    cudnnDataType_t    type;
    cudnnStatus_t      cause;
    lm_status          status;

    if (!ops_type(k->dtype, &type))
        return lm_error_set(err, LM_E_UNSUPPORTED, "no such element type");
    b->mode = nhwc && !b->known ? CUDNN_BATCHNORM_SPATIAL_PERSISTENT : CUDNN_BATCHNORM_SPATIAL;
    if (inner == 1)
        b->mode = CUDNN_BATCHNORM_PER_ACTIVATION;
    status = ops_tensor_make(&image, type, &b->image, err);
    if (!status)
        status = ops_tensor_make(&channel, CUDNN_DATA_FLOAT, &b->channel, err);
    if (status)
        return status;
    if (b->known)
        return LM_OK;
    cause = batch_sizes(device, k->pass, b);
    if (cause != CUDNN_STATUS_SUCCESS)
        return lm_error_set(err, LM_E_UNSUPPORTED, "%s", cudnnGetErrorString(cause));
    if (b->workspace_bytes > device->workspace_limit)
        return lm_error_set(err, LM_E_UNSUPPORTED, "within the workspace limit there is none");
    return LM_OK;
}

static const char *batch_mode(cudnnBatchNormMode_t mode)
{
    return mode == CUDNN_BATCHNORM_PER_ACTIVATION ? "per-activation"
           : mode == CUDNN_BATCHNORM_SPATIAL      ? "spatial"
                                                  : "persistent";
}

static lm_status prepare_batch(const cuda_device *device, const settings *how, cuda_kernel *k,
                               lm_error *err)
{
    batch    *b   = calloc(1, sizeof *b);
    lm_error  why = { 0 };
    lm_status status;

    if (!b)
        return no_memory(err);
    b->known = k->base.use == USE_EVALUATION && norm_over_channels(&k->base.kernel);
    status   = make_batch(device, &k->base.kernel, how->value[SETTING_LAYOUT] != 0, b, &why);
    if (status) {
        free_batch(b);
        return status == LM_E_UNSUPPORTED ? cuda_unsupported(k, "cuDNN", why.text, err)
                                          : lm_error_set(err, status, "%s", why.text);
    }
    batch_slots(k, b);
    k->made = b;
    k->run  = b->known ? run_known : k->base.kernel.pass == LM_FORWARD ? run_forward : run_backward;
    k->release = release_batch;
    snprintf(k->implementation, sizeof k->implementation, "cudnn batchnorm %s%s %.7g B",
             b->known ? "inference " : "", batch_mode(b->mode), (double)b->workspace_bytes);
    return LM_OK;
}

/* ---- layer norm ------------------------------------------------------------------------------ */

/* Inputs of both passes: source (`role`), statistics and scale. */
static void draw_shared(dnn_graph *g, cuda_kernel *k, graph_norm *n, const graph_layout *row,
                        const graph_layout *all, const graph_layout *one_row, cudnnDataType_t type,
                        slot_role role)
{
    const lm_dtype t = k->base.kernel.dtype;

    n->x = graph_argument(g, ops_slot(k, CUDA_SRC, role, all, t, cuda_normal(t, 1.0)), all, type);
    if (n->mode != CUDNN_RMS_NORM)
        n->mean = graph_argument(g, ops_slot(k, CUDA_MEAN, ROLE_STATE, row, LM_F32, zero), row,
                                 CUDNN_DATA_FLOAT);
    n->inverse_deviation = graph_argument(
        g, ops_slot(k, CUDA_VARIANCE, ROLE_STATE, row, LM_F32, one), row, CUDNN_DATA_FLOAT);
    n->scale =
        graph_argument(g, ops_slot(k, CUDA_SCALE, ROLE_WEIGHT, one_row, t, one), one_row, type);
}

static void draw_forward(dnn_graph *g, cuda_kernel *k, graph_norm *n, const graph_layout *row,
                         const graph_layout *all, const graph_layout *one_row, cudnnDataType_t type)
{
    const lm_dtype t      = k->base.kernel.dtype;
    const bool     rms    = n->mode == CUDNN_RMS_NORM;
    const fill     normal = cuda_normal(t, 1.0);

    draw_shared(g, k, n, row, all, one_row, type, ROLE_IN);
    if (!rms)
        n->shift = graph_argument(g, ops_slot(k, CUDA_SHIFT, ROLE_WEIGHT, one_row, t, zero),
                                  one_row, type);
    n->y       = graph_argument(g, ops_slot(k, CUDA_DST, ROLE_OUT, all, t, normal), all, type);
    n->epsilon = graph_number(g, all->rank, (float)epsilon);
    graph_norm_forward(g, n);
}

static void draw_backward(dnn_graph *g, cuda_kernel *k, graph_norm *n, const graph_layout *row,
                          const graph_layout *all, const graph_layout *one_row,
                          cudnnDataType_t type)
{
    const lm_dtype t      = k->base.kernel.dtype;
    const bool     rms    = n->mode == CUDNN_RMS_NORM;
    const fill     normal = cuda_normal(t, 1.0);

    draw_shared(g, k, n, row, all, one_row, type, ROLE_SAVED_IN);
    n->dy     = graph_argument(g, ops_slot(k, CUDA_DIFF_DST, ROLE_IN, all, t, normal), all, type);
    n->dx     = graph_argument(g, ops_slot(k, CUDA_DIFF_SRC, ROLE_OUT, all, t, normal), all, type);
    n->dscale = graph_argument(g, ops_slot(k, CUDA_DIFF_SCALE, ROLE_GRADIENT, one_row, t, normal),
                               one_row, type);
    if (!rms)
        n->dshift = graph_argument(
            g, ops_slot(k, CUDA_DIFF_SHIFT, ROLE_GRADIENT, one_row, t, normal), one_row, type);
    graph_norm_backward(g, n);
}

static lm_status prepare_rows(const cuda_device *device, const settings *how, cuda_kernel *k,
                              lm_error *err)
{
    const lm_kernel   *s    = &k->base.kernel;
    const int64_t      rows = s->u.norm.rows, group = s->u.norm.group;
    const graph_layout all     = graph_packed(4, (const int64_t[]){ rows, group, 1, 1 });
    const graph_layout row     = graph_packed(4, (const int64_t[]){ rows, 1, 1, 1 });
    const graph_layout one_row = graph_packed(4, (const int64_t[]){ 1, group, 1, 1 });
    graph_rules        rules   = ops_rules(device, how, s->dtype, CUDNN_HEUR_MODE_A);
    graph_norm         n       = { .mode = s->u.norm.rms ? CUDNN_RMS_NORM : CUDNN_LAYER_NORM };
    cudnnDataType_t    type;
    dnn_graph         *g;

    rules.tensor_cores = true; /* there are no products to round */
    if (!ops_type(s->dtype, &type))
        return cuda_unsupported(k, "cuDNN", "no such element type", err);
    g = ops_graph_new(device);
    if (g && s->pass == LM_FORWARD)
        draw_forward(g, k, &n, &row, &all, &one_row, type);
    else if (g)
        draw_backward(g, k, &n, &row, &all, &one_row, type);
    return ops_graph_finish(device, k, g, NULL, &rules, err);
}

lm_status ops_norm(const cuda_device *device, const settings *how, cuda_kernel *k, lm_error *err)
{
    const lm_kernel *s = &k->base.kernel;
    lm_error         first;
    lm_status        status;

    if (s->u.norm.inner < 1 || s->u.norm.group % s->u.norm.inner)
        return cuda_unsupported(k, "cuDNN", "groups that do not divide", err);
    if (norm_over_channels(s))
        return s->u.norm.rms ? cuda_unsupported(k, "cuDNN", "an RMS norm over channels", err)
                             : prepare_batch(device, how, k, err);
    status = prepare_rows(device, how, k, &first);
    if (status == LM_E_UNSUPPORTED && !s->u.norm.rms && device->cudnn) {
        const settings nchw = { 0 };

        k->base.n_slots = 0;
        status          = prepare_batch(device, &nchw, k, &first);
    }
    if (status)
        *err = first;
    return status;
}
