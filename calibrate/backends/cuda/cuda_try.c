/* One kernel, once, on known contents. */
#include "cuda_try.h"

#include <stdlib.h>

#include "base/no_memory.h"
#include "cuda_kernels.h"
#include "cuda_loops.h"
#include "ranks/pulse.h"

static verify_tensor tensor_of(const cuda_kernel *k, int argument)
{
    static const verify_tensor names[] = {
        [CUDA_SRC]          = VERIFY_SRC,
        [CUDA_SRC_OTHER]    = VERIFY_OTHER,
        [CUDA_WEIGHTS]      = VERIFY_OTHER,
        [CUDA_BIAS]         = VERIFY_BIAS,
        [CUDA_DST]          = VERIFY_DST,
        [CUDA_DIFF_DST]     = VERIFY_DIFF_DST,
        [CUDA_DIFF_SRC]     = VERIFY_DIFF_SRC,
        [CUDA_DIFF_WEIGHTS] = VERIFY_DIFF_OTHER,
        [CUDA_DIFF_BIAS]    = VERIFY_DIFF_BIAS,
        [CUDA_SCALE]        = VERIFY_SCALE,
        [CUDA_SHIFT]        = VERIFY_SHIFT,
        [CUDA_DIFF_SCALE]   = VERIFY_DIFF_SCALE,
        [CUDA_DIFF_SHIFT]   = VERIFY_DIFF_SHIFT,
        [CUDA_MEAN]         = VERIFY_MEAN,
        [CUDA_VARIANCE]     = VERIFY_INVERSE,
        [CUDA_INDEX]        = VERIFY_INDEX,
    };
    const bool update = k->base.use == USE_UPDATE, product = k->base.kernel.op == LM_OP_GEMM;

    if (argument >= CUDA_OPERAND)
        return (verify_tensor)(VERIFY_OPERAND + argument - CUDA_OPERAND);
    if ((size_t)argument >= sizeof names / sizeof names[0])
        return VERIFY_NONE; /* scratch memory, and state of the library's own */
    if (update && argument == CUDA_WEIGHTS)
        return VERIFY_SRC;
    if (product && argument == CUDA_DIFF_DST) /* of any pass: factors and a result */
        return VERIFY_SRC;
    if (product && argument == CUDA_DIFF_WEIGHTS)
        return VERIFY_DST;
    if (argument == CUDA_VARIANCE && k->base.use == USE_EVALUATION)
        return VERIFY_VARIANCE;
    return names[argument];
}

typedef struct attempt {
    const cuda_device *device;
    cuda_kernel        kernel;
    void              *memory[MAX_SLOTS];
    void              *host; /* of the largest slot */
} attempt;

static size_t elements_of(const slot *s)
{
    const size_t each = (size_t)lm_dtype_bytes(fill_type(&s->fill));

    return each ? s->bytes / each : 0;
}

static lm_status give(attempt *a, size_t i, verify_trial *t, lm_error *err)
{
    const slot         *s      = &a->kernel.base.slot[i];
    const verify_tensor tensor = tensor_of(&a->kernel, s->argument);
    lm_status           status = cuda_borrow(a->device, s->bytes, &a->memory[i], err);
    cudaError_t         cause  = cudaSuccess;

    if (!status)
        status = cuda_fill(a->device, &s->fill, 1000003 * i, a->memory[i], s->bytes, err);
    if (status)
        return status;
    if (tensor == VERIFY_NONE ||
        !verify_give(t, tensor, fill_type(&s->fill), elements_of(s), a->host))
        return LM_OK;
    cause = cudaStreamSynchronize(a->device->stream); /* the fill would come after the copy */
    if (cause == cudaSuccess)
        cause = cudaMemcpy(a->memory[i], a->host, s->bytes, cudaMemcpyHostToDevice);
    if (cause == cudaSuccess)
        cause = cudaStreamSynchronize(NULL); /* some of it may still be on its way */
    return cause == cudaSuccess ? LM_OK : cuda_failed(err, "a kernel's contents", cause);
}

static lm_status take(const attempt *a, size_t i, verify_trial *t, lm_error *err)
{
    const slot         *s      = &a->kernel.base.slot[i];
    const verify_tensor tensor = tensor_of(&a->kernel, s->argument);
    cudaError_t         cause;

    if (tensor == VERIFY_NONE)
        return LM_OK;
    cause = cudaMemcpy(a->host, a->memory[i], s->bytes, cudaMemcpyDeviceToHost);
    if (cause != cudaSuccess)
        return cuda_failed(err, "a kernel's result", cause);
    verify_take(t, tensor, fill_type(&s->fill), elements_of(s), a->host);
    return LM_OK;
}

static lm_status run(attempt *a, verify_trial *t, lm_error *err)
{
    const size_t n      = a->kernel.base.n_slots;
    size_t       most   = 1;
    lm_status    status = LM_OK;
    cudaError_t  cause;

    for (size_t i = 0; i < n; i++)
        if (tensor_of(&a->kernel, a->kernel.base.slot[i].argument) != VERIFY_NONE &&
            a->kernel.base.slot[i].bytes > most)
            most = a->kernel.base.slot[i].bytes;
    a->host = malloc(most);
    if (!a->host)
        return no_memory(err);
    for (size_t i = 0; i < n && !status; i++)
        status = give(a, i, t, err);
    if (!status)
        status = cuda_kernel_run(&a->kernel, a->device, a->memory, err);
    if (!status && (cause = cudaStreamSynchronize(a->device->stream)) != cudaSuccess)
        status = cuda_failed(err, a->kernel.implementation, cause);
    for (size_t i = 0; i < n && !status; i++)
        status = take(a, i, t, err);
    return status;
}

lm_status cuda_try(const cuda_device *device, verify_trial *t, lm_error *err)
{
    attempt   a      = { .device = device };
    lm_status status = cuda_kernel_prepare(device, &t->how, &t->kernel, t->use, &a.kernel, err);

    if (status)
        return status;
    pulse_allow(0); /* it is prepared, and small */
    status = run(&a, t, err);
    for (size_t i = 0; i < a.kernel.base.n_slots; i++)
        cuda_give_back(device, a.memory[i]);
    free(a.host);
    cuda_kernel_release(&a.kernel);
    return status;
}
