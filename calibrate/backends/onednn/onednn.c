/* oneDNN on the CPU: networks and kernels, forward, backward and update. */
#include "measure/backend.h"
#include "measure/clock.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/no_memory.h"
#include "measure/plan.h"
#include "onednn_api.h"
#include "onednn_copies.h"
#include "onednn_kernels.h"
#include "onednn_try.h"
#include "ranks/pulse.h"

/*
 * Layouts: convolutions in the library's choice, poolings and norms in the blocked layout of this
 * CPU, products row-major, everything else flat. Nothing is reordered between kernels, as if
 * neighbours had equal layouts; a framework that stays within the library comes close to this.
 * plan.c decides where buffers lie and what a kernel reads. map_function.h has the function of an
 * element-wise kernel.
 */
typedef struct onednn {
    backend    base; /* first */
    api_device device;
    team       team;
} onednn;

typedef struct onednn_work {
    api_device       *device;
    prepared_kernel **kernel; /* each different kernel once */
    size_t            n_kernels;
    step_plan         plan;
    dnnl_exec_arg_t (*argument[N_PHASES])[MAX_SLOTS]; /* by launch */
    gradient_bucket *gradient;
    char            *memory; /* n_copies of the plan's block, `stride` bytes apart */
    size_t           n_copies, stride, turn;
} onednn_work;

static const phase phases[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE };

enum { N_SERVED = sizeof phases / sizeof phases[0], PAGE = 4096 };

static onednn *onednn_of(backend *self)
{
    return (onednn *)(void *)self;
}

/* ---- open, close, describe ------------------------------------------------------------------- */

static void close_onednn(backend *self)
{
    if (!self)
        return;
    api_close(&onednn_of(self)->device);
    free(self);
}

static lm_status open_onednn(const backend_config *config, backend **out, lm_error *err)
{
    onednn       *self = calloc(1, sizeof *self);
    dnnl_status_t cause;
    lm_status     status;

    if (!self)
        return no_memory(err);
    self->base.type = &backend_onednn;
    status          = team_open(&self->team, config->threads, err);
    if (status)
        goto out;
    team_flush_small(&self->team);
    cause = api_open(&self->device);
    if (cause != dnnl_success) {
        status = lm_error_set(err, LM_E_UNSUPPORTED, "oneDNN: %s", dnnl_status2str(cause));
        goto out;
    }
    *out = &self->base;
    self = NULL;
out:
    if (self)
        close_onednn(&self->base);
    return status;
}

static void describe(const backend *self,
                     void (*put)(void *context, const char *key, const char *value), void *context)
{
    const onednn         *me      = (const onednn *)(const void *)self;
    const dnnl_version_t *version = dnnl_version();
    char                  text[64], isa[32];

    snprintf(text, sizeof text, "%d.%d.%d", version->major, version->minor, version->patch);
    put(context, "onednn", text);
    put(context, "onednn_isa", api_isa(isa, sizeof isa));
    snprintf(text, sizeof text, "%d", me->team.threads);
    put(context, "onednn_threads", text);
    put(context, "subnormals", "count as zero");
}

/* ---- prepare, release ------------------------------------------------------------------------ */

static void destroy_memories(onednn_work *w)
{
    for (int part = 0; part < N_PHASES; part++) {
        for (size_t i = 0; w->argument[part] && i < w->plan.n[part]; i++)
            for (size_t s = 0; s < MAX_SLOTS; s++)
                if (w->argument[part][i][s].memory)
                    dnnl_memory_destroy(w->argument[part][i][s].memory);
        free(w->argument[part]);
    }
}

static void release(backend *self, void *work)
{
    onednn_work *w = work;

    (void)self;
    if (!w)
        return;
    destroy_memories(w);
    plan_free(&w->plan);
    free(w->gradient);
    free(w->memory);
    for (size_t i = 0; i < w->n_kernels; i++) {
        kernel_release(w->kernel[i]);
        free(w->kernel[i]);
    }
    free(w->kernel);
    free(w);
}

/* Finds or prepares a kernel. */
static lm_status get_kernel(onednn_work *w, const lm_kernel *k, kernel_use use,
                            const plan_kernel **out, lm_error *err)
{
    prepared_kernel *made;
    lm_status        status;

    for (size_t i = 0; i < w->n_kernels; i++)
        if (w->kernel[i]->base.use == use && kernels_equal(&w->kernel[i]->base.kernel, k)) {
            *out = &w->kernel[i]->base;
            return LM_OK;
        }
    made = malloc(sizeof *made);
    if (!made)
        return no_memory(err);
    pulse_tick();
    status = kernel_prepare(w->device, k, use, made, err);
    if (status) {
        free(made);
        return status;
    }
    w->kernel[w->n_kernels++] = made;
    *out                      = &made->base;
    return LM_OK;
}

static lm_status get_kernels(onednn_work *w, const bench_case *what, lm_error *err)
{
    size_t total = 0;

    for (size_t i = 0; i < N_SERVED; i++)
        total += what->n_kernels[phases[i]];
    w->kernel = calloc(total + 1, sizeof *w->kernel);
    if (!w->kernel)
        return no_memory(err);
    for (size_t i = 0; i < N_SERVED; i++) {
        const phase  part = phases[i];
        const size_t n    = what->n_kernels[part];
        launch      *list = calloc(n + 1, sizeof *list);

        if (!list)
            return no_memory(err);
        w->plan.launch[part] = list;
        w->plan.n[part]      = n;
        for (size_t j = 0; j < n; j++) {
            const lm_kernel *k   = &what->kernels[part][j];
            const kernel_use use = kernel_use_in(part, w->plan.evaluation);
            lm_status        status;

            list[j].repeat = k->repeat;
            status         = get_kernel(w, k, use, &list[j].kernel, err);
            if (status)
                return status;
        }
    }
    return LM_OK;
}

/* The kernel of a launch; each of this backend's begins with the plan's part. */
static const prepared_kernel *kernel_of(const launch *l)
{
    return (const prepared_kernel *)(const void *)l->kernel;
}

static lm_status make_memories(onednn_work *w, phase part, lm_error *err)
{
    const size_t n = w->plan.n[part];

    w->argument[part] = calloc(n + 1, sizeof *w->argument[part]);
    if (!w->argument[part])
        return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const launch          *l = &w->plan.launch[part][i];
        const prepared_kernel *k = kernel_of(l);

        for (size_t s = 0; s < k->base.n_slots && k->primitive.run; s++) {
            dnnl_exec_arg_t    *to    = &w->argument[part][i][s];
            const dnnl_status_t cause = api_memory(w->device, &k->primitive,
                                                   k->base.slot[s].argument, l->at[s], &to->memory);

            to->arg = k->base.slot[s].argument;
            if (cause != dnnl_success)
                return lm_error_set(err, LM_E_NOMEM, "oneDNN: %s", dnnl_status2str(cause));
        }
    }
    return LM_OK;
}

/* Available memory of the machine, bytes; UINT64_MAX: unknown. */
static uint64_t available_bytes(void)
{
    FILE              *file = fopen("/proc/meminfo", "r");
    char               line[128];
    unsigned long long kib;
    uint64_t           bytes = UINT64_MAX;

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            bytes = lm_mul(kib, 1024);
    if (file)
        fclose(file);
    return bytes;
}

/* Allocates the case's memory. `ranks` processes of this machine do the same; a tenth of the memory
 * stays free. */
static lm_status allocate(onednn_work *w, bool cold, int64_t ranks, lm_error *err)
{
    const uint64_t available = available_bytes(), limit = available - available / 10;
    const uint64_t block  = (lm_add(plan_bytes(&w->plan), 1) + PAGE - 1) / PAGE * PAGE;
    const uint64_t total  = lm_mul(block, copies_wanted(cold, block)),
                   wanted = lm_mul(total, (uint64_t)ranks);
    void *memory;

    if (wanted > limit || total > SIZE_MAX / 2)
        return lm_error_set(err, LM_E_NOMEM, "needs %.0f MB, %.0f MB are available",
                            (double)wanted / 1e6, (double)limit / 1e6);
    if (posix_memalign(&memory, PAGE, (size_t)total))
        return lm_error_set(err, LM_E_NOMEM, "no %.0f MB to be had", (double)total / 1e6);
    w->memory   = memory;
    w->stride   = (size_t)block;
    w->n_copies = (size_t)(total / block);
    plan_place(&w->plan, w->memory);
    w->gradient = calloc(w->plan.n_gradients + 1, sizeof *w->gradient);
    if (!w->gradient)
        return no_memory(err);
    plan_gradients(&w->plan, w->memory, w->gradient);
    return LM_OK;
}

typedef struct filling {
    const team *team;
    char       *memory;
} filling;

static void fill_one(void *context, const fill *f, uint64_t offset, uint64_t bytes)
{
    const filling *c = context;

    fill_run(f, c->team, offset, c->memory + offset, (size_t)bytes);
    pulse_tick();
}

/* Largest number of this case's processes on one machine. */
static int64_t ranks_here(const world *group)
{
    const int ranks = group ? world_size(group) : 1, hosts = group ? world_hosts(group) : 1;

    return (ranks + hosts - 1) / hosts;
}

/* ---- run ------------------------------------------------------------------------------------- */

static dnnl_status_t run_launch(const onednn *me, const launch *l, const dnnl_exec_arg_t *argument)
{
    const prepared_kernel *k      = kernel_of(l);
    dnnl_status_t          status = dnnl_success;

    for (uint32_t i = 0; i < l->repeat && status == dnnl_success; i++) {
        pulse_tick();
        if (k->primitive.run)
            status = dnnl_primitive_execute(k->primitive.run, me->device.stream,
                                            (int)k->base.n_slots, argument);
        else
            loop_run(&k->loop, &me->team, l->at);
    }
    return status;
}

static lm_status failed(dnnl_status_t status, phase part, lm_error *err)
{
    return lm_error_set(err, status == dnnl_out_of_memory ? LM_E_NOMEM : LM_E_UNSUPPORTED,
                        "oneDNN: %s while running %s", dnnl_status2str(status), phase_name(part));
}

typedef struct stopwatch {
    int64_t wall, cpu; /* start time */
} stopwatch;

static stopwatch start_watch(void)
{
    return (stopwatch){ clock_nanoseconds(CLOCK_MONOTONIC),
                        clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID) };
}

static backend_time read_watch(const onednn *me, const stopwatch *w)
{
    const double cpu  = clock_seconds_since(CLOCK_THREAD_CPUTIME_ID, w->cpu);
    const double wall = clock_seconds_since(CLOCK_MONOTONIC, w->wall);

    return (backend_time){ .wall = wall, .cpu = me->team.threads > 1 ? (double)NAN : cpu };
}

static dnnl_status_t run_phase(const onednn *me, const onednn_work *w, phase part)
{
    dnnl_status_t status = dnnl_success;

    for (size_t i = 0; i < w->plan.n[part] && status == dnnl_success; i++)
        status = run_launch(me, &w->plan.launch[part][i], w->argument[part][i]);
    return status == dnnl_success ? dnnl_stream_wait(me->device.stream) : status;
}

/* ---- caches as in a network ------------------------------------------------------------------ */

/* Fills the copies as one run of each phase leaves the first. */
static lm_status fill_copies(backend *self, onednn_work *w, lm_error *err)
{
    const onednn *me     = onednn_of(self);
    lm_status     status = LM_OK;

    for (size_t i = 0; i < N_SERVED && w->n_copies > 1 && !status; i++) {
        const dnnl_status_t cause = run_phase(me, w, phases[i]);

        status = cause == dnnl_success ? LM_OK : failed(cause, phases[i], err);
    }
    if (!status)
        copies_fill(&me->team, w->memory, w->stride, w->n_copies);
    return status;
}

/*
 * The next copy takes the place of the last one: a network comes back to a layer's weights and
 * activations after those of all others. The pass's input is read: the layer before it has just
 * written it.
 */
static void take_next_copy(onednn_work *w, phase part)
{
    const launch *first = w->plan.n[part] ? w->plan.launch[part] : NULL;

    w->turn = (w->turn + 1) % w->n_copies;
    plan_place_copy(&w->plan, part, w->memory, w->turn * w->stride);
    for (size_t i = 0; i < w->plan.n[part]; i++) {
        const launch *l = &w->plan.launch[part][i];

        for (size_t s = 0; s < l->kernel->n_slots; s++)
            if (w->argument[part][i][s].memory)
                dnnl_memory_set_data_handle(w->argument[part][i][s].memory, l->at[s]);
    }
    for (size_t s = 0; first && s < first->kernel->n_slots; s++)
        if (first->kernel->slot[s].role == ROLE_IN)
            copies_read(first->at[s], first->region[s].bytes);
}

static lm_status prepare(backend *self, const bench_case *what, void **out, lm_error *err)
{
    const bool   cold = what->how.value[SETTING_CACHE] && what->point->kind != OBS_NETWORK;
    onednn      *me   = onednn_of(self);
    onednn_work *w    = calloc(1, sizeof *w);
    lm_status    status;

    if (!w)
        return no_memory(err);
    w->device           = &me->device;
    w->plan.gradient    = what->gradients;
    w->plan.n_gradients = what->n_gradients;
    w->plan.evaluation  = what->evaluation;
    team_apply(&me->team);
    status = get_kernels(w, what, err);
    if (!status)
        status = plan_make(&w->plan, err);
    if (!status)
        status = allocate(w, cold, ranks_here(what->group), err);
    for (size_t i = 0; i < N_SERVED && !status; i++)
        status = make_memories(w, phases[i], err);
    if (status)
        goto out;
    plan_fill(&w->plan, fill_one, &(filling){ &me->team, w->memory });
    if ((status = fill_copies(self, w, err)))
        goto out;
    *out = w;
    w    = NULL;
out:
    release(self, w);
    return status;
}

/* ---- run a phase --------------------------------------------------------------------------------- */

static lm_status run(backend *self, void *work, phase part, backend_time *out, lm_error *err)
{
    const onednn *me = onednn_of(self);
    stopwatch     watch;
    dnnl_status_t status;

    assert(part < N_PHASES && backend_onednn.serves >> part & 1);
    team_apply(&me->team);
    if (((onednn_work *)work)->n_copies > 1)
        take_next_copy(work, part);
    watch  = start_watch();
    status = run_phase(me, work, part);
    *out   = read_watch(me, &watch);
    return status == dnnl_success ? LM_OK : failed(status, part, err);
}

/* ---- the whole step -------------------------------------------------------------------------- */

static lm_status gradients(backend *self, void *work, const gradient_bucket **out, size_t *n,
                           lm_error *err)
{
    const onednn_work *w = work;

    (void)self;
    (void)err;
    *out = w->gradient;
    *n   = w->plan.n_gradients;
    return LM_OK;
}

/* A running step. It keeps the first failure and continues, because other ranks wait for all
 * buckets. */
typedef struct stepping {
    const onednn      *me;
    const onednn_work *work;
    const step_sync   *sync; /* NULL: none */
    size_t             next; /* next bucket to start */
    lm_status          status;
    lm_error          *err;
} stepping;

static void note_onednn(stepping *s, dnnl_status_t status, phase part)
{
    if (status != dnnl_success && !s->status)
        s->status = failed(status, part, s->err);
}

/* Memory for a later failure, so that it does not replace the first one. */
static lm_error *explanation(const stepping *s)
{
    return s->status ? NULL : s->err;
}

static void note(stepping *s, lm_status status)
{
    if (!s->status)
        s->status = status;
}

/* Starts the buckets that are complete after so many kernels of the backward pass. */
static void start_buckets(stepping *s, size_t kernels)
{
    const step_sync *sync = s->sync;
    backend         *c    = sync->collective;

    for (; s->next < sync->n_buckets && sync->bucket[s->next].needs <= kernels; s->next++)
        note(s, c->type->start_bucket(c, sync->work, s->next, NULL, explanation(s)));
}

static void move_buckets(stepping *s)
{
    backend *c = s->sync->collective;

    if (s->next > 0 && c->type->poll_buckets)
        note(s, c->type->poll_buckets(c, s->sync->work, explanation(s)));
}

static void step_backward(stepping *s)
{
    const launch *list = s->work->plan.launch[PHASE_BACKWARD];
    const size_t  n    = s->work->plan.n[PHASE_BACKWARD];

    for (size_t i = 0; i < n; i++) {
        if (!s->status) {
            note_onednn(s, run_launch(s->me, &list[i], s->work->argument[PHASE_BACKWARD][i]),
                        PHASE_BACKWARD);
            note_onednn(s, dnnl_stream_wait(s->me->device.stream), PHASE_BACKWARD);
        }
        if (!s->sync)
            continue;
        start_buckets(s, i + 1);
        if (i + 1 < n) /* messages behind the last kernel are exposed */
            move_buckets(s);
    }
}

static void step_exposed(stepping *s)
{
    backend *c = s->sync->collective;

    note(s, c->type->finish_buckets(c, s->sync->work, NULL, explanation(s)));
}

static lm_status run_step(backend *self, void *work, const step_sync *sync, step_time *out,
                          lm_error *err)
{
    stepping  s = { .me = onednn_of(self), .work = work, .sync = sync, .err = err };
    stopwatch watch;

    team_apply(&s.me->team);
    *out  = (step_time){ .exposed = { 0, NAN } };
    watch = start_watch();
    note_onednn(&s, run_phase(s.me, work, PHASE_FORWARD), PHASE_FORWARD);
    out->forward = read_watch(s.me, &watch);
    watch        = start_watch();
    step_backward(&s);
    out->backward = read_watch(s.me, &watch);
    if (sync) {
        watch = start_watch();
        step_exposed(&s);
        out->exposed = read_watch(s.me, &watch);
    }
    watch = start_watch();
    if (!s.status)
        note_onednn(&s, run_phase(s.me, work, PHASE_UPDATE), PHASE_UPDATE);
    out->update = read_watch(s.me, &watch);
    return s.status;
}

static lm_status try_kernel(backend *self, struct verify_trial *t, lm_error *err)
{
    const onednn *me = onednn_of(self);

    team_apply(&me->team);
    return onednn_try(&me->device, &me->team, t, err);
}

const backend_type backend_onednn = {
    .name       = "onednn",
    .doc        = "CPU: Intel oneDNN",
    .open       = open_onednn,
    .close      = close_onednn,
    .describe   = describe,
    .prepare    = prepare,
    .try_kernel = try_kernel,
    .run        = run,
    .release    = release,
    .gradients  = gradients,
    .run_step   = run_step,
    .settings   = 1u << SETTING_CACHE | 1u << SETTING_MIXED,
    .serves     = 1u << PHASE_FORWARD | 1u << PHASE_BACKWARD | 1u << PHASE_UPDATE,
};
