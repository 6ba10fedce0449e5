/* Batch norms of cuDNN on a device that is not there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake_classic.h"

enum { BATCH_WORKSPACE = 512, BATCH_RESERVE = 256, RESERVE_MARK = 0x5a };

/* One value a channel; PER_ACTIVATION: of images of one pixel that is the same. */
static bool batch_fits(cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const fake_tensor *x,
                       const fake_tensor *channel)
{
    if (ops != CUDNN_BATCHNORM_OPS_BN || channel->type != CUDNN_DATA_FLOAT ||
        channel->rank != x->rank)
        return false;
    for (int i = 0; i < x->rank; i++) {
        const bool whole = i == 1 || (i > 1 && mode == CUDNN_BATCHNORM_PER_ACTIVATION);

        if (channel->dim[i] != (whole ? x->dim[i] : 1))
            return false;
    }
    return true;
}

cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t x_type, size_t *bytes)
{
    (void)ops;
    if (!handle || activation || !x_type->set)
        return classic_wrong("not set");
    *bytes = mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT ? BATCH_RESERVE : 0;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    cudnnTensorDescriptor_t x_type, cudnnTensorDescriptor_t z_type, cudnnTensorDescriptor_t y_type,
    cudnnTensorDescriptor_t channel_type, cudnnActivationDescriptor_t activation, size_t *bytes)
{
    if (!handle || activation || z_type || !fake_same_shape(&x_type->shape, &y_type->shape) ||
        !batch_fits(mode, ops, &x_type->shape, &channel_type->shape))
        return classic_wrong("shapes that do not fit");
    *bytes = BATCH_WORKSPACE;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    cudnnTensorDescriptor_t x_type, cudnnTensorDescriptor_t y_type, cudnnTensorDescriptor_t dy_type,
    cudnnTensorDescriptor_t dz_type, cudnnTensorDescriptor_t dx_type,
    cudnnTensorDescriptor_t channel_type, cudnnActivationDescriptor_t activation, size_t *bytes)
{
    (void)y_type;
    if (!handle || activation || dz_type || !fake_same_shape(&x_type->shape, &dy_type->shape) ||
        !fake_same_shape(&x_type->shape, &dx_type->shape) ||
        !batch_fits(mode, ops, &x_type->shape, &channel_type->shape))
        return classic_wrong("shapes that do not fit");
    *bytes = BATCH_WORKSPACE;
    return CUDNN_STATUS_SUCCESS;
}

/* The index of an element's channel. */
static void channel_of(const fake_tensor *channel, const int64_t *i, int64_t *out)
{
    for (int d = 0; d < channel->rank; d++)
        out[d] = channel->dim[d] == 1 ? 0 : i[d];
}

static fake_tensor sums_like(const fake_tensor *channel)
{
    fake_tensor t = *channel;

    t.type = CUDNN_DATA_DOUBLE;
    t.at   = malloc(fake_tensor_bytes(&t));
    fake_clear(&t);
    return t;
}

static void add_to(const fake_tensor *t, const int64_t *i, double value)
{
    int64_t c[FAKE_RANK] = { 0 };

    channel_of(t, i, c);
    fake_set(t, c, fake_get(t, c) + value);
}

static double count(const fake_tensor *x, const fake_tensor *channel)
{
    double n = 1;

    for (int i = 0; i < x->rank; i++)
        n *= (double)x->dim[i] / (double)channel->dim[i];
    return n;
}

/* t: x, y, scale, shift, mean, inverse deviation. */
static void run_batch_forward(void *context)
{
    const classic_call *c    = context;
    const fake_tensor  *x    = &c->t[0];
    const double        n    = count(x, &c->t[2]);
    fake_tensor         mean = sums_like(&c->t[2]), square = sums_like(&c->t[2]);
    int64_t             i[FAKE_RANK] = { 0 };

    memset(c->workspace, 0xff, BATCH_WORKSPACE);
    if (c->reserve)
        memset(c->reserve, RESERVE_MARK, BATCH_RESERVE);
    do
        add_to(&mean, i, fake_get(x, i) / n);
    while (fake_next(x->rank, x->dim, i));
    do
        add_to(&square, i, pow(fake_get(x, i) - fake_get(&mean, i), 2) / n);
    while (fake_next(x->rank, x->dim, i));
    do {
        fake_set(&c->t[4], i, fake_get(&mean, i));
        fake_set(&c->t[5], i, 1 / sqrt(fake_get(&square, i) + c->epsilon));
    } while (fake_next(mean.rank, mean.dim, i));
    do
        fake_set(&c->t[1], i,
                 (fake_get(x, i) - fake_get(&mean, i)) / sqrt(fake_get(&square, i) + c->epsilon) *
                         fake_get(&c->t[2], i) +
                     fake_get(&c->t[3], i));
    while (fake_next(x->rank, x->dim, i));
    free(mean.at);
    free(square.at);
}

/* t: x, dy, dx, scale, dscale, dshift, mean, inverse deviation. */
static void run_batch_backward(void *context)
{
    const classic_call *c = context;
    const fake_tensor  *x = &c->t[0], *dy = &c->t[1], *mean = &c->t[6], *inverse = &c->t[7];
    const double        n      = count(x, &c->t[3]);
    fake_tensor         dscale = sums_like(&c->t[3]), dshift = sums_like(&c->t[3]);
    int64_t             i[FAKE_RANK] = { 0 };

    memset(c->workspace, 0xff, BATCH_WORKSPACE);
    do {
        add_to(&dscale, i,
               fake_get(dy, i) * (fake_get(x, i) - fake_get(mean, i)) * fake_get(inverse, i));
        add_to(&dshift, i, fake_get(dy, i));
    } while (fake_next(x->rank, x->dim, i));
    do {
        const double hat = (fake_get(x, i) - fake_get(mean, i)) * fake_get(inverse, i);

        fake_set(&c->t[2], i,
                 fake_get(&c->t[3], i) * fake_get(inverse, i) *
                     (fake_get(dy, i) - fake_get(&dshift, i) / n - hat * fake_get(&dscale, i) / n));
    } while (fake_next(x->rank, x->dim, i));
    do {
        fake_set(&c->t[4], i, fake_get(&dscale, i));
        fake_set(&c->t[5], i, fake_get(&dshift, i));
    } while (fake_next(dscale.rank, dscale.dim, i));
    free(dscale.at);
    free(dshift.at);
}

/* Workspace and reserve as the sizes asked for before. */
static bool has_space(classic_call *c, cudnnBatchNormMode_t mode, void *workspace,
                      size_t workspace_bytes, void *reserve, size_t reserve_bytes)
{
    const bool wants = mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT;

    c->workspace = workspace;
    c->reserve   = wants ? reserve : NULL;
    return workspace_bytes >= BATCH_WORKSPACE &&
           fake_is_device_memory(workspace, BATCH_WORKSPACE) &&
           (!wants ||
            (reserve_bytes >= BATCH_RESERVE && fake_is_device_memory(reserve, BATCH_RESERVE)));
}

cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha,
    const void *beta, cudnnTensorDescriptor_t x_type, const void *x, cudnnTensorDescriptor_t z_type,
    const void *z, cudnnTensorDescriptor_t y_type, void *y, cudnnTensorDescriptor_t channel_type,
    const void *scale, const void *shift, double factor, void *running_mean, void *running_variance,
    double epsilon, void *mean, void *inverse_deviation, cudnnActivationDescriptor_t activation,
    void *workspace, size_t workspace_bytes, void *reserve, size_t reserve_bytes)
{
    classic_call it = { .forward = true, .epsilon = epsilon };

    (void)factor;
    if (z_type || z || activation || running_mean || running_variance ||
        !classic_plain(alpha, beta))
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "the norm alone is known here");
    if (!classic_place(&it, 0, x_type, x) || !classic_place(&it, 1, y_type, y) ||
        !classic_place(&it, 2, channel_type, scale) ||
        !classic_place(&it, 3, channel_type, shift) || !classic_place(&it, 4, channel_type, mean) ||
        !classic_place(&it, 5, channel_type, inverse_deviation))
        return classic_wrong("a tensor that is not there");
    if (!batch_fits(mode, ops, &it.t[0], &it.t[2]) || !fake_same_shape(&it.t[0], &it.t[1]))
        return classic_wrong("shapes that do not fit");
    if (!has_space(&it, mode, workspace, workspace_bytes, reserve, reserve_bytes))
        return classic_wrong("too small a workspace");
    return classic_enqueue(handle, run_batch_forward, &it);
}

/* t: x, y, scale, shift, mean, variance. */
static void run_batch_known(void *context)
{
    const classic_call *c            = context;
    const fake_tensor  *x            = &c->t[0];
    int64_t             i[FAKE_RANK] = { 0 };

    do {
        int64_t at[FAKE_RANK] = { 0 };

        channel_of(&c->t[2], i, at);
        fake_set(&c->t[1], i,
                 (fake_get(x, i) - fake_get(&c->t[4], at)) /
                         sqrt(fake_get(&c->t[5], at) + c->epsilon) * fake_get(&c->t[2], at) +
                     fake_get(&c->t[3], at));
    } while (fake_next(x->rank, x->dim, i));
}

/* Refuses what the library's reference names: ranks other than 4 and 5, an epsilon below
 * CUDNN_BN_MIN_EPSILON, null pointers, shapes that do not fit. */
cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t x_type, const void *x, const cudnnTensorDescriptor_t y_type,
    void *y, const cudnnTensorDescriptor_t channel_type, const void *scale, const void *shift,
    const void *mean, const void *variance, double epsilon)
{
    classic_call it = { .forward = true, .epsilon = epsilon };

    if (!classic_plain(alpha, beta))
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "the norm alone is known here");
    if (!classic_place(&it, 0, x_type, x) || !classic_place(&it, 1, y_type, y) ||
        !classic_place(&it, 2, channel_type, scale) ||
        !classic_place(&it, 3, channel_type, shift) || !classic_place(&it, 4, channel_type, mean) ||
        !classic_place(&it, 5, channel_type, variance))
        return classic_wrong("a tensor that is not there");
    if (it.t[0].rank < 4 || it.t[0].rank > 5 || !(epsilon >= 0))
        return classic_wrong("a rank or an epsilon that is not taken");
    if (!batch_fits(mode, CUDNN_BATCHNORM_OPS_BN, &it.t[0], &it.t[2]) ||
        !fake_same_shape(&it.t[0], &it.t[1]))
        return classic_wrong("shapes that do not fit");
    return classic_enqueue(handle, run_batch_known, &it);
}

cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const void *alpha_data, const void *beta_data, const void *alpha_param, const void *beta_param,
    cudnnTensorDescriptor_t x_type, const void *x, cudnnTensorDescriptor_t y_type, const void *y,
    cudnnTensorDescriptor_t dy_type, const void *dy, cudnnTensorDescriptor_t dz_type, void *dz,
    cudnnTensorDescriptor_t dx_type, void *dx, cudnnTensorDescriptor_t channel_type,
    const void *scale, const void *shift, void *dscale, void *dshift, double epsilon,
    const void *mean, const void *inverse_deviation, cudnnActivationDescriptor_t activation,
    void *workspace, size_t workspace_bytes, void *reserve, size_t reserve_bytes)
{
    classic_call it = { .forward = false, .epsilon = epsilon };

    if (y_type || y || dz_type || dz || shift || activation ||
        !classic_plain(alpha_data, beta_data) || !classic_plain(alpha_param, beta_param))
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "the norm alone is known here");
    if (!classic_place(&it, 0, x_type, x) || !classic_place(&it, 1, dy_type, dy) ||
        !classic_place(&it, 2, dx_type, dx) || !classic_place(&it, 3, channel_type, scale) ||
        !classic_place(&it, 4, channel_type, dscale) ||
        !classic_place(&it, 5, channel_type, dshift) ||
        !classic_place(&it, 6, channel_type, mean) ||
        !classic_place(&it, 7, channel_type, inverse_deviation))
        return classic_wrong("a tensor that is not there");
    if (!batch_fits(mode, ops, &it.t[0], &it.t[3]) || !fake_same_shape(&it.t[0], &it.t[1]) ||
        !fake_same_shape(&it.t[0], &it.t[2]))
        return classic_wrong("shapes that do not fit");
    if (!has_space(&it, mode, workspace, workspace_bytes, reserve, reserve_bytes))
        return classic_wrong("too small a workspace");
    return classic_enqueue(handle, run_batch_backward, &it);
}
