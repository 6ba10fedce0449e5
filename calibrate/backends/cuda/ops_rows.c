/* Softmax and sums: cuDNN's classic calls. */
#include "ops.h"

#include <stdio.h>
#include <stdlib.h>

#include "ops_classic.h"
#include "ops_graph.h"

#include "base/no_memory.h"

/* PyTorch runs kernels of its own for both. */

typedef struct rows {
    cudnnTensorDescriptor_t       in, out;
    cudnnReduceTensorDescriptor_t reduce; /* NULL: a softmax */
    size_t                        scratch_bytes;
    size_t                        x, y, dy, scratch; /* places in `at` */
} rows;

static void free_rows(rows *r)
{
    if (r->reduce)
        (void)cudnnDestroyReduceTensorDescriptor(r->reduce);
    ops_tensor_free(r->in);
    ops_tensor_free(r->out);
    free(r);
}

static void release(cuda_kernel *k)
{
    free_rows(k->made);
    k->made = NULL;
}

/* ---- softmax --------------------------------------------------------------------------------- */

static lm_status run_softmax(const cuda_kernel *k, const cuda_device *device, void *const *at,
                             lm_error *err)
{
    const rows   *r   = k->made;
    const float   one = 1.0f, zero = 0.0f;
    cudnnStatus_t cause;

    if (k->base.kernel.pass == LM_FORWARD)
        cause =
            cudnnSoftmaxForward(device->cudnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE,
                                &one, r->in, at[r->x], &zero, r->in, at[r->y]);
    else
        cause =
            cudnnSoftmaxBackward(device->cudnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE,
                                 &one, r->in, at[r->y], r->in, at[r->dy], &zero, r->in, at[r->x]);
    return cause == CUDNN_STATUS_SUCCESS ? LM_OK : cudnn_failed(err, k->implementation, cause);
}

lm_status ops_softmax(const cuda_device *device, const settings *how, cuda_kernel *k, lm_error *err)
{
    const lm_kernel   *s = &k->base.kernel;
    const lm_dtype     t = s->dtype;
    const graph_layout all =
        graph_packed(4, (const int64_t[]){ s->u.softmax.rows, s->u.softmax.group, 1, 1 });
    const fill      normal = cuda_normal(t, 1.0);
    cudnnDataType_t type;
    rows           *r;
    lm_status       status;

    (void)device;
    (void)how;
    if (!ops_type(t, &type))
        return cuda_unsupported(k, "cuDNN", "no such element type", err);
    r = calloc(1, sizeof *r);
    if (!r)
        return no_memory(err);
    status = ops_tensor_make(&all, type, &r->in, err);
    if (status) {
        free_rows(r);
        return status;
    }
    if (s->pass == LM_FORWARD) {
        r->x = ops_slot(k, CUDA_SRC, ROLE_IN, &all, t, normal);
        r->y = ops_slot(k, CUDA_DST, ROLE_OUT, &all, t, normal);
    } else {
        r->dy = ops_slot(k, CUDA_DIFF_DST, ROLE_IN, &all, t, normal);
        r->y  = ops_slot(k, CUDA_DST, ROLE_SAVED_OUT, &all, t, normal);
        r->x  = ops_slot(k, CUDA_DIFF_SRC, ROLE_OUT, &all, t, normal);
    }
    k->made    = r;
    k->run     = run_softmax;
    k->release = release;
    snprintf(k->implementation, sizeof k->implementation, "cudnn softmax accurate");
    return LM_OK;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static lm_status run_reduce(const cuda_kernel *k, const cuda_device *device, void *const *at,
                            lm_error *err)
{
    const rows         *r   = k->made;
    const float         one = 1.0f, zero = 0.0f;
    void               *space = r->scratch_bytes ? at[r->scratch] : NULL;
    const cudnnStatus_t cause =
        cudnnReduceTensor(device->cudnn, r->reduce, NULL, 0, space, r->scratch_bytes, &one, r->in,
                          at[r->x], &zero, r->out, at[r->y]);

    return cause == CUDNN_STATUS_SUCCESS ? LM_OK : cudnn_failed(err, k->implementation, cause);
}

static lm_status make_reduce(const cuda_device *device, const graph_layout *in,
                             const graph_layout *out, cudnnDataType_t type, rows *r, lm_error *err)
{
    cudnnStatus_t cause  = cudnnCreateReduceTensorDescriptor(&r->reduce);
    lm_status     status = LM_OK;

    if (cause == CUDNN_STATUS_SUCCESS)
        cause = cudnnSetReduceTensorDescriptor(r->reduce, CUDNN_REDUCE_TENSOR_ADD, CUDNN_DATA_FLOAT,
                                               CUDNN_NOT_PROPAGATE_NAN,
                                               CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES);
    if (cause != CUDNN_STATUS_SUCCESS)
        return cudnn_failed(err, "cuDNN's reduction", cause);
    status = ops_tensor_make(in, type, &r->in, err);
    if (!status)
        status = ops_tensor_make(out, type, &r->out, err);
    if (status)
        return status;
    cause =
        cudnnGetReductionWorkspaceSize(device->cudnn, r->reduce, r->in, r->out, &r->scratch_bytes);
    if (cause != CUDNN_STATUS_SUCCESS)
        return cudnn_failed(err, "cuDNN's reduction", cause);
    if (r->scratch_bytes > device->workspace_limit)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "cuDNN's reduction: within the workspace limit there is none");
    return LM_OK;
}

lm_status ops_reduce(const cuda_device *device, const settings *how, cuda_kernel *k, lm_error *err)
{
    const lm_kernel *s     = &k->base.kernel;
    const lm_dtype   t     = s->dtype;
    const int64_t    inner = s->u.reduce.inner, group = s->u.reduce.group;
    const int64_t    outer  = inner > 0 ? s->u.reduce.rows / inner : 0;
    const slot_role  role   = s->pass == LM_GRAD_WEIGHT ? ROLE_GRADIENT : ROLE_OUT;
    const fill       normal = cuda_normal(t, 1.0);
    graph_layout     in, out;
    cudnnDataType_t  type;
    rows            *r;
    lm_status        status;

    (void)how;
    if (!ops_type(t, &type) || inner < 1 || s->u.reduce.rows % inner)
        return cuda_unsupported(k, "cuDNN", "no such element type, or rows that do not divide",
                                err);
    in  = graph_packed(4, (const int64_t[]){ outer, group, inner, 1 });
    out = graph_packed(4, (const int64_t[]){ outer, 1, inner, 1 });
    r   = calloc(1, sizeof *r);
    if (!r)
        return no_memory(err);
    status = make_reduce(device, &in, &out, type, r, err);
    if (status) {
        free_rows(r);
        return status;
    }
    r->x       = ops_slot(k, CUDA_SRC, ROLE_IN, &in, t, normal);
    r->y       = ops_slot(k, CUDA_DST, role, &out, t, normal);
    r->scratch = k->base.n_slots;
    cuda_add_slot(k, CUDA_SCRATCH, ROLE_SCRATCH, r->scratch_bytes, (fill){ .kind = FILL_NONE });
    k->made    = r;
    k->run     = run_reduce;
    k->release = release;
    snprintf(k->implementation, sizeof k->implementation, "cudnn reduction %.7g B",
             (double)r->scratch_bytes);
    return LM_OK;
}
