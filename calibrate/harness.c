/* Measures one point. */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "network/kernels.h"
#include "network/single.h"
#include "trust.h"

/* Kernels of a point, and the backends' work on them. */
typedef struct setup {
    kernel_list   list[N_PHASES];
    gradient_list gradients;
    bench_case    what;
    void         *compute, *collective; /* work; NULL: this backend has nothing to do here */
} setup;

/* Of a network, or of a layer by itself. */
static lm_status network_kernels(const bench *b, const sweep_point *p, setup *s, lm_error *err)
{
    const bind_options options = { .batch = p->row.batch,
                                   .dtype = p->row.dtype,
                                   .input = p->row.input };
    network           *net     = NULL;
    bound_network     *bound   = NULL;
    lm_status          status;

    if (p->row.kind == OBS_LAYER)
        status = single_bind(p->row.name, p->row.geometry, p->row.input, p->row.batch, p->row.dtype,
                             b->reg, &net, &bound, err);
    else if (!(status = network_open(p->row.name, b->reg, NULL, &net, err)))
        status = bind_network(net, b->reg, &options, &bound, err);
    if (!status)
        status = kernels_forward(bound, &s->list[PHASE_FORWARD], err);
    if (!status)
        status = kernels_backward(bound, &s->list[PHASE_BACKWARD], err);
    if (!status)
        status = kernels_update(bound, p->optimizer, &s->list[PHASE_UPDATE], err);
    if (!status)
        status = kernels_gradients(bound, &s->gradients, err);
    bound_network_free(bound);
    network_free(net);
    return status;
}

static lm_status collective_kernel(const sweep_point *p, setup *s, lm_error *err)
{
    const int64_t bytes =
        p->row.kind == OBS_NETWORK ? (int64_t)p->counts.param_bytes : p->row.bytes;
    lm_kernel k = { .size = sizeof k, .op = LM_OP_ALLREDUCE, .dtype = p->row.dtype, .repeat = 1 };

    k.u.collective.bytes = bytes;
    k.u.collective.ranks = p->row.ranks;
    k.u.collective.nodes = p->row.hosts;
    return kernel_list_add(&s->list[PHASE_SYNC], &k, err);
}

static void setup_free(const bench *b, setup *s)
{
    if (s->compute)
        b->compute->type->release(b->compute, s->compute);
    if (s->collective)
        b->collective->type->release(b->collective, s->collective);
    for (phase p = 0; p < N_PHASES; p++)
        kernel_list_free(&s->list[p]);
}

/* Which backend runs a phase of this point; NULL: nobody, since there is nothing to run. */
static backend *runner(const bench *b, const setup *s, phase p)
{
    if (!s->list[p].n)
        return NULL;
    if (b->compute->type->serves & 1u << p)
        return b->compute;
    return b->collective && b->collective->type->serves & 1u << p ? b->collective : NULL;
}

/* All ranks go on, or none: the worst status of all. */
static lm_status agree(const world *group, lm_status status)
{
    double worst = -(double)status;

    world_max(group, &worst, 1);
    return (lm_status)-worst;
}

/* The same, with a text on the ranks that are well. */
static lm_status meet(const world *group, lm_status mine, lm_error *err)
{
    const lm_status status = agree(group, mine);

    return status && !mine ? lm_error_set(err, status, "another rank failed") : status;
}

/* Networks and layers: they have counts, and a step. */
static bool counted(const observation *row)
{
    return row->kind == OBS_NETWORK || row->kind == OBS_LAYER;
}

/* What is to be run, and by whom. */
static lm_status list_work(const bench *b, const world *group, const sweep_point *point, setup *s,
                           bool *compute, bool *collective, lm_error *err)
{
    lm_status status = LM_OK;

    if (counted(&point->row))
        status = network_kernels(b, point, s, err);
    else if (point->row.kind == OBS_KERNEL)
        status = kernel_list_add(&s->list[PHASE_FORWARD], &point->kernel, err);
    if (!status && point->row.kind != OBS_KERNEL && point->row.kind != OBS_LAYER &&
        point->row.ranks > 1)
        status = collective_kernel(point, s, err);
    if (status)
        return status;
    s->what = (bench_case){ .point   = &point->row,
                            .group   = group,
                            .how     = point->how,
                            .metrics = counted(&point->row) ? &point->counts : NULL };
    for (phase p = 0; p < N_PHASES; p++) {
        backend *who = runner(b, s, p);

        if (s->list[p].n && !who)
            return lm_error_set(err, LM_E_UNSUPPORTED,
                                "no backend runs the %s phase: set 'collective =' in [sweep]",
                                phase_name(p));
        s->what.kernels[p]   = s->list[p].kernel;
        s->what.n_kernels[p] = s->list[p].n;
        *compute |= who && who == b->compute;
        *collective |= who && who == b->collective;
    }
    return LM_OK;
}

/* A collective backend's preparation is itself collective: no rank may enter it unless all do.
 * *mine is this rank's own status, behind which a text stands in err. */
static lm_status prepare(const bench *b, const world *group, const sweep_point *point, setup *s,
                         lm_status *mine, lm_error *err)
{
    bool      compute = false, collective = false;
    lm_status status;

    *mine = list_work(b, group, point, s, &compute, &collective, err);
    if (!*mine && compute)
        *mine = b->compute->type->prepare(b->compute, &s->what, &s->compute, err);
    status = agree(group, *mine);
    if (status || !collective)
        return status;
    *mine = b->collective->type->prepare(b->collective, &s->what, &s->collective, err);
    return agree(group, *mine);
}

/* Times of all repetitions. */
typedef struct samples {
    double *wall[N_PHASES], *cpu[N_PHASES], *scratch;
    int64_t n;
    double  spent; /* seconds of all */
} samples;

static void samples_free(samples *s)
{
    for (phase p = 0; p < N_PHASES; p++) {
        free(s->wall[p]);
        free(s->cpu[p]);
    }
    free(s->scratch);
}

static bool samples_alloc(samples *s, int64_t room)
{
    bool ok = (s->scratch = malloc(2 * (size_t)room * sizeof(double))) != NULL;

    for (phase p = 0; p < N_PHASES; p++) {
        s->wall[p] = malloc((size_t)room * sizeof(double));
        s->cpu[p]  = malloc((size_t)room * sizeof(double));
        ok &= s->wall[p] && s->cpu[p];
    }
    return ok;
}

/* One repetition; out holds wall times, then CPU times, the largest over the ranks. A rank that
 * fails goes on to where all meet, so that none waits for it. */
static lm_status repeat_once(const bench *b, const world *group, const setup *s, conditions *seen,
                             double out[2 * N_PHASES], lm_error *err)
{
    double    value[2 * N_PHASES + 1] = { 0 }; /* the last: how the ranks fared */
    double    step                    = 0;
    lm_status status                  = LM_OK;

    world_barrier(group);
    for (phase p = 0; p < N_PHASES; p++) {
        backend     *who = runner(b, s, p);
        backend_time t   = { 0, 0 };

        if (!who)
            continue;
        if (p == PHASE_SYNC) {
            status = meet(group, status, err);
            if (status)
                return status;
            world_barrier(group); /* the wait for a slower rank is not the all-reduce's */
        }
        if (p != PHASE_SYNC && seen)
            conditions_phase_begins(seen);
        if (!status)
            status =
                who->type->run(who, who == b->compute ? s->compute : s->collective, p, &t, err);
        if (p != PHASE_SYNC && seen)
            conditions_phase_ended(seen, &t);
        value[p]            = t.wall;
        value[N_PHASES + p] = t.cpu;
    }
    value[2 * N_PHASES] = -(double)status;
    world_max(group, value, 2 * N_PHASES + 1);
    if (value[2 * N_PHASES] > 0)
        return status ? status
                      : lm_error_set(err, (lm_status)-value[2 * N_PHASES], "another rank failed");
    for (phase p = 0; p < PHASE_STEP; p++)
        step += value[p];
    value[PHASE_STEP] = step;
    memcpy(out, value, 2 * N_PHASES * sizeof *out);
    return LM_OK;
}

static bool enough(const stopping *stop, samples *s, double spent)
{
    const size_t n = (size_t)s->n;
    double       mad, median;

    if (s->n < stop->min_repeats)
        return false;
    if (s->n >= stop->max_repeats || spent >= stop->max_seconds)
        return true;
    memcpy(s->scratch, s->wall[PHASE_STEP], n * sizeof(double));
    mad    = stats_mad(s->scratch, s->scratch + n, n);
    median = s->scratch[n / 2]; /* sorted by stats_mad() */
    return 1.2533 * 1.4826 * mad / sqrt((double)n) <= stop->precision * median;
}

static lm_status warm_up(const bench *b, const world *group, const setup *s, lm_error *err)
{
    double    once[2 * N_PHASES];
    lm_status status = LM_OK;

    for (int64_t i = 0; i < b->plan->stop.warmup && !status; i++)
        status = repeat_once(b, group, s, NULL, once, err);
    return status;
}

static lm_status sample(const bench *b, const world *group, const setup *s, conditions *seen,
                        samples *out, lm_error *err)
{
    const stopping *stop  = &b->plan->stop;
    double          spent = 0;
    int             go_on = 1;
    double          once[2 * N_PHASES];
    lm_status       status;

    while (go_on) {
        if ((status = repeat_once(b, group, s, seen, once, err)))
            return status;
        conditions_repetition_ended(seen);
        for (phase p = 0; p < N_PHASES; p++) {
            out->wall[p][out->n] = once[p];
            out->cpu[p][out->n]  = once[N_PHASES + p];
        }
        out->n++;
        spent += once[PHASE_STEP];
        go_on = !enough(stop, out, spent);
        world_broadcast(group, &go_on, sizeof go_on); /* all ranks stop together */
    }
    out->spent = spent;
    return LM_OK;
}

/* Samples, and judges under what conditions. */
static lm_status sample_watched(const bench *b, const world *group, const setup *s, samples *times,
                                point_result *out, lm_error *err)
{
    const size_t     room = (size_t)b->plan->stop.max_repeats + 1;
    conditions       seen;
    condition_report report;
    lm_status        status = warm_up(b, group, s, err); /* before: all threads are there then */
    lm_status        opened = conditions_open(&seen, b->compute, room, err);

    if (!status)
        status = meet(group, opened, err);
    if (!status)
        status = sample(b, group, s, &seen, times, err);
    report       = conditions_close(&seen);
    out->spent   = times->spent;
    out->repeats = times->n;
    if (!status)
        trust_judge(b->trust, group, &report, out);
    return status;
}

static phase_times summarise(samples *s, phase p)
{
    const size_t n   = (size_t)s->n;
    phase_times  t   = { .measured = true, .repeats = s->n, .cpu = NAN };
    bool         cpu = p != PHASE_STEP;

    for (size_t i = 0; i < n; i++)
        cpu &= isfinite(s->cpu[p][i]) && s->cpu[p][i] > 0;
    if (cpu)
        t.cpu = stats_quantile(s->cpu[p], n, 0.5);
    t.median = stats_quantile(s->wall[p], n, 0.5); /* sorts */
    t.min    = s->wall[p][0];
    t.p95    = stats_quantile(s->wall[p], n, 0.95);
    return t;
}

lm_status harness_measure(const bench *b, const world *group, const sweep_point *point,
                          point_result *out, lm_error *err)
{
    setup     s     = { .compute = NULL };
    samples   times = { .n = 0 };
    lm_status mine;
    lm_status status = prepare(b, group, point, &s, &mine, err);

    *out = (point_result){
        .status = "ok", .stretch = NAN, .clock_mhz = NAN, .again = out->again, .flags = out->flags
    };
    if (status == LM_E_NOMEM || status == LM_E_UNSUPPORTED) {
        out->status = status == LM_E_NOMEM ? "skipped-memory" : "skipped-unsupported";
        snprintf(out->why, sizeof out->why, "%.199s", mine ? err->text : "another rank could not");
        status = LM_OK;
        goto out;
    }
    if (status) {
        if (!mine)
            lm_error_set(err, status, "another rank failed");
        goto out;
    }
    if (!samples_alloc(&times, b->plan->stop.max_repeats + 1))
        status = lm_error_set(err, LM_E_NOMEM, "out of memory");
    status = meet(group, status, err);
    if (!status)
        status = sample_watched(b, group, &s, &times, out, err);
    for (phase p = 0; p < N_PHASES && !status; p++)
        if (runner(b, &s, p) || (p == PHASE_STEP && counted(&point->row)))
            out->phase[p] = summarise(&times, p);
out:
    samples_free(&times);
    setup_free(b, &s);
    return status;
}
