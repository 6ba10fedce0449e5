/* One kernel of the GPU backend with its buffers, for tests. */
#include "gpu_case.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_loops.h"
#include "half.h"
#include "network/kernels.h"
#include "ranks/pulse.h"
#include "unit/check.h"

static cuda_device device;
lm_error           gpu_why;

_Atomic uint64_t pulse_count; /* the watchdog's, which is not here */
_Atomic int      pulse_now;

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
    const fill *f = &c->kernel.base.slot[i].fill;

    return f->kind == FILL_INDEX ? LM_I32 : f->type;
}

size_t gpu_elements(const gpu_case *c, size_t i)
{
    return c->kernel.base.slot[i].bytes / (size_t)lm_dtype_bytes(type_of(c, i));
}

static void write_element(lm_dtype type, char *at, double value)
{
    const float    f = (float)value;
    const uint16_t h = half_bits(value), b = bf16_bits(value);
    const int32_t  i = (int32_t)value;

    switch (type) {
    case LM_F32: memcpy(at, &f, sizeof f); break;
    case LM_F16: memcpy(at, &h, sizeof h); break;
    case LM_BF16: memcpy(at, &b, sizeof b); break;
    case LM_I32: memcpy(at, &i, sizeof i); break;
    default: *at = (char)i;
    }
}

static double read_element(lm_dtype type, const char *at)
{
    float    f;
    uint16_t b;
    int32_t  i;

    switch (type) {
    case LM_F32: memcpy(&f, at, sizeof f); return (double)f;
    case LM_F16: memcpy(&b, at, sizeof b); return half_value(b);
    case LM_BF16: memcpy(&b, at, sizeof b); return bf16_value(b);
    case LM_I32: memcpy(&i, at, sizeof i); return i;
    case LM_F8: return f8_value((uint8_t)*at, 3); /* of gradients e5m2: gpu_bytes() */
    default: return *at;
    }
}

double gpu_round(lm_dtype type, double value)
{
    char element[8];

    write_element(type, element, value);
    return read_element(type, element);
}

double gpu_epsilon(lm_dtype type)
{
    return type == LM_F32 ? (double)FLT_EPSILON : type == LM_F16 ? 0x1p-10 : 0x1p-7;
}

void gpu_put(const gpu_case *c, size_t i, const double *values)
{
    const lm_dtype type  = type_of(c, i);
    const size_t   bytes = c->kernel.base.slot[i].bytes, size = (size_t)lm_dtype_bytes(type);
    char          *host = malloc(bytes);

    assert_non_null(host);
    for (size_t j = 0; j < bytes / size; j++)
        write_element(type, host + j * size, values[j]);
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
        values[j] = read_element(type, host + j * size);
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
