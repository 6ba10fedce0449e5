/* NVIDIA GPUs: cuDNN, cuBLASLt and our own kernels. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <nvrtc.h>

#include "base/no_memory.h"
#include "cuda_case.h"
#include "cuda_device.h"
#include "cuda_loops.h"
#include "cuda_step.h"
#include "cuda_try.h"
#include "measure/backend.h"
#include "sample/gpu_nvml.h"

/*
 * Measured times: between two events on the device, around all kernels of a phase. Events resolve
 * half a microsecond. Waiting of the device for launches by the host is part of the time of a
 * network, as in a training step, except with "launch=graph". It is no part of the time of a single
 * kernel. There is no CPU time: the host spins while it waits, so it would equal the wall time.
 * plan.c decides where buffers lie and what a kernel reads. map_function.h has the function of an
 * element-wise kernel. PYTORCH.md lists differences from PyTorch.
 */
typedef struct cuda {
    backend     base; /* first */
    cuda_device device;
    nvml       *manager; /* NULL: there is none */
} cuda;

static cuda *cuda_of(backend *self)
{
    return (cuda *)(void *)self;
}

/* ---- open, close, describe ------------------------------------------------------------------- */

static void close_cuda(backend *self)
{
    if (!self)
        return;
    nvml_close(cuda_of(self)->manager);
    cuda_device_close(&cuda_of(self)->device);
    free(self);
}

static int ranks_on_host(const placement *where, int host)
{
    int n = 0;

    for (int i = 0; i < where->n_ranks; i++)
        n += where->host[i] == host;
    return n;
}

static lm_status open_cuda(const backend_config *config, backend **out, lm_error *err)
{
    const placement *where = world_placement(config->world);
    const int        rank  = world_rank(config->world);
    cuda            *self  = calloc(1, sizeof *self);
    lm_status        status;

    if (!self)
        return no_memory(err);
    self->base.type = &backend_cudnn;
    status          = cuda_device_open(where->seat[rank], ranks_on_host(where, where->host[rank]),
                                       &self->device, err);
    if (status) {
        free(self);
        return status;
    }
    self->manager = nvml_open(self->device.bus_id);
    *out          = &self->base;
    return LM_OK;
}

typedef struct putter {
    void (*put)(void *context, const char *key, const char *value);
    void *context;
} putter;

/* 13000 is 13.0 */
static void put_version(const putter *p, const char *key, int version)
{
    char text[32];

    snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    p->put(p->context, key, text);
}

static void put_libraries(const putter *p)
{
    const size_t dnn = cudnnGetVersion(), blas = cublasLtGetVersion();
    int          version = 0, minor = 0;
    char         text[48];

    if (cudaRuntimeGetVersion(&version) == cudaSuccess)
        put_version(p, "cuda_runtime", version);
    if (cudaDriverGetVersion(&version) == cudaSuccess)
        put_version(p, "cuda_driver", version);
    if (nvrtcVersion(&version, &minor) == NVRTC_SUCCESS) {
        snprintf(text, sizeof text, "%d.%d", version, minor);
        p->put(p->context, "nvrtc", text);
    }
    snprintf(text, sizeof text, "%zu.%zu.%zu", dnn / 10000, dnn % 10000 / 100, dnn % 100);
    p->put(p->context, "cudnn", text);
    snprintf(text, sizeof text, "%zu.%zu.%zu", blas / 10000, blas % 10000 / 100, blas % 100);
    p->put(p->context, "cublaslt", text);
}

/* Visible GPUs whose memory this GPU can read. */
static void put_peers(const putter *p, const cuda_device *d)
{
    int  n = 0, can = 0, peers = 0;
    char text[48];

    if (cudaGetDeviceCount(&n) != cudaSuccess || n < 2)
        return; /* there is no other GPU */
    for (int i = 0; i < n; i++)
        if (i != d->ordinal && cudaDeviceCanAccessPeer(&can, d->ordinal, i) == cudaSuccess)
            peers += can != 0;
    snprintf(text, sizeof text, "%d of %d other GPUs", peers, n - 1);
    p->put(p->context, "gpu_peer_access", text);
}

static void describe(const backend *self,
                     void (*put)(void *context, const char *key, const char *value), void *context)
{
    const cuda        *me = (const cuda *)(const void *)self;
    const cuda_device *d  = &me->device;
    const putter       p  = { put, context };
    char               text[160];

    put(context, "gpu", d->name);
    snprintf(text, sizeof text,
             "compute capability %d.%d, %d multiprocessors, %.0f MB memory, %.1f MB L2 cache",
             d->major, d->minor, d->multiprocessors, (double)d->memory_bytes / 1e6,
             (double)d->l2_bytes / 1e6);
    put(context, "gpu_kind", text);
    put(context, "gpu_bus_id", d->bus_id);
    put_peers(&p, d);
    if (me->manager)
        nvml_describe(me->manager, put, context);
    else
        put(context, "gpu_management", "no NVML: clocks, heat and power are not known");
    put_libraries(&p);
    snprintf(text, sizeof text, "%.0f MB", (double)d->workspace_limit / 1e6);
    put(context, "workspace_limit", text);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static lm_status follows(const backend *self, const settings *how, lm_error *err)
{
    uint8_t f8 = 0;

    if (setting_parse(SETTING_MIXED, "f8", &f8, err))
        return err->code;
    return how->value[SETTING_MIXED] == f8
               ? cuda_need_f8(&((const cuda *)(const void *)self)->device, err)
               : LM_OK;
}

static lm_status prepare(backend *self, const bench_case *what, void **out, lm_error *err)
{
    cuda_case      *c      = NULL;
    const lm_status status = cuda_case_new(&cuda_of(self)->device, what, &c, err);

    if (!status)
        *out = c;
    return status;
}

static void release(backend *self, void *work)
{
    (void)self;
    cuda_case_free(work);
}

static lm_status empty_cache(const cuda_case *c, lm_error *err)
{
    const cudaError_t cause =
        c->flush ? cudaMemsetAsync(c->flush, 0, c->flush_bytes, c->device->stream) : cudaSuccess;

    return cause == cudaSuccess ? LM_OK : cuda_failed(err, "emptying the cache", cause);
}

/* Excludes the launch from the time of a single kernel, with a warm and a cold cache. A launch
 * takes the host 3 to 10 us, so the host enqueues everything before the device reaches the first
 * event. A kernel may be up to six launches: plain attention on the way back. */
static lm_status hold_back(const cuda_case *c, phase part, lm_error *err)
{
    enum { FIRST = 90000, EACH = 12000, MOST = 2000000 };
    long long wanted = FIRST;

    for (size_t i = 0; i < c->plan.n[part] && wanted < MOST; i++)
        wanted += (long long)c->plan.launch[part][i].repeat * EACH;
    return cuda_delay(c->device, wanted < MOST ? wanted : MOST, err);
}

static lm_status run(backend *self, void *work, phase part, backend_time *out, lm_error *err)
{
    cuda_case *c = work;
    double     seconds;
    lm_status  status = empty_cache(c, err);

    (void)self;
    assert(part < N_PHASES && backend_cudnn.serves >> part & 1);
    if (!status && c->alone)
        status = hold_back(c, part, err);
    if (!status)
        status = cuda_case_mark(c, MARK_BEGIN, err);
    if (!status)
        status = cuda_case_play(c, part, 0, c->plan.n[part], err);
    if (!status)
        status = cuda_case_mark(c, MARK_END, err);
    if (!status)
        status = cuda_case_wait(c, MARK_END, err);
    if (!status)
        status = cuda_case_between(c, MARK_BEGIN, MARK_END, &seconds, err);
    if (status) {
        lm_error_prefix(err, "%s", phase_name(part));
        return status;
    }
    *out = (backend_time){ .wall = seconds, .cpu = (double)NAN };
    return LM_OK;
}

static lm_status gradients(backend *self, void *work, const gradient_bucket **out, size_t *n,
                           lm_error *err)
{
    const cuda_case *c = work;

    (void)self;
    (void)err;
    *out = c->gradient;
    *n   = c->plan.n_gradients;
    return LM_OK;
}

static lm_status run_step(backend *self, void *work, const step_sync *sync, step_time *out,
                          lm_error *err)
{
    (void)self;
    return cuda_step_run(work, sync, out, err);
}

static lm_status try_kernel(backend *self, verify_trial *t, lm_error *err)
{
    return cuda_try(&cuda_of(self)->device, t, err);
}

static const char *implementation(const backend *self, const void *work)
{
    const cuda_case *c = work;

    (void)self;
    return c->n_kernels ? c->kernel[0]->implementation : "";
}

static double on_tensor_cores(const backend *self, const void *work)
{
    (void)self;
    return cuda_case_on_tensor_cores(work);
}

/* Keeps the device busy during the query: between two repetitions it is idle, and an idle clock
 * differs. */
static void state(const backend *self, machine_state *out)
{
    enum { ASKED = 4000000 };
    const cuda  *me = (const cuda *)(const void *)self;
    lm_error     unused;
    nvml_reading now;

    *out = machine_state_unknown();
    if (!me->manager || cuda_delay(&me->device, ASKED, &unused))
        return;
    now = nvml_read(me->manager);
    cudaStreamSynchronize(me->device.stream);
    out->clock_mhz = now.clock_mhz;
    out->throttles = now.held_down_seconds; /* grows with each event */
    out->held_down = now.held_down;
}

static void power(const backend *self, double *joules, double *watts)
{
    const cuda *me = (const cuda *)(const void *)self;

    *joules = me->manager ? nvml_joules(me->manager) : (double)NAN;
    *watts  = me->manager ? nvml_watts(me->manager) : (double)NAN;
}

const backend_type backend_cudnn = {
    .name            = "cudnn",
    .doc             = "NVIDIA GPU: cuDNN, cuBLASLt and own kernels",
    .open            = open_cuda,
    .close           = close_cuda,
    .describe        = describe,
    .follows         = follows,
    .prepare         = prepare,
    .run             = run,
    .release         = release,
    .try_kernel      = try_kernel,
    .implementation  = implementation,
    .on_tensor_cores = on_tensor_cores,
    .state           = state,
    .power           = power,
    .gradients       = gradients,
    .run_step        = run_step,
    .on_gpu          = 1,
    .serves          = 1u << PHASE_FORWARD | 1u << PHASE_BACKWARD | 1u << PHASE_UPDATE,
    .settings        = 1u << SETTING_ALGORITHMS | 1u << SETTING_CACHE | 1u << SETTING_LAUNCH |
                1u << SETTING_LAYOUT | 1u << SETTING_MATH | 1u << SETTING_MIXED |
                1u << SETTING_UPDATE,
};
