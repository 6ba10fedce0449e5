/* One kernel of the GPU backend with its buffers, for tests. */
#include "gpu_case.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_loops.h"
#include "network/kernels.h"
#include "ranks/pulse.h"
#include "unit/check.h"
#include "verify/elements.h"

static cuda_device device;
lm_error           gpu_why;

_Atomic uint64_t pulse_count; /* the watchdog's, which is not here */
_Atomic int      pulse_now;
_Atomic uint32_t pulse_allowed_ms;

const cuda_device *gpu_open(lm_error *err)
{
    return cuda_device_open(0, 1, &device, err) ? NULL : &device;
}

void gpu_close(void)
{
    cuda_device_close(&device);
}

const cuda_device *gpu_device(void)
{
    return &device;
}

int gpu_teardown(void **state)
{
    (void)state;
    gpu_close();
    return 0;
}

/* all but collectives */
enum { N_CLASSES = LM_OP_ATTENTION + 1 };

static int verdicts[N_CLASSES][N_GPU_VERDICTS];

static gpu_verdict told = GPU_AGREES;

void gpu_not_here(lm_op op)
{
    verdicts[op][GPU_NOT_HERE]++;
}

void gpu_tell(gpu_verdict verdict)
{
    told = verdict;
}

int gpu_summarise(int failed_tests)
{
    int differ = 0;

    for (int op = 0; op < N_CLASSES; op++) {
        const int *v = verdicts[op];

        differ += v[GPU_DIFFERS];
        if (v[GPU_AGREES] + v[GPU_DIFFERS] + v[GPU_NOT_HERE])
            printf("class %s: %d agree, %d differ, %d not on this device\n",
                   kernel_op_name((lm_op)op), v[GPU_AGREES], v[GPU_DIFFERS], v[GPU_NOT_HERE]);
    }
    return failed_tests || differ;
}

static void check(lm_status status, const lm_error *err)
{
    if (status)
        fail_msg("%s", err->text);
}

static void check_cuda(cudaError_t status)
{
    if (status != cudaSuccess)
        fail_msg("%s", cudaGetErrorString(status));
}

void gpu_prepare(gpu_case *c, const settings *how, const lm_kernel *k, kernel_use use)
{
    const settings usual = { { 0 } };
    lm_error       err;

    *c = (gpu_case){ .device = &device };
    check(cuda_kernel_prepare(&device, how ? how : &usual, k, use, &c->kernel, &err), &err);
    for (size_t i = 0; i < c->kernel.base.n_slots; i++) {
        const slot *s = &c->kernel.base.slot[i];

        check(cuda_borrow(&device, s->bytes, &c->memory[i], &err), &err);
        check(cuda_fill(&device, &s->fill, 1000003 * i, c->memory[i], s->bytes, &err), &err);
    }
    check_cuda(cudaStreamSynchronize(device.stream));
}

void gpu_release(gpu_case *c)
{
    for (size_t i = 0; i < c->kernel.base.n_slots; i++)
        cuda_give_back(&device, c->memory[i]);
    verdicts[c->kernel.base.kernel.op][told]++;
    told = GPU_AGREES;
    cuda_kernel_release(&c->kernel);
}

size_t gpu_slot(const gpu_case *c, int argument)
{
    for (size_t i = 0; i < c->kernel.base.n_slots; i++)
        if (c->kernel.base.slot[i].argument == argument)
            return i;
    fail_msg("no slot for argument %d", argument);
    return 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static lm_dtype type_of(const gpu_case *c, size_t i)
{
    return fill_type(&c->kernel.base.slot[i].fill);
}

size_t gpu_elements(const gpu_case *c, size_t i)
{
    return c->kernel.base.slot[i].bytes / (size_t)lm_dtype_bytes(type_of(c, i));
}

double gpu_round(lm_dtype type, double value)
{
    char element[8];

    element_write(type, element, value);
    return element_read(type, element);
}

void gpu_put(const gpu_case *c, size_t i, const double *values)
{
    const lm_dtype type  = type_of(c, i);
    const size_t   bytes = c->kernel.base.slot[i].bytes, size = (size_t)lm_dtype_bytes(type);
    char          *host = malloc(bytes);

    assert_non_null(host);
    for (size_t j = 0; j < bytes / size; j++)
        element_write(type, host + j * size, values[j]);
    check_cuda(cudaMemcpy(c->memory[i], host, bytes, cudaMemcpyHostToDevice));
    check_cuda(cudaStreamSynchronize(NULL)); /* some of it may still be on its way */
    free(host);
}

double *gpu_get(const gpu_case *c, size_t i)
{
    const lm_dtype type  = type_of(c, i);
    const size_t   bytes = c->kernel.base.slot[i].bytes, size = (size_t)lm_dtype_bytes(type);
    char          *host   = malloc(bytes);
    double        *values = malloc(bytes / size * sizeof *values);

    assert_non_null(host);
    assert_non_null(values);
    check_cuda(cudaMemcpy(host, c->memory[i], bytes, cudaMemcpyDeviceToHost));
    for (size_t j = 0; j < bytes / size; j++)
        values[j] = element_read(type, host + j * size);
    free(host);
    return values;
}

uint8_t *gpu_bytes(const gpu_case *c, size_t i)
{
    const size_t bytes = c->kernel.base.slot[i].bytes;
    uint8_t     *host  = malloc(bytes);

    assert_non_null(host);
    check_cuda(cudaMemcpy(host, c->memory[i], bytes, cudaMemcpyDeviceToHost));
    return host;
}

void gpu_put_bytes(const gpu_case *c, size_t i, const uint8_t *bytes)
{
    check_cuda(
        cudaMemcpy(c->memory[i], bytes, c->kernel.base.slot[i].bytes, cudaMemcpyHostToDevice));
    check_cuda(cudaStreamSynchronize(NULL));
}

void gpu_run(const gpu_case *c)
{
    lm_error err;

    check(cuda_kernel_run(&c->kernel, c->device, c->memory, &err), &err);
    check_cuda(cudaStreamSynchronize(c->device->stream));
}
