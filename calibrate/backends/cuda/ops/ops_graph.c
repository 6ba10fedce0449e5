/* Kernels that are graphs: slots, rules, choice of an implementation, runs. */
#include "ops/ops_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "ranks/pulse.h"

enum { NO_SLOT = MAX_SLOTS };

typedef struct made {
    dnn_graph *graph;
    ops_after *after;
    size_t     scratch; /* the place of that slot; NO_SLOT: none */
} made;

bool ops_type(lm_dtype dtype, cudnnDataType_t *out)
{
    *out = dtype == LM_F16    ? CUDNN_DATA_HALF
           : dtype == LM_BF16 ? CUDNN_DATA_BFLOAT16
                              : CUDNN_DATA_FLOAT;
    return dtype == LM_F16 || dtype == LM_BF16 || dtype == LM_F32;
}

double ops_fan_in(int64_t n)
{
    return sqrt(2.0 / (double)n);
}

size_t ops_slot(cuda_kernel *k, cuda_argument argument, slot_role role, const graph_layout *layout,
                lm_dtype dtype, fill f)
{
    f.type = dtype;
    cuda_add_slot(k, argument, role, lm_mul(graph_elements(layout), lm_dtype_bytes(dtype)), f);
    return k->base.n_slots - 1;
}

dnn_graph *ops_graph_new(const cuda_device *device)
{
    return graph_new(device->cudnn, device->properties);
}

/*
 * PyTorch's rules (aten/src/ATen/native/cudnn/Conv_v8.cpp, filterEngineConfigs). f32: never with
 * inputs in a shorter type, on tensor cores only if tf32 is allowed. Shorter types: any
 * implementation. Its benchmark mode tries ten implementations
 * (torch.backends.cudnn.benchmark_limit) and keeps the fastest. As there by default,
 * implementations are allowed whose sums vary from run to run; they are recorded.
 */
graph_rules ops_rules(const cuda_device *device, const settings *how, lm_dtype dtype,
                      cudnnBackendHeurMode_t mode)
{
    const bool tf32 = settings_tf32(how, LM_OP_CONV), tuned = how->value[SETTING_ALGORITHMS] != 0;

    return (graph_rules){
        .mode            = mode,
        .tensor_cores    = dtype != LM_F32 || tf32,
        .lower_precision = dtype != LM_F32,
        .workspace_limit = device->workspace_limit,
        .wanted          = tuned ? GRAPH_MAX_CANDIDATES : 1,
    };
}

/* ---- runs ------------------------------------------------------------------------------------ */

static lm_status run(const cuda_kernel *k, const cuda_device *device, void *const *at,
                     lm_error *err)
{
    const made         *m       = k->made;
    void               *scratch = m->scratch == NO_SLOT ? NULL : at[m->scratch];
    const cudnnStatus_t cause   = graph_run(m->graph, at, k->base.n_slots, scratch);

    if (cause != CUDNN_STATUS_SUCCESS)
        return cudnn_failed(err, k->implementation, cause);
    return m->after ? m->after->run(m->after, device, at, err) : LM_OK;
}

static void free_made(made *m)
{
    if (!m)
        return;
    graph_free(m->graph);
    if (m->after)
        m->after->release(m->after);
    free(m);
}

static void release(cuda_kernel *k)
{
    free_made(k->made);
    k->made = NULL;
}

static void forget(cuda_kernel *k)
{
    const made *m = k->made;

    graph_forget(m->graph);
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Borrows zeroed memory of the kernel's sizes: times of most kernels do not depend on the
 * contents. */
static lm_status borrow_all(const cuda_device *device, const cuda_kernel *k, void **at,
                            lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < k->base.n_slots && !status; i++) {
        status = cuda_borrow(device, k->base.slot[i].bytes, &at[i], err);
        if (!status) {
            const cudaError_t cause =
                cudaMemsetAsync(at[i], 0, k->base.slot[i].bytes, device->stream);

            if (cause != cudaSuccess)
                status = cuda_failed(err, "cudaMemsetAsync", cause);
        }
    }
    return status;
}

lm_status ops_tune(const cuda_device *device, cuda_kernel *k, size_t n,
                   void (*choose)(cuda_kernel *k, size_t i), bool *tuned, lm_error *err)
{
    void     *at[MAX_SLOTS] = { NULL };
    size_t    best          = 0;
    double    least         = INFINITY;
    lm_error  why           = { 0 };
    lm_status status        = borrow_all(device, k, at, &why);

    *tuned = false;
    for (size_t i = 0; i < n && !status; i++) {
        double          seconds = INFINITY;
        const lm_status here    = (choose(k, i), cuda_kernel_time(k, device, at, &seconds, &why));

        pulse_tick();
        if (here == LM_E_IO)
            status = here;
        if (!here && seconds < least) {
            least  = seconds;
            best   = i;
            *tuned = true;
        }
    }
    choose(k, best);
    for (size_t i = 0; i < MAX_SLOTS; i++)
        cuda_give_back(device, at[i]);
    if (status != LM_E_IO)
        return LM_OK;
    *err = why;
    return status;
}

static void choose(cuda_kernel *k, size_t i)
{
    const made *m = k->made;

    graph_choose(m->graph, i);
}

static void add_scratch(cuda_kernel *k, made *m, size_t bytes)
{
    m->scratch = bytes ? k->base.n_slots : NO_SLOT;
    cuda_add_slot(k, CUDA_SCRATCH, ROLE_SCRATCH, bytes, (fill){ .kind = FILL_NONE });
}

/* Runs all candidates on as much scratch memory as the largest one needs. */
static lm_status tune(const cuda_device *device, cuda_kernel *k, made *m, bool *tuned,
                      lm_error *err)
{
    const size_t      n      = graph_candidates(m->graph);
    const plan_kernel before = k->base;
    size_t            most   = 0;
    lm_status         status;

    *tuned = false;
    if (n < 2)
        return LM_OK;
    for (size_t i = 0; i < n; i++) {
        graph_choose(m->graph, i);
        if (most < graph_scratch_bytes(m->graph))
            most = graph_scratch_bytes(m->graph);
    }
    add_scratch(k, m, most);
    status  = ops_tune(device, k, n, choose, tuned, err);
    k->base = before;
    return status;
}

static void describe(cuda_kernel *k, const made *m, bool tuned)
{
    char engine[28];

    graph_describe(m->graph, engine, sizeof engine);
    k->tensor_cores = graph_on_tensor_cores(m->graph);
    snprintf(k->implementation, sizeof k->implementation, "cudnn %s %.7g B %s", engine,
             (double)graph_scratch_bytes(m->graph), tuned ? "autotuned" : "heuristic");
}

lm_status ops_graph_finish(const cuda_device *device, cuda_kernel *k, dnn_graph *g,
                           ops_after *after, const graph_rules *rules, lm_error *err)
{
    made     *m      = malloc(sizeof *m);
    lm_error  why    = { 0 };
    lm_status status = LM_OK;
    bool      tuned;

    if (!m || !g) {
        graph_free(g);
        if (after)
            after->release(after);
        free(m);
        return no_memory(err);
    }
    *m     = (made){ g, after, NO_SLOT };
    status = graph_plan(g, rules, &why);
    if (status) {
        free_made(m);
        return status == LM_E_UNSUPPORTED ? cuda_unsupported(k, "cuDNN", why.text, err)
                                          : lm_error_set(err, status, "%s", why.text);
    }
    k->made = m;
    k->run  = run;
    status  = tune(device, k, m, &tuned, err);
    if (status) {
        release(k);
        return status;
    }
    k->release = release;
    k->forget  = forget;
    add_scratch(k, m, graph_scratch_bytes(g));
    describe(k, m, tuned);
    return LM_OK;
}
