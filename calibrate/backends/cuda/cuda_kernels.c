/* Kernels on a GPU: their makers, and runs of a single kernel. */
#include "cuda_kernels.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "network/kernels.h"
#include "ops/ops.h"

void cuda_add_slot(cuda_kernel *k, cuda_argument argument, slot_role role, uint64_t bytes, fill f)
{
    if (bytes)
        k->base.slot[k->base.n_slots++] = (slot){ (int)argument, role, (size_t)bytes, f };
}

lm_status cuda_unsupported(const cuda_kernel *k, const char *library, const char *cause,
                           lm_error *err)
{
    const lm_kernel *what = &k->base.kernel;
    char             geometry[320];

    return lm_error_set(err, LM_E_UNSUPPORTED, "%s has no %s%s %s %s: %s: %s", library,
                        k->base.use == USE_UPDATE ? "update " : "", text_dtype_name(what->dtype),
                        kernel_op_name(what->op), kernel_pass_name(what->pass), cause,
                        kernel_print_geometry(what, geometry, sizeof geometry));
}

lm_status cuda_need_f8(const cuda_device *device, lm_error *err)
{
    if (10 * device->major + device->minor >= 89)
        return LM_OK;
    return lm_error_set(
        err, LM_E_UNSUPPORTED,
        "%.80s has no FP8: its compute capability is %d.%d, and 8.9 and later have it",
        device->name, device->major, device->minor);
}

lm_status cuda_kernel_prepare(const cuda_device *device, const settings *how, const lm_kernel *k,
                              kernel_use use, cuda_kernel *out, lm_error *err)
{
    cuda_kernel new      = { .base = { .kernel = *k, .use = use } };
    ops_prepare *prepare = ops_find(k->op, use == USE_UPDATE);
    lm_status    status;

    if (!prepare)
        return cuda_unsupported(&new, "the backend cudnn", "not known", err);
    status = prepare(device, how, &new, err);
    if (!status)
        *out = new;
    return status;
}

void cuda_kernel_release(cuda_kernel *k)
{
    if (k->release)
        k->release(k);
    k->release = NULL;
}

lm_status cuda_kernel_run(const cuda_kernel *k, const cuda_device *device, void *const *at,
                          lm_error *err)
{
    const lm_status status = k->run(k, device, at, err);

    if (status)
        lm_error_prefix(err, "%s %s %s", text_dtype_name(k->base.kernel.dtype),
                        kernel_op_name(k->base.kernel.op), kernel_pass_name(k->base.kernel.pass));
    return status;
}

enum { REPEATS = 3 };

static lm_status time_between(const cuda_kernel *k, const cuda_device *device, void *const *at,
                              cudaEvent_t begin, cudaEvent_t end, double *seconds, lm_error *err)
{
    double best = INFINITY;

    for (int i = -1; i < REPEATS; i++) {
        float       ms     = 0;
        cudaError_t cause  = cudaEventRecord(begin, device->stream);
        lm_status   status = LM_OK;

        if (cause == cudaSuccess)
            status = cuda_kernel_run(k, device, at, err);
        if (status)
            return status;
        if (cause != cudaSuccess || (cause = cudaEventRecord(end, device->stream)) != cudaSuccess ||
            (cause = cudaEventSynchronize(end)) != cudaSuccess ||
            (cause = cudaEventElapsedTime(&ms, begin, end)) != cudaSuccess)
            return cuda_failed(err, k->implementation, cause);
        if (i >= 0)
            best = fmin(best, 1e-3 * (double)ms);
    }
    *seconds = best;
    return LM_OK;
}

lm_status cuda_kernel_time(const cuda_kernel *k, const cuda_device *device, void *const *at,
                           double *seconds, lm_error *err)
{
    cudaEvent_t begin = NULL, end = NULL;
    cudaError_t cause  = cudaEventCreate(&begin);
    lm_status   status = LM_OK;

    if (cause == cudaSuccess)
        cause = cudaEventCreate(&end);
    if (cause != cudaSuccess)
        status = cuda_failed(err, "CUDA event", cause);
    else
        status = time_between(k, device, at, begin, end, seconds, err);
    if (begin)
        cudaEventDestroy(begin);
    if (end)
        cudaEventDestroy(end);
    return status;
}
