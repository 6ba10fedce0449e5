/* cuDNN's classic calls on a device that is not there: sums, bias, pooling, softmax, batch norm. */
#include <cudnn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "fake_tensor.h"

struct cudnnTensorStruct {
    fake_tensor shape;
    bool        set;
};

struct cudnnPoolingStruct {
    cudnnPoolingMode_t mode;
    int                axes, size[3], padding[3], stride[3];
};

struct cudnnReduceTensorStruct {
    cudnnReduceTensorOp_t op;
    cudnnDataType_t       compute;
};

enum { OPERANDS = 8 };

/* What is copied into the stream: tensors with where they are, and the rest of a call. */
typedef struct call {
    fake_tensor               t[OPERANDS];
    struct cudnnPoolingStruct pool;
    double                    epsilon;
    bool                      forward, has_workspace;
    char                     *workspace, *reserve;
    size_t                    workspace_bytes;
} call;

/* ---- descriptors ----------------------------------------------------------------------------- */

static cudnnStatus_t created(const void *made)
{
    if (!made)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    fake_descriptors++;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t destroyed(void *made)
{
    if (made)
        fake_descriptors--;
    free(made);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *out)
{
    *out = calloc(1, sizeof **out);
    return created(*out);
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t t)
{
    return destroyed(t);
}

/* "Do not use for tensors of less than 4 axes." */
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t t, cudnnDataType_t type, int rank,
                                         const int dim[], const int stride[])
{
    if (rank < 4 || rank > FAKE_RANK)
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "tensors have 4 axes or more");
    *t = (struct cudnnTensorStruct){ .shape = { .type = type, .rank = rank }, .set = true };
    for (int i = 0; i < rank; i++) {
        if (dim[i] < 1 || stride[i] < 1)
            return fake_refuse(CUDNN_STATUS_BAD_PARAM, "sizes and strides are positive");
        t->shape.dim[i]    = dim[i];
        t->shape.stride[i] = stride[i];
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t *out)
{
    *out = calloc(1, sizeof **out);
    return created(*out);
}

cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t p)
{
    return destroyed(p);
}

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t p, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int axes, const int window[],
                                          const int padding[], const int stride[])
{
    (void)nan;
    if (axes < 2 || axes > 3)
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "pooling has 2 or 3 axes");
    p->mode = mode;
    p->axes = axes;
    for (int i = 0; i < axes; i++) {
        if (window[i] < 1 || stride[i] < 1 || padding[i] < 0 || padding[i] >= window[i])
            return fake_refuse(CUDNN_STATUS_BAD_PARAM, "no such window");
        p->size[i]    = window[i];
        p->padding[i] = padding[i];
        p->stride[i]  = stride[i];
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateReduceTensorDescriptor(cudnnReduceTensorDescriptor_t *out)
{
    *out = calloc(1, sizeof **out);
    return created(*out);
}

cudnnStatus_t cudnnDestroyReduceTensorDescriptor(cudnnReduceTensorDescriptor_t r)
{
    return destroyed(r);
}

cudnnStatus_t cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t r,
                                             cudnnReduceTensorOp_t op, cudnnDataType_t compute,
                                             cudnnNanPropagation_t      nan,
                                             cudnnReduceTensorIndices_t indices,
                                             cudnnIndicesType_t         index_type)
{
    (void)nan;
    (void)index_type;
    if (indices != CUDNN_REDUCE_TENSOR_NO_INDICES)
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "indices of maxima and minima alone");
    *r = (struct cudnnReduceTensorStruct){ op, compute };
    return CUDNN_STATUS_SUCCESS;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* False: not set, or not in device memory. */
static bool place(call *c, int i, cudnnTensorDescriptor_t type, const void *at)
{
    if (!type || !type->set)
        return false;
    c->t[i] = type->shape;
    memcpy(&c->t[i].at, &at, sizeof at);
    return fake_is_device_memory(at, fake_tensor_bytes(&c->t[i]));
}

/* Results replace what was there. */
static bool plain(const void *alpha, const void *beta)
{
    const double a = fake_factor(alpha), b = fake_factor(beta);

    return !(a < 1) && !(a > 1) && !(b < 0) && !(b > 0);
}

static cudnnStatus_t wrong(const char *reason)
{
    return fake_refuse(CUDNN_STATUS_BAD_PARAM, reason);
}

static cudnnStatus_t enqueue(cudnnHandle_t handle, fake_call *run, const call *c)
{
    return fake_library_enqueue(fake_stream(handle), run, c, sizeof *c) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
}

static void run_add(void *context)
{
    const call *c            = context;
    int64_t     i[FAKE_RANK] = { 0 };

    do
        fake_set(&c->t[1], i, fake_get(&c->t[1], i) + fake_get(&c->t[0], i));
    while (fake_next(c->t[1].rank, c->t[1].dim, i));
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void *alpha,
                             cudnnTensorDescriptor_t a_type, const void *a, const void *beta,
                             cudnnTensorDescriptor_t c_type, void *c)
{
    const double f = fake_factor(alpha), g = fake_factor(beta);
    call         it = { .forward = true };

    if (f < 1 || f > 1 || g < 1 || g > 1)
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "sums without factors are known here");
    if (!place(&it, 0, a_type, a) || !place(&it, 1, c_type, c))
        return wrong("a tensor that is not there");
    if (!fake_stretches(&it.t[0], &it.t[1]) || it.t[1].rank > 5 || it.t[0].type != it.t[1].type)
        return wrong("shapes that do not fit");
    return enqueue(handle, run_add, &it);
}

/* t[1] = the sum of t[0] over the axes in which t[1] is 1. */
static void run_sum(void *context)
{
    const call *c            = context;
    int64_t     i[FAKE_RANK] = { 0 };
    fake_tensor sum          = c->t[1];

    if (c->has_workspace)
        memset(c->workspace, 0xff, c->workspace_bytes);
    sum.type = CUDNN_DATA_DOUBLE;
    sum.at   = malloc(fake_tensor_bytes(&sum));
    fake_clear(&sum);
    do
        fake_set(&sum, i, fake_get(&sum, i) + fake_get(&c->t[0], i));
    while (fake_next(c->t[0].rank, c->t[0].dim, i));
    do
        fake_set(&c->t[1], i, fake_get(&sum, i));
    while (fake_next(sum.rank, sum.dim, i));
    free(sum.at);
}

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void *alpha,
                                           cudnnTensorDescriptor_t dy_type, const void *dy,
                                           const void *beta, cudnnTensorDescriptor_t db_type,
                                           void *db)
{
    call it = { .forward = false };

    if (!place(&it, 0, dy_type, dy) || !place(&it, 1, db_type, db) || !plain(alpha, beta))
        return wrong("a tensor that is not there, or factors");
    if (!fake_stretches(&it.t[1], &it.t[0]) || it.t[1].dim[1] != it.t[0].dim[1] ||
        it.t[0].type != it.t[1].type)
        return wrong("one value a channel");
    for (int i = 0; i < it.t[1].rank; i++)
        if (i != 1 && it.t[1].dim[i] != 1)
            return wrong("one value a channel");
    return enqueue(handle, run_sum, &it);
}

cudnnStatus_t cudnnGetReductionWorkspaceSize(cudnnHandle_t handle, cudnnReduceTensorDescriptor_t r,
                                             cudnnTensorDescriptor_t a_type,
                                             cudnnTensorDescriptor_t c_type, size_t *bytes)
{
    if (!handle || !r || !a_type->set || !c_type->set)
        return wrong("not set");
    *bytes = 2048;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnReduceTensor(cudnnHandle_t handle, cudnnReduceTensorDescriptor_t r,
                                void *indices, size_t indices_bytes, void *workspace,
                                size_t workspace_bytes, const void *alpha,
                                cudnnTensorDescriptor_t a_type, const void *a, const void *beta,
                                cudnnTensorDescriptor_t c_type, void *c)
{
    size_t needed;
    call   it = { .has_workspace = true, .workspace = workspace };

    if (r->op != CUDNN_REDUCE_TENSOR_ADD || indices || indices_bytes)
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "sums are known here");
    if (!place(&it, 0, a_type, a) || !place(&it, 1, c_type, c) || !plain(alpha, beta))
        return wrong("a tensor that is not there, or factors");
    if (!fake_stretches(&it.t[1], &it.t[0]))
        return wrong("shapes that do not fit");
    (void)cudnnGetReductionWorkspaceSize(handle, r, a_type, c_type, &needed);
    if (workspace_bytes < needed || !fake_is_device_memory(workspace, needed))
        return fake_refuse(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "too small a workspace");
    it.workspace_bytes = needed;
    return enqueue(handle, run_sum, &it);
}

/* ---- softmax --------------------------------------------------------------------------------- */

/* MODE_INSTANCE: over all of C, H, W, for each N. The next element of the same N; false: none. */
static bool next_of_instance(const fake_tensor *t, int64_t *i)
{
    return fake_next(t->rank - 1, t->dim + 1, i + 1);
}

/* t: x, y forward; dx, y, dy backward. */
static void run_softmax(void *context)
{
    const call        *c = context;
    const fake_tensor *x = &c->t[0], *y = &c->t[1], *dy = &c->t[2];
    int64_t            i[FAKE_RANK] = { 0 };

    for (i[0] = 0; i[0] < x->dim[0]; i[0]++) {
        double most = -INFINITY, sum = 0, product = 0;

        if (!c->forward) {
            do
                product += fake_get(dy, i) * fake_get(y, i);
            while (next_of_instance(x, i));
            do
                fake_set(x, i, fake_get(y, i) * (fake_get(dy, i) - product));
            while (next_of_instance(x, i));
            continue;
        }
        do
            most = fmax(most, fake_get(x, i));
        while (next_of_instance(x, i));
        do
            sum += exp(fake_get(x, i) - most);
        while (next_of_instance(x, i));
        do
            fake_set(y, i, exp(fake_get(x, i) - most) / sum);
        while (next_of_instance(x, i));
    }
}

static bool known(cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode)
{
    return algorithm == CUDNN_SOFTMAX_ACCURATE && mode == CUDNN_SOFTMAX_MODE_INSTANCE;
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                  cudnnSoftmaxMode_t mode, const void *alpha,
                                  cudnnTensorDescriptor_t x_type, const void *x, const void *beta,
                                  cudnnTensorDescriptor_t y_type, void *y)
{
    call it = { .forward = true };

    if (!known(algorithm, mode))
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "accurate, by instance");
    if (!place(&it, 0, x_type, x) || !place(&it, 1, y_type, y) || !plain(alpha, beta))
        return wrong("a tensor that is not there, or factors");
    if (!fake_same_shape(&it.t[0], &it.t[1]))
        return wrong("shapes that do not fit");
    return enqueue(handle, run_softmax, &it);
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                   cudnnSoftmaxMode_t mode, const void *alpha,
                                   cudnnTensorDescriptor_t y_type, const void *y,
                                   cudnnTensorDescriptor_t dy_type, const void *dy,
                                   const void *beta, cudnnTensorDescriptor_t dx_type, void *dx)
{
    call it = { .forward = false };

    if (!known(algorithm, mode))
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "accurate, by instance");
    if (!place(&it, 0, dx_type, dx) || !place(&it, 1, y_type, y) || !place(&it, 2, dy_type, dy) ||
        !plain(alpha, beta))
        return wrong("a tensor that is not there, or factors");
    if (!fake_same_shape(&it.t[0], &it.t[1]) || !fake_same_shape(&it.t[0], &it.t[2]))
        return wrong("shapes that do not fit");
    return enqueue(handle, run_softmax, &it);
}

/* ---- pooling --------------------------------------------------------------------------------- */

/* Where a tap of the window at `out` reads; false: padding. */
static bool find_pixel(const struct cudnnPoolingStruct *p, const fake_tensor *x, const int64_t *out,
                       const int64_t *tap, int64_t *in)
{
    in[0] = out[0];
    in[1] = out[1];
    for (int i = 0; i < p->axes; i++) {
        in[2 + i] = out[2 + i] * p->stride[i] - p->padding[i] + tap[i];
        if (in[2 + i] < 0 || in[2 + i] >= x->dim[2 + i])
            return false;
    }
    return true;
}

/* Of the window at `out`: the maximum and where it is first, or the sum. */
static double look(const call *c, const fake_tensor *x, const int64_t *out, int64_t *best)
{
    const bool max     = c->pool.mode == CUDNN_POOLING_MAX;
    double     value   = max ? -INFINITY : 0;
    int64_t    size[3] = { 0 }, tap[3] = { 0 }, in[FAKE_RANK] = { 0 };

    for (int i = 0; i < c->pool.axes; i++)
        size[i] = c->pool.size[i];
    do {
        if (!find_pixel(&c->pool, x, out, tap, in))
            continue;
        if (!max)
            value += fake_get(x, in);
        else if (fake_get(x, in) > value) {
            value = fake_get(x, in);
            memcpy(best, in, FAKE_RANK * sizeof *best);
        }
    } while (fake_next(c->pool.axes, size, tap));
    return value;
}

static double area(const struct cudnnPoolingStruct *p)
{
    double all = 1;

    for (int i = 0; i < p->axes; i++)
        all *= p->size[i];
    return all;
}

/* t: x, y. */
static void run_pool_forward(void *context)
{
    const call *c            = context;
    int64_t     i[FAKE_RANK] = { 0 }, best[FAKE_RANK];

    do
        fake_set(&c->t[1], i,
                 look(c, &c->t[0], i, best) /
                     (c->pool.mode == CUDNN_POOLING_MAX ? 1 : area(&c->pool)));
    while (fake_next(c->t[1].rank, c->t[1].dim, i));
}

/* t: x, y, dx, dy. */
static void run_pool_backward(void *context)
{
    const call        *c            = context;
    const fake_tensor *dy           = &c->t[3];
    fake_tensor        sum          = c->t[2];
    int64_t            i[FAKE_RANK] = { 0 }, size[3] = { 0 };

    for (int a = 0; a < c->pool.axes; a++)
        size[a] = c->pool.size[a];
    sum.type = CUDNN_DATA_DOUBLE;
    sum.at   = malloc(fake_tensor_bytes(&sum));
    fake_clear(&sum);
    do {
        int64_t tap[3] = { 0 }, in[FAKE_RANK] = { 0 };

        if (c->pool.mode == CUDNN_POOLING_MAX) {
            (void)look(c, &c->t[0], i, in);
            fake_set(&sum, in, fake_get(&sum, in) + fake_get(dy, i));
            continue;
        }
        do
            if (find_pixel(&c->pool, &sum, i, tap, in))
                fake_set(&sum, in, fake_get(&sum, in) + fake_get(dy, i) / area(&c->pool));
        while (fake_next(c->pool.axes, size, tap));
    } while (fake_next(dy->rank, dy->dim, i));
    memset(i, 0, sizeof i);
    do
        fake_set(&c->t[2], i, fake_get(&sum, i));
    while (fake_next(sum.rank, sum.dim, i));
    free(sum.at);
}

/* "outputDim = 1 + (inputDim + 2*padding - windowDim)/poolingStride" */
static bool pool_fits(const struct cudnnPoolingStruct *p, const fake_tensor *x,
                      const fake_tensor *y)
{
    if (x->rank != p->axes + 2 || y->rank != x->rank || x->dim[0] != y->dim[0] ||
        x->dim[1] != y->dim[1] || x->type != y->type)
        return false;
    for (int i = 0; i < p->axes; i++)
        if (y->dim[2 + i] != 1 + (x->dim[2 + i] + 2 * p->padding[i] - p->size[i]) / p->stride[i])
            return false;
    return true;
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t p,
                                  const void *alpha, cudnnTensorDescriptor_t x_type, const void *x,
                                  const void *beta, cudnnTensorDescriptor_t y_type, void *y)
{
    call it = { .forward = true, .pool = *p };

    if (!place(&it, 0, x_type, x) || !place(&it, 1, y_type, y) || !plain(alpha, beta))
        return wrong("a tensor that is not there, or factors");
    if (!pool_fits(p, &it.t[0], &it.t[1]))
        return wrong("shapes that do not fit");
    return enqueue(handle, run_pool_forward, &it);
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, cudnnPoolingDescriptor_t p,
                                   const void *alpha, cudnnTensorDescriptor_t y_type, const void *y,
                                   cudnnTensorDescriptor_t dy_type, const void *dy,
                                   cudnnTensorDescriptor_t x_type, const void *x, const void *beta,
                                   cudnnTensorDescriptor_t dx_type, void *dx)
{
    call it = { .forward = false, .pool = *p };

    if (!place(&it, 0, x_type, x) || !place(&it, 1, y_type, y) || !place(&it, 2, dx_type, dx) ||
        !place(&it, 3, dy_type, dy) || !plain(alpha, beta))
        return wrong("a tensor that is not there, or factors");
    if (!pool_fits(p, &it.t[0], &it.t[1]) || !fake_same_shape(&it.t[0], &it.t[2]) ||
        !fake_same_shape(&it.t[1], &it.t[3]))
        return wrong("shapes that do not fit");
    return enqueue(handle, run_pool_backward, &it);
}

/* ---- batch norm ------------------------------------------------------------------------------ */

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
        return wrong("not set");
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
        return wrong("shapes that do not fit");
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
        return wrong("shapes that do not fit");
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
    const call        *c    = context;
    const fake_tensor *x    = &c->t[0];
    const double       n    = count(x, &c->t[2]);
    fake_tensor        mean = sums_like(&c->t[2]), square = sums_like(&c->t[2]);
    int64_t            i[FAKE_RANK] = { 0 };

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
    const call        *c = context;
    const fake_tensor *x = &c->t[0], *dy = &c->t[1], *mean = &c->t[6], *inverse = &c->t[7];
    const double       n      = count(x, &c->t[3]);
    fake_tensor        dscale = sums_like(&c->t[3]), dshift = sums_like(&c->t[3]);
    int64_t            i[FAKE_RANK] = { 0 };

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
static bool has_space(call *c, cudnnBatchNormMode_t mode, void *workspace, size_t workspace_bytes,
                      void *reserve, size_t reserve_bytes)
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
    call it = { .forward = true, .epsilon = epsilon };

    (void)factor;
    if (z_type || z || activation || running_mean || running_variance || !plain(alpha, beta))
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "the norm alone is known here");
    if (!place(&it, 0, x_type, x) || !place(&it, 1, y_type, y) ||
        !place(&it, 2, channel_type, scale) || !place(&it, 3, channel_type, shift) ||
        !place(&it, 4, channel_type, mean) || !place(&it, 5, channel_type, inverse_deviation))
        return wrong("a tensor that is not there");
    if (!batch_fits(mode, ops, &it.t[0], &it.t[2]) || !fake_same_shape(&it.t[0], &it.t[1]))
        return wrong("shapes that do not fit");
    if (!has_space(&it, mode, workspace, workspace_bytes, reserve, reserve_bytes))
        return wrong("too small a workspace");
    return enqueue(handle, run_batch_forward, &it);
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
    call it = { .forward = false, .epsilon = epsilon };

    if (y_type || y || dz_type || dz || shift || activation || !plain(alpha_data, beta_data) ||
        !plain(alpha_param, beta_param))
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "the norm alone is known here");
    if (!place(&it, 0, x_type, x) || !place(&it, 1, dy_type, dy) || !place(&it, 2, dx_type, dx) ||
        !place(&it, 3, channel_type, scale) || !place(&it, 4, channel_type, dscale) ||
        !place(&it, 5, channel_type, dshift) || !place(&it, 6, channel_type, mean) ||
        !place(&it, 7, channel_type, inverse_deviation))
        return wrong("a tensor that is not there");
    if (!batch_fits(mode, ops, &it.t[0], &it.t[3]) || !fake_same_shape(&it.t[0], &it.t[1]) ||
        !fake_same_shape(&it.t[0], &it.t[2]))
        return wrong("shapes that do not fit");
    if (!has_space(&it, mode, workspace, workspace_bytes, reserve, reserve_bytes))
        return wrong("too small a workspace");
    return enqueue(handle, run_batch_backward, &it);
}
