/* Softmax by cuDNN's classic calls, sums by our own kernels. */
#include "ops/ops.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda_loops.h"
#include "ops/ops_classic.h"
#include "ops/ops_graph.h"

#include "base/no_memory.h"

/* PyTorch has its own kernels for both. */

typedef struct rows {
    cudnnTensorDescriptor_t in;
    size_t                  x, y, dy; /* places in `at` */
} rows;

static void free_rows(rows *r)
{
    ops_tensor_free(r->in);
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

static cuda_sum sum_of(const cuda_kernel *k)
{
    const int64_t inner = k->base.kernel.u.reduce.inner;

    return (cuda_sum){ 1, inner > 0 ? k->base.kernel.u.reduce.rows / inner : 0,
                       k->base.kernel.u.reduce.group, inner };
}

static lm_status run_reduce(const cuda_kernel *k, const cuda_device *device, void *const *at,
                            lm_error *err)
{
    const cuda_sum s = sum_of(k);

    return cuda_sum_run(device, k->base.kernel.dtype, &s, at[0], at[1],
                        k->base.n_slots > 2 ? at[2] : NULL, err);
}

lm_status ops_reduce(const cuda_device *device, const settings *how, cuda_kernel *k, lm_error *err)
{
    const lm_kernel *s      = &k->base.kernel;
    const lm_dtype   t      = s->dtype;
    const slot_role  role   = s->pass == LM_GRAD_WEIGHT ? ROLE_GRADIENT : ROLE_OUT;
    const fill       normal = cuda_normal(t, 1.0);
    const cuda_sum   sum    = sum_of(k);
    const uint64_t   out    = lm_mul((uint64_t)s->u.reduce.rows, lm_dtype_bytes(t));
    uint64_t         scratch;

    (void)how;
    if (!cuda_loops_know(t) || sum.inner < 1 || sum.group < 1 || s->u.reduce.rows % sum.inner)
        return cuda_unsupported(k, "the backend cudnn",
                                "no such element type, or rows that do not divide", err);
    scratch = cuda_sum_scratch(device, t, &sum);
    cuda_add_slot(k, CUDA_SRC, ROLE_IN, lm_mul(out, (uint64_t)sum.group), normal);
    cuda_add_slot(k, CUDA_DST, role, out, normal);
    cuda_add_slot(k, CUDA_SCRATCH, ROLE_SCRATCH, scratch, (fill){ .kind = FILL_NONE });
    k->run = run_reduce;
    snprintf(k->implementation, sizeof k->implementation, "own sum %.7g B", (double)scratch);
    return LM_OK;
}
