/* A case on a GPU: its kernels, one block of memory, and its launches. */
#include "cuda_case.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "cuda_loops.h"
#include "cuda_shelf.h"
#include "measure/clock.h"
#include "ranks/pulse.h"

const phase cuda_phases[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE };

/* ---- kernels --------------------------------------------------------------------------------- */

/* Finds or prepares a kernel. A case has each different kernel once. */
static lm_status get_kernel(cuda_case *c, const settings *how, const lm_kernel *k, kernel_use use,
                            const plan_kernel **out, lm_error *err)
{
    cuda_kernel *made;
    lm_status    status;

    for (size_t i = 0; i < c->n_kernels; i++)
        if (c->kernel[i]->base.use == use && kernels_equal(&c->kernel[i]->base.kernel, k)) {
            *out = &c->kernel[i]->base;
            return LM_OK;
        }
    pulse_tick();
    status = cuda_shelf_take(c->device, how, k, use, &made, err);
    if (status)
        return status;
    c->kernel[c->n_kernels++] = made;
    *out                      = &made->base;
    return LM_OK;
}

static lm_status get_kernels(cuda_case *c, const bench_case *what, lm_error *err)
{
    size_t total = 0;

    for (size_t i = 0; i < N_CUDA_PHASES; i++)
        total += what->n_kernels[cuda_phases[i]];
    c->kernel = calloc(total + 1, sizeof *c->kernel);
    if (!c->kernel)
        return no_memory(err);
    for (size_t i = 0; i < N_CUDA_PHASES; i++) {
        const phase  part = cuda_phases[i];
        const size_t n    = what->n_kernels[part];
        launch      *list = calloc(n + 1, sizeof *list);

        if (!list)
            return no_memory(err);
        c->plan.launch[part] = list;
        c->plan.n[part]      = n;
        for (size_t j = 0; j < n; j++) {
            const lm_kernel *k   = &what->kernels[part][j];
            const kernel_use use = kernel_use_in(part, c->plan.evaluation);
            lm_status        status;

            list[j].repeat = k->repeat;
            status         = get_kernel(c, &what->how, k, use, &list[j].kernel, err);
            if (status)
                return status;
        }
    }
    return LM_OK;
}

/* The kernel of a launch; each of this backend's begins with the plan's part. */
static const cuda_kernel *kernel_of(const launch *l)
{
    return (const cuda_kernel *)(const void *)l->kernel;
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct filling {
    const cuda_case *c;
    lm_status        status;
    lm_error        *err;
} filling;

static void fill_one(void *context, const fill *f, uint64_t offset, uint64_t bytes)
{
    filling *all = context;

    if (!all->status)
        all->status =
            cuda_fill(all->c->device, f, offset, all->c->memory + offset, (size_t)bytes, all->err);
}

static lm_status allocate(cuda_case *c, lm_error *err)
{
    const uint64_t total  = plan_bytes(&c->plan);
    filling        all    = { c, LM_OK, err };
    void          *memory = NULL;
    lm_status      status;

    if (total > SIZE_MAX / 2)
        return lm_error_set(err, LM_E_NOMEM, "needs more memory than there are addresses");
    status = cuda_borrow(c->device, (size_t)total, &memory, err);
    if (status)
        return status;
    c->memory = memory;
    plan_place(&c->plan, c->memory);
    c->gradient = calloc(c->plan.n_gradients + 1, sizeof *c->gradient);
    if (!c->gradient)
        return no_memory(err);
    plan_gradients(&c->plan, c->memory, c->gradient);
    plan_fill(&c->plan, fill_one, &all);
    return all.status;
}

/* Allocates twice the size of the last-level cache: writing it empties the cache. */
static lm_status allocate_flush(cuda_case *c, lm_error *err)
{
    c->flush_bytes = 2 * c->device->l2_bytes;
    return cuda_borrow(c->device, c->flush_bytes, &c->flush, err);
}

/* ---- play ------------------------------------------------------------------------------------ */

static lm_status play_plain(const cuda_case *c, phase part, size_t begin, size_t end, lm_error *err)
{
    for (size_t i = begin; i < end; i++) {
        const launch *l = &c->plan.launch[part][i];

        pulse_tick();
        for (uint32_t j = 0; j < l->repeat; j++) {
            const lm_status status = cuda_kernel_run(kernel_of(l), c->device, l->at, err);

            if (status)
                return status;
        }
    }
    return LM_OK;
}

/* Records launches into a graph. Always ends the capture, because the stream is unusable during
 * it. */
static lm_status record(const cuda_case *c, phase part, size_t begin, size_t end, cudaGraph_t *out,
                        lm_error *err)
{
    cudaStream_t stream = c->device->stream;
    cudaError_t  cause  = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    lm_status    status;

    if (cause != cudaSuccess)
        return cuda_failed(err, "CUDA graph", cause);
    status = play_plain(c, part, begin, end, err);
    cause  = cudaStreamEndCapture(stream, out);
    if (!status && cause != cudaSuccess)
        status = cuda_failed(err, "CUDA graph", cause);
    return status;
}

static lm_status add_piece(cuda_case *c, phase part, size_t begin, size_t end, lm_error *err)
{
    cuda_piece  piece = { part, begin, end, NULL };
    cudaGraph_t graph = NULL;
    cudaError_t cause;
    lm_status   status;

    if (c->n_pieces == c->room) {
        const size_t room = c->room ? 2 * c->room : 8;
        cuda_piece  *more = realloc(c->piece, room * sizeof *more);

        if (!more)
            return no_memory(err);
        c->piece = more;
        c->room  = room;
    }
    status = record(c, part, begin, end, &graph, err);
    if (!status) {
        cause = cudaGraphInstantiate(&piece.graph, graph, 0);
        if (cause != cudaSuccess)
            status = cuda_failed(err, "CUDA graph", cause);
    }
    if (graph)
        cudaGraphDestroy(graph);
    if (!status)
        c->piece[c->n_pieces++] = piece;
    return status;
}

static const cuda_piece *find_piece(const cuda_case *c, phase part, size_t begin, size_t end)
{
    for (size_t i = 0; i < c->n_pieces; i++)
        if (c->piece[i].part == part && c->piece[i].begin == begin && c->piece[i].end == end)
            return &c->piece[i];
    return NULL;
}

lm_status cuda_case_play(cuda_case *c, phase part, size_t begin, size_t end, lm_error *err)
{
    const cuda_piece *piece;
    cudaError_t       cause;
    lm_status         status;

    if (begin == end)
        return LM_OK;
    if (!c->replay)
        return play_plain(c, part, begin, end, err);
    piece = find_piece(c, part, begin, end);
    if (!piece) {
        status = add_piece(c, part, begin, end, err);
        if (status)
            return status;
        piece = &c->piece[c->n_pieces - 1];
    }
    cause = cudaGraphLaunch(piece->graph, c->device->stream);
    return cause == cudaSuccess ? LM_OK : cuda_failed(err, "CUDA graph", cause);
}

/* ---- moments --------------------------------------------------------------------------------- */

static lm_status make_marks(cuda_case *c, lm_error *err)
{
    for (int i = 0; i < N_MARKS; i++) {
        const cudaError_t cause = cudaEventCreate(&c->mark[i]);

        if (cause != cudaSuccess)
            return cuda_failed(err, "CUDA event", cause);
    }
    return LM_OK;
}

lm_status cuda_case_mark(const cuda_case *c, cuda_mark mark, lm_error *err)
{
    const cudaError_t cause = cudaEventRecord(c->mark[mark], c->device->stream);

    return cause == cudaSuccess ? LM_OK : cuda_failed(err, "CUDA event", cause);
}

lm_status cuda_case_wait(const cuda_case *c, cuda_mark mark, lm_error *err)
{
    const cudaError_t cause = cudaEventSynchronize(c->mark[mark]);

    pulse_tick();
    return cause == cudaSuccess ? LM_OK : cuda_failed(err, c->device->name, cause);
}

lm_status cuda_case_between(const cuda_case *c, cuda_mark from, cuda_mark to, double *seconds,
                            lm_error *err)
{
    float             milliseconds;
    const cudaError_t cause = cudaEventElapsedTime(&milliseconds, c->mark[from], c->mark[to]);

    if (cause != cudaSuccess)
        return cuda_failed(err, "CUDA event", cause);
    *seconds = 1e-3 * (double)milliseconds;
    return LM_OK;
}

/* ---- a case ---------------------------------------------------------------------------------- */

static lm_status finish(const cuda_case *c, lm_error *err)
{
    const lm_status status = cuda_case_mark(c, MARK_END, err);

    return status ? status : cuda_case_wait(c, MARK_END, err);
}

/* Runs all phases once, as the measurement will. */
static lm_status play_all(cuda_case *c, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < N_CUDA_PHASES && !status; i++)
        status = cuda_case_play(c, cuda_phases[i], 0, c->plan.n[cuda_phases[i]], err);
    return status ? status : finish(c, err);
}

/* Runs kernels one by one first: modules that they load at their first run cannot be recorded. */
static lm_status try_once(cuda_case *c, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < N_CUDA_PHASES && !status; i++)
        status = play_plain(c, cuda_phases[i], 0, c->plan.n[cuda_phases[i]], err);
    if (!status)
        status = finish(c, err);
    return status || !c->replay ? status : play_all(c, err);
}

/* Seconds of work before a measurement. Clocks fall while the host prepares, and short repetitions
 * would end before they rise again. */
#define WAKE_SECONDS 0.03

static lm_status wake(cuda_case *c, lm_error *err)
{
    const int64_t began  = clock_nanoseconds(CLOCK_MONOTONIC);
    lm_status     status = LM_OK;

    do
        status = play_all(c, err);
    while (!status && clock_seconds_since(CLOCK_MONOTONIC, began) < WAKE_SECONDS);
    return status;
}

lm_status cuda_case_new(const cuda_device *device, const bench_case *what, cuda_case **out,
                        lm_error *err)
{
    cuda_case *c = calloc(1, sizeof *c);
    lm_status  status;

    if (!c)
        return no_memory(err);
    c->device           = device;
    c->how              = what->how;
    c->alone            = what->point->kind == OBS_KERNEL;
    c->replay           = what->how.value[SETTING_LAUNCH] != 0;
    c->plan.gradient    = what->gradients;
    c->plan.n_gradients = what->n_gradients;
    c->plan.evaluation  = what->evaluation;
    status              = get_kernels(c, what, err);
    if (!status)
        status = plan_make(&c->plan, err);
    if (!status)
        status = allocate(c, err);
    if (!status && c->alone && what->how.value[SETTING_CACHE])
        status = allocate_flush(c, err);
    if (!status)
        status = make_marks(c, err);
    if (!status)
        status = try_once(c, err);
    if (!status)
        status = wake(c, err);
    if (status) {
        cuda_case_free(c);
        return status;
    }
    *out = c;
    return LM_OK;
}

/* Could a kernel use tensor cores? A depthwise convolution is no matrix product. */
static bool could_use_tensor_cores(const cuda_case *c, const lm_kernel *k)
{
    const bool depthwise =
        k->op == LM_OP_CONV && k->u.conv.groups > 1 && k->u.conv.groups == k->u.conv.c_in;

    return (k->op == LM_OP_CONV || k->op == LM_OP_GEMM || k->op == LM_OP_ATTENTION) && !depthwise &&
           (k->dtype == LM_F16 || k->dtype == LM_BF16 || k->dtype == LM_F8 ||
            (k->dtype == LM_F32 && settings_tf32(&c->how, k->op)));
}

double cuda_case_on_tensor_cores(const cuda_case *c)
{
    double all = 0, on = 0;

    for (size_t i = 0; i < N_CUDA_PHASES; i++)
        for (size_t j = 0; j < c->plan.n[cuda_phases[i]]; j++) {
            const launch    *l     = &c->plan.launch[cuda_phases[i]][j];
            const lm_kernel *k     = &l->kernel->kernel;
            const double     flops = (double)lm_kernel_work(k).flops * l->repeat;

            if (!could_use_tensor_cores(c, k))
                continue;
            all += flops;
            on += kernel_of(l)->tensor_cores ? flops : 0;
        }
    return all > 0 ? on / all : (double)NAN;
}

void cuda_case_free(cuda_case *c)
{
    if (!c)
        return;
    cudaStreamSynchronize(c->device->stream); /* nothing may still use the freed memory */
    for (size_t i = 0; i < c->n_pieces; i++)
        cudaGraphExecDestroy(c->piece[i].graph);
    free(c->piece);
    for (int i = 0; i < N_MARKS; i++)
        if (c->mark[i])
            cudaEventDestroy(c->mark[i]);
    cuda_give_back(c->device, c->flush);
    cuda_give_back(c->device, c->memory);
    plan_free(&c->plan);
    free(c->gradient);
    for (size_t i = 0; i < c->n_kernels; i++)
        cuda_shelf_give(c->device, c->kernel[i]);
    free(c->kernel);
    free(c);
}
