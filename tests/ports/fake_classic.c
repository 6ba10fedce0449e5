/* cuDNN's classic calls on a device that is not there: bias, pooling, softmax. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake_classic.h"

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

/* ---- calls ----------------------------------------------------------------------------------- */

bool classic_place(classic_call *c, int i, cudnnTensorDescriptor_t type, const void *at)
{
    if (!type || !type->set)
        return false;
    c->t[i] = type->shape;
    memcpy(&c->t[i].at, &at, sizeof at);
    return fake_is_device_memory(at, fake_tensor_bytes(&c->t[i]));
}

bool classic_plain(const void *alpha, const void *beta)
{
    const double a = fake_factor(alpha), b = fake_factor(beta);

    return !(a < 1) && !(a > 1) && !(b < 0) && !(b > 0);
}

cudnnStatus_t classic_wrong(const char *reason)
{
    return fake_refuse(CUDNN_STATUS_BAD_PARAM, reason);
}

cudnnStatus_t classic_enqueue(cudnnHandle_t handle, fake_call *run, const classic_call *c)
{
    return fake_library_enqueue(fake_stream(handle), run, c, sizeof *c) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
}

static void run_add(void *context)
{
    const classic_call *c            = context;
    int64_t             i[FAKE_RANK] = { 0 };

    do
        fake_set(&c->t[1], i, fake_get(&c->t[1], i) + fake_get(&c->t[0], i));
    while (fake_next(c->t[1].rank, c->t[1].dim, i));
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void *alpha,
                             cudnnTensorDescriptor_t a_type, const void *a, const void *beta,
                             cudnnTensorDescriptor_t c_type, void *c)
{
    const double f = fake_factor(alpha), g = fake_factor(beta);
    classic_call it = { .forward = true };

    if (f < 1 || f > 1 || g < 1 || g > 1)
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "sums without factors are known here");
    if (!classic_place(&it, 0, a_type, a) || !classic_place(&it, 1, c_type, c))
        return classic_wrong("a tensor that is not there");
    if (!fake_stretches(&it.t[0], &it.t[1]) || it.t[1].rank > 5 || it.t[0].type != it.t[1].type)
        return classic_wrong("shapes that do not fit");
    return classic_enqueue(handle, run_add, &it);
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
    const classic_call *c = context;
    const fake_tensor  *x = &c->t[0], *y = &c->t[1], *dy = &c->t[2];
    int64_t             i[FAKE_RANK] = { 0 };

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
    classic_call it = { .forward = true };

    if (!known(algorithm, mode))
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "accurate, by instance");
    if (!classic_place(&it, 0, x_type, x) || !classic_place(&it, 1, y_type, y) ||
        !classic_plain(alpha, beta))
        return classic_wrong("a tensor that is not there, or factors");
    if (!fake_same_shape(&it.t[0], &it.t[1]))
        return classic_wrong("shapes that do not fit");
    return classic_enqueue(handle, run_softmax, &it);
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                   cudnnSoftmaxMode_t mode, const void *alpha,
                                   cudnnTensorDescriptor_t y_type, const void *y,
                                   cudnnTensorDescriptor_t dy_type, const void *dy,
                                   const void *beta, cudnnTensorDescriptor_t dx_type, void *dx)
{
    classic_call it = { .forward = false };

    if (!known(algorithm, mode))
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "accurate, by instance");
    if (!classic_place(&it, 0, dx_type, dx) || !classic_place(&it, 1, y_type, y) ||
        !classic_place(&it, 2, dy_type, dy) || !classic_plain(alpha, beta))
        return classic_wrong("a tensor that is not there, or factors");
    if (!fake_same_shape(&it.t[0], &it.t[1]) || !fake_same_shape(&it.t[0], &it.t[2]))
        return classic_wrong("shapes that do not fit");
    return classic_enqueue(handle, run_softmax, &it);
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
static double look(const classic_call *c, const fake_tensor *x, const int64_t *out, int64_t *best)
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
    const classic_call *c            = context;
    int64_t             i[FAKE_RANK] = { 0 }, best[FAKE_RANK];

    do
        fake_set(&c->t[1], i,
                 look(c, &c->t[0], i, best) /
                     (c->pool.mode == CUDNN_POOLING_MAX ? 1 : area(&c->pool)));
    while (fake_next(c->t[1].rank, c->t[1].dim, i));
}

/* t: x, y, dx, dy. */
static void run_pool_backward(void *context)
{
    const classic_call *c            = context;
    const fake_tensor  *dy           = &c->t[3];
    fake_tensor         sum          = c->t[2];
    int64_t             i[FAKE_RANK] = { 0 }, size[3] = { 0 };

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
    classic_call it = { .forward = true, .pool = *p };

    if (!classic_place(&it, 0, x_type, x) || !classic_place(&it, 1, y_type, y) ||
        !classic_plain(alpha, beta))
        return classic_wrong("a tensor that is not there, or factors");
    if (!pool_fits(p, &it.t[0], &it.t[1]))
        return classic_wrong("shapes that do not fit");
    return classic_enqueue(handle, run_pool_forward, &it);
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, cudnnPoolingDescriptor_t p,
                                   const void *alpha, cudnnTensorDescriptor_t y_type, const void *y,
                                   cudnnTensorDescriptor_t dy_type, const void *dy,
                                   cudnnTensorDescriptor_t x_type, const void *x, const void *beta,
                                   cudnnTensorDescriptor_t dx_type, void *dx)
{
    classic_call it = { .forward = false, .pool = *p };

    if (!classic_place(&it, 0, x_type, x) || !classic_place(&it, 1, y_type, y) ||
        !classic_place(&it, 2, dx_type, dx) || !classic_place(&it, 3, dy_type, dy) ||
        !classic_plain(alpha, beta))
        return classic_wrong("a tensor that is not there, or factors");
    if (!pool_fits(p, &it.t[0], &it.t[1]) || !fake_same_shape(&it.t[0], &it.t[2]) ||
        !fake_same_shape(&it.t[1], &it.t[3]))
        return classic_wrong("shapes that do not fit");
    return classic_enqueue(handle, run_pool_backward, &it);
}
