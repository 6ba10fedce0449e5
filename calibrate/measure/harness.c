/* Measures one point. */
#include "measure/harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "measure/point_kernels.h"
#include "measure/power_meter.h"
#include "measure/slowest.h"
#include "measure/step.h"
#include "measure/trust.h"
#include "ranks/pulse.h"
#include "ranks/watchdog.h"
#include "verify/verdicts.h"

/* Kernels of a point, and the backends' work on them. */
typedef struct setup {
    point_kernels kernels;
    bench_case    what;
    void         *compute, *collective; /* work; NULL: this backend has nothing to do here */
    native_step   step;                 /* instead of `collective`, where gradients go in buckets */
} setup;

static bool has_phase(const setup *s, phase p)
{
    const observation *row = s->what.point;

    if (p != PHASE_SYNC)
        return s->kernels.list[p].n > 0;
    return row && row->ranks > 1 && row->kind != OBS_KERNEL && row->kind != OBS_LAYER;
}

static void setup_free(const bench *b, setup *s)
{
    step_release(&s->step); /* its buckets lie in the compute backend's memory */
    if (s->compute)
        b->compute->type->release(b->compute, s->compute);
    if (s->collective)
        b->collective->type->release(b->collective, s->collective);
    point_kernels_free(&s->kernels);
}

/* The backend that runs a phase of this point; NULL: there is nothing to run. */
static backend *runner(const bench *b, const setup *s, phase p)
{
    if (!has_phase(s, p))
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

void harness_lost(const bench *b, const world *group, lm_status status, const lm_error *err)
{
    if (status && b->collective && b->collective->type->on_gpu && world_size(group) > 1 &&
        strcmp(err->text, WORLD_ELSEWHERE) != 0)
        watchdog_fail(err->text);
}

/* The case to run, and its backends. */
static lm_status list_work(const bench *b, const world *group, const sweep_point *point, setup *s,
                           bool *compute, bool *collective, lm_error *err)
{
    const lm_status status = point_kernels_make(b->reg, point, &s->kernels, err);

    if (status)
        return status;
    s->what =
        (bench_case){ .point       = &point->row,
                      .group       = group,
                      .metrics     = point_is_counted(&point->row) ? &point->counts : NULL,
                      .gradients   = s->kernels.gradients.gradient,
                      .n_gradients = s->kernels.gradients.n,
                      .collective  = observation_collective(&point->row),
                      .bytes = point->row.kind == OBS_NETWORK ? (int64_t)point->counts.param_bytes
                                                              : point->row.bytes,
                      .how   = point->how,
                      .optimizer  = s->kernels.optimizer,
                      .evaluation = point_evaluates(&point->row) };
    for (phase p = 0; p < N_PHASES; p++) {
        backend *who = runner(b, s, p);

        if (has_phase(s, p) && !who)
            return lm_error_set(err, LM_E_UNSUPPORTED,
                                "no backend runs the %s phase: set 'collective =' in [sweep]",
                                phase_name(p));
        s->what.kernels[p]   = s->kernels.list[p].kernel;
        s->what.n_kernels[p] = s->kernels.list[p].n;
        *compute |= who && who == b->compute;
        *collective |= who && who == b->collective;
    }
    return step_wanted(&point->row)
               ? step_check(b->compute, runner(b, s, PHASE_SYNC), &point->how, err)
               : LM_OK;
}

/* Longest time until a backend's next sign of life. CPUs give one after each kernel; all of today
 * reach 1 GFLOP/s and 100 MB/s in any kernel. GPUs give one after a phase or a step, and are a
 * hundred times as fast. */
static double slowest_seconds(const bench *b, const setup *s)
{
    double longest = 0, all = 0;

    for (phase p = 0; p < N_PHASES; p++)
        for (size_t i = 0; p != PHASE_SYNC && i < s->kernels.list[p].n; i++) {
            const lm_kernel *k    = &s->kernels.list[p].kernel[i];
            const lm_work    work = lm_kernel_work(k);
            const double     one  = (double)work.flops / 1e9 +
                               ((double)work.read_bytes + (double)work.written_bytes) / 1e8;

            longest = fmax(longest, one);
            all += one * k->repeat;
        }
    return b->compute->type->on_gpu ? all / 100 : longest;
}

/* A collective backend's preparation is itself collective: no rank may enter it unless all do.
 * *mine is this rank's own status; its message is in err. */
static lm_status prepare(const bench *b, const world *group, const sweep_point *point, setup *s,
                         lm_status *mine, lm_error *err)
{
    bool      compute = false, collective = false;
    lm_status status;

    *mine = list_work(b, group, point, s, &compute, &collective, err);
    pulse_allow(PULSE_PREPARING + slowest_seconds(b, s));
    if (!*mine && compute)
        *mine = b->compute->type->prepare(b->compute, &s->what, &s->compute, err);
    if (!*mine && step_wanted(&point->row))
        *mine = step_make_buckets(&s->step, b->compute, s->compute, &s->what, err);
    status = agree(group, *mine);
    if (status)
        return status;
    if (step_wanted(&point->row))
        *mine = step_prepare(&s->step, runner(b, s, PHASE_SYNC), &s->what, err);
    else if (collective)
        *mine = b->collective->type->prepare(b->collective, &s->what, &s->collective, err);
    status = agree(group, *mine);
    pulse_allow(slowest_seconds(b, s));
    return status;
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

/* Values of one repetition: wall times, CPU times, the rank's status, and the wall times before and
 * from the all-reduce on. Within each of these two, ranks do not wait for each other. */
enum { FARED = 2 * N_PHASES, BEFORE_SYNC, FROM_SYNC, N_VALUES };

/* The largest value over the ranks; CPU times are those of the slowest rank. */
static lm_status largest(const world *group, double value[N_VALUES], lm_status status,
                         lm_error *err)
{
    double own[2 * N_PHASES];

    memcpy(own, value, sizeof own);
    value[FARED] = -(double)status;
    world_max(group, value, N_VALUES);
    if (value[FARED] <= 0) {
        slowest_cpu(group, own, value, value + N_PHASES);
        return LM_OK;
    }
    return status ? status : lm_error_set(err, (lm_status)-value[FARED], WORLD_ELSEWHERE);
}

/* Runs the phases one after the other. The step ends when the slowest rank has done them. Ranks may
 * be slow in different phases, so it may be shorter than the sum of the slowest phases. */
static lm_status run_phases(const bench *b, const world *group, const setup *s, conditions *seen,
                            double value[N_VALUES], lm_error *err)
{
    lm_status status = LM_OK;

    for (phase p = 0; p < N_PHASES; p++) {
        backend     *who = runner(b, s, p);
        backend_time t   = { 0, 0 };

        if (!who)
            continue;
        if (p == PHASE_SYNC) {
            status = world_agree(group, status, err);
            if (status)
                return status;
            world_barrier(group); /* the wait for a slower rank is no part of the all-reduce */
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
        value[p < PHASE_SYNC ? BEFORE_SYNC : FROM_SYNC] += t.wall;
    }
    harness_lost(b, group, status, err);
    status            = largest(group, value, status, err);
    value[PHASE_STEP] = value[BEFORE_SYNC] + value[FROM_SYNC];
    return status;
}

/* Exposed part of the all-reduces: the time after the last rank's backward pass. An earlier rank
 * waits in its all-reduces for the last rank. This wait belongs to the passes: 1 % of a pass is
 * more than the exposed part of most all-reduces. */
static lm_status since_the_last_came(const world *group, double value[N_VALUES], lm_status status,
                                     lm_error *err)
{
    const double came = value[PHASE_FORWARD] + value[PHASE_BACKWARD];

    value[FROM_SYNC]  = came + value[PHASE_SYNC];
    value[PHASE_SYNC] = came; /* so that the CPU time is that rank's, too */
    status            = largest(group, value, status, err);
    /* all hidden: less than the clock resolves; rows need a time above 0 */
    value[PHASE_SYNC] = fmax(value[FROM_SYNC] - value[PHASE_SYNC], 1e-9);
    return status;
}

/* Runs the whole step at once. For `seen` it is one phase, without the wait for other ranks. */
static lm_status run_step(const bench *b, const world *group, const setup *s, conditions *seen,
                          double value[N_VALUES], lm_error *err)
{
    static const phase own[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE };
    backend_time       whole = { 0, 0 };
    lm_status          status;

    if (seen)
        conditions_phase_begins(seen);
    status = step_run(&s->step, b->compute, s->compute, value, err);
    harness_lost(b, group, status, err);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        whole.wall += value[own[i]];
        whole.cpu += value[N_PHASES + own[i]];
    }
    if (seen)
        conditions_phase_ended(seen, &whole);
    return since_the_last_came(group, value, status, err);
}

/* One repetition; `value` holds wall times, then CPU times, of the slowest rank. A rank that fails
 * goes on to the common exchange, so that no rank waits for it. */
static lm_status repeat_once(const bench *b, const world *group, const setup *s, conditions *seen,
                             double out[2 * N_PHASES], lm_error *err)
{
    double    value[N_VALUES] = { 0 };
    lm_status status;

    world_barrier(group);
    status = s->step.bucket ? run_step(b, group, s, seen, value, err)
                            : run_phases(b, group, s, seen, value, err);
    if (!status)
        memcpy(out, value, 2 * N_PHASES * sizeof *out);
    return status;
}

/* warm: seconds of the untimed repetitions. */
static bool enough(const stopping *stop, samples *s, double warm, double spent)
{
    const size_t n = (size_t)s->n;
    double       mad, median;

    if (stop->cut_seconds > 0 && warm + spent >= stop->cut_seconds)
        return true;
    if (s->n < stop->min_repeats)
        return false;
    if (s->n >= stop->max_repeats || spent >= stop->max_seconds)
        return true;
    memcpy(s->scratch, s->wall[PHASE_STEP], n * sizeof(double));
    mad    = stats_mad(s->scratch, s->scratch + n, n);
    median = s->scratch[n / 2]; /* sorted by stats_mad() */
    return 1.2533 * 1.4826 * mad / sqrt((double)n) <= stop->precision * median;
}

/* All ranks see the same times and therefore end together. */
static lm_status warm_up(const bench *b, const world *group, const setup *s, double *seconds,
                         lm_error *err)
{
    const stopping *stop = &b->plan->stop;
    double          once[2 * N_PHASES];
    lm_status       status = LM_OK;

    *seconds = 0;
    for (int64_t i = 0; i < stop->warmup && !status; i++) {
        if (stop->cut_seconds > 0 && *seconds >= stop->cut_seconds)
            break;
        status = repeat_once(b, group, s, NULL, once, err);
        *seconds += status ? 0 : once[PHASE_STEP];
    }
    return status;
}

static lm_status sample(const bench *b, const world *group, const setup *s, conditions *seen,
                        double warm, samples *out, lm_error *err)
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
        power_meter_look(b->power);
        for (phase p = 0; p < N_PHASES; p++) {
            out->wall[p][out->n] = once[p];
            out->cpu[p][out->n]  = once[N_PHASES + p];
        }
        out->n++;
        spent += once[PHASE_STEP];
        go_on = !enough(stop, out, warm, spent);
        world_broadcast(group, &go_on, sizeof go_on); /* all ranks stop together */
    }
    out->spent = spent;
    return LM_OK;
}

/* Untimed repetitions until power has settled. */
static lm_status go_on_for_power(const bench *b, const world *group, const setup *s, double spent,
                                 lm_error *err)
{
    int       go_on  = spent < b->plan->power_seconds;
    lm_status status = LM_OK;

    world_broadcast(group, &go_on, sizeof go_on);
    while (go_on && !status) {
        double once[2 * N_PHASES];

        if ((status = repeat_once(b, group, s, NULL, once, err)))
            break;
        power_meter_look(b->power);
        spent += once[PHASE_STEP];
        go_on = spent < b->plan->power_seconds && once[PHASE_STEP] > 0;
        world_broadcast(group, &go_on, sizeof go_on);
    }
    return status;
}

/* The mean over the ranks; NAN where one of them does not know. LM_E_NOMEM. */
static lm_status share_power(const world *group, double mine, double *out, lm_error *err)
{
    const int n      = world_size(group);
    double   *all    = malloc((size_t)n * sizeof *all);
    double    sum    = 0;
    lm_status status = world_agree(group, all ? LM_OK : no_memory(err), err);

    if (!status) {
        world_gather(group, &mine, sizeof mine, all);
        for (int r = 0; r < n; r++)
            sum += all[r];
        *out = sum / n;
    }
    free(all);
    return status;
}

/* Times the repetitions and judges the conditions of the machine. */
static lm_status sample_watched(const bench *b, const world *group, const setup *s, samples *times,
                                point_result *out, lm_error *err)
{
    const size_t       room = (size_t)b->plan->stop.max_repeats + 1;
    conditions         seen;
    condition_report   report;
    const observation *row = s->what.point;
    double             warm, watts;
    lm_status status = warm_up(b, group, s, &warm, err); /* only now do all threads exist */
    lm_status opened = conditions_open(&seen, b->compute, room, err);

    if (!status)
        status = world_agree(group, opened, err);
    power_meter_begin(b->power);
    if (!status)
        status = sample(b, group, s, &seen, warm, times, err);
    report       = conditions_close(&seen);
    out->spent   = times->spent;
    out->repeats = times->n;
    if (!status)
        trust_judge(b->trust, group, &report, out);
    if (!status && b->plan->power_seconds > 0)
        status = go_on_for_power(b, group, s, times->spent, err);
    watts = power_meter_end(b->power, (double)row->ranks / (double)row->hosts);
    return status ? status : share_power(group, watts, &out->power_w, err);
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

/* Is one of the kernels of a kind that computes something else than a CPU? */
static bool is_wrong(const bench *b, const setup *s)
{
    bool wrong = false;

    for (phase p = 0; p < N_PHASES && b->verified; p++)
        wrong |= verdicts_differ(b->verified, s->kernels.list[p].kernel, s->kernels.list[p].n,
                                 kernel_use_in(p, s->what.evaluation), &s->what.how);
    return wrong;
}

static void note_implementation(const bench *b, const setup *s, obs_kind kind, point_result *out)
{
    const bool     message = kind == OBS_COLLECTIVE;
    const backend *by      = message ? b->collective : b->compute;
    const void    *work    = message ? s->collective : s->compute;

    if ((message || kind == OBS_KERNEL) && work && by->type->implementation)
        snprintf(out->algorithm, sizeof out->algorithm, "%s", by->type->implementation(by, work));
}

lm_status harness_measure(const bench *b, const world *group, const sweep_point *point,
                          point_result *out, lm_error *err)
{
    setup     s     = { .compute = NULL };
    samples   times = { .n = 0 };
    lm_status mine;
    lm_status status = prepare(b, group, point, &s, &mine, err);

    *out = (point_result){ .status    = "ok",
                           .stretch   = NAN,
                           .clock_mhz = NAN,
                           .power_w   = NAN,
                           .again     = out->again,
                           .flags     = out->flags };
    if (status == LM_E_NOMEM || status == LM_E_UNSUPPORTED) {
        out->status = status == LM_E_NOMEM ? "skipped-memory" : "skipped-unsupported";
        snprintf(out->why, sizeof out->why, "%.199s", mine ? err->text : "another rank could not");
        status = LM_OK;
        goto out;
    }
    if (status) {
        if (!mine)
            lm_error_set(err, status, WORLD_ELSEWHERE);
        goto out;
    }
    note_implementation(b, &s, point->row.kind, out);
    if (s.compute && b->compute->type->on_tensor_cores &&
        b->compute->type->on_tensor_cores(b->compute, s.compute) < 0.5)
        out->flags |= FLAG_NO_TENSOR_CORES;
    if (is_wrong(b, &s))
        out->flags |= FLAG_WRONG_RESULT;
    if (has_phase(&s, PHASE_SYNC) && b->collective && b->collective->type->detours &&
        b->collective->type->detours(b->collective, &point->row))
        out->flags |= FLAG_SOCKET;
    if (!samples_alloc(&times, b->plan->stop.max_repeats + 1))
        status = no_memory(err);
    status = world_agree(group, status, err);
    if (!status)
        status = sample_watched(b, group, &s, &times, out, err);
    if (!status && s.what.evaluation)
        out->phase[PHASE_INFERENCE] = summarise(&times, PHASE_FORWARD);
    for (phase p = 0; p < N_PHASES && !status && !s.what.evaluation; p++)
        if (runner(b, &s, p) || (p == PHASE_STEP && point_is_counted(&point->row)))
            out->phase[p] = summarise(&times, p);
out:
    samples_free(&times);
    setup_free(b, &s);
    return status;
}
