/* The native step beside its parts, in one process and in turns, so that all meet the same machine.
 *
 *   step SECONDS NETWORK IMAGE BATCH
 *
 * Prints CSV. On one rank: the step against the sum of its phases run one by one; and what the
 * kernels of the backward pass write as gradients against what the network's tensors have. On
 * several: the all-reduce of one message behind the backward pass against what is left of it behind
 * a backward pass with buckets, moved on by polling and by a thread, with both steps. Times are
 * medians in ms of the slowest rank; `worth` is the step with one message over that with buckets.
 */
#include <stdio.h>

#include "../../calibrate/backends/onednn/onednn.c" /* for what its work holds */
#include "base/stats.h"
#include "layers/loader.h"
#include "network/metrics.h"
#include "measure/step.h"

#define MAX 400 /* repetitions */

/* A way to run a step. */
typedef struct way {
    int64_t     bucket_bytes; /* 0: one message behind the backward pass; -1: no exchange */
    uint8_t     progress;
    bool        phases; /* one by one */
    native_step step;
    double      sync[MAX],
        all[MAX]; /* sync, on one rank: CPU time, which other processes disturb less */
} way;

typedef struct subject {
    const world  *group;
    backend      *compute, *collective;
    void         *work, *message;
    bench_case    what;
    observation   point;
    net_metrics   counts;
    kernel_list   list[N_PHASES];
    gradient_list gradients;
} subject;

static lm_status list_kernels(subject *s, const registry *reg, const char *name, int64_t image,
                              int64_t batch, lm_error *err)
{
    const bind_options with  = { .batch = batch, .dtype = LM_F32, .image = image };
    network           *net   = NULL;
    bound_network     *bound = NULL;
    lm_status          status;

    if ((status = network_open(name, reg, NULL, &net, err)) ||
        (status = bind_network(net, reg, &with, &bound, err)) ||
        (status = metrics_of_network(bound, NULL, &s->counts, err)) ||
        (status = kernels_forward(bound, &s->list[PHASE_FORWARD], err)) ||
        (status = kernels_backward(bound, &s->list[PHASE_BACKWARD], err)) ||
        (status = kernels_update(bound, OPTIMIZER_MOMENTUM, &s->list[PHASE_UPDATE], err)))
        return status;
    status = kernels_gradients(bound, &s->gradients, err);
    bound_network_free(bound);
    network_free(net);
    return status;
}

static lm_status prepare_subject(subject *s, lm_error *err)
{
    lm_status status;

    s->point           = (observation){ .kind = OBS_NETWORK, .ranks = world_size(s->group) };
    s->point.algorithm = "default";
    s->what            = (bench_case){ .point       = &s->point,
                                       .group       = s->group,
                                       .metrics     = &s->counts,
                                       .gradients   = s->gradients.gradient,
                                       .n_gradients = s->gradients.n };
    for (phase p = 0; p < N_PHASES; p++) {
        s->what.kernels[p]   = s->list[p].kernel;
        s->what.n_kernels[p] = s->list[p].n;
    }
    status = s->compute->type->prepare(s->compute, &s->what, &s->work, err);
    if (!status && world_size(s->group) > 1)
        status = s->collective->type->prepare(s->collective, &s->what, &s->message, err);
    return status;
}

static lm_status prepare_way(subject *s, way *w, lm_error *err)
{
    lm_status status;

    if (w->bucket_bytes < 1)
        return LM_OK;
    s->point.bucket_bytes               = w->bucket_bytes;
    s->what.how.value[SETTING_PROGRESS] = w->progress;
    status = step_make_buckets(&w->step, s->compute, s->work, &s->what, err);
    return status ? status : step_prepare(&w->step, s->collective, &s->what, err);
}

/* Phase by phase, as the harness does. On one rank *first becomes the CPU time, else the
 * all-reduce's time. */
static lm_status run_phases(subject *s, bool sync, double *first, double *all, lm_error *err)
{
    backend_time t;
    lm_status    status = LM_OK;

    *first = *all = 0;
    for (size_t i = 0; i < N_SERVED && !status; i++) {
        if (phases[i] == PHASE_UPDATE && sync) {
            world_barrier(s->group);
            status = s->collective->type->run(s->collective, s->message, PHASE_SYNC, &t, err);
            *first = t.wall;
            *all += t.wall;
        }
        if (!status)
            status = s->compute->type->run(s->compute, s->work, phases[i], &t, err);
        *all += t.wall;
        *first += sync ? 0 : t.cpu;
    }
    return status;
}

static lm_status run_way(subject *s, way *w, size_t i, lm_error *err)
{
    double    out[2 * N_PHASES] = { 0 }, time[2] = { 0 };
    step_time t;
    lm_status status;

    world_barrier(s->group);
    if (w->phases) {
        status = run_phases(s, w->bucket_bytes == 0, &time[0], &time[1], err);
    } else if (w->bucket_bytes > 0) {
        status  = step_run(&w->step, s->compute, s->work, out, err);
        time[0] = out[PHASE_SYNC];
        time[1] = out[PHASE_STEP];
    } else {
        status  = s->compute->type->run_step(s->compute, s->work, NULL, &t, err);
        time[0] = t.forward.cpu + t.backward.cpu + t.update.cpu;
        time[1] = t.forward.wall + t.backward.wall + t.update.wall;
    }
    world_max(s->group, time, 2);
    w->sync[i] = time[0];
    w->all[i]  = time[1];
    return status;
}

/* The ways in turns, the first of them taking turns as well. */
static lm_status run_all(subject *s, way *list, size_t n, double seconds, size_t *repetitions,
                         lm_error *err)
{
    double    spent  = 0;
    int       go_on  = 1;
    size_t    r      = 0;
    lm_status status = LM_OK;

    for (size_t i = 0; i < n && !status; i++)
        status = run_way(s, &list[i], 0, err);
    for (; go_on && !status; r++) {
        for (size_t i = 0; i < n && !status; i++) {
            const size_t at = (i + r) % n;

            status = run_way(s, &list[at], r, err);
            spent += list[at].all[r];
        }
        go_on = r + 1 < MAX && (r + 1 < 3 || spent < seconds * (double)n);
        world_broadcast(s->group, &go_on, sizeof go_on);
    }
    *repetitions = r;
    return status;
}

static double median(double *value, size_t n)
{
    return 1e3 * stats_quantile(value, n, 0.5);
}

static lm_status alone(subject *s, const char *name, double seconds, lm_error *err)
{
    static way         list[2] = { { .bucket_bytes = -1, .phases = true }, { .bucket_bytes = -1 } };
    const onednn_work *w       = s->work;
    size_t             n;
    lm_status          status = run_all(s, list, 2, seconds, &n, err);

    if (status)
        return status;
    printf(
        "network,repetitions,phases_ms,step_ms,step_over_phases,least_over_least,cpu_over_cpu,message_bytes,"
        "kernels_write_bytes\n");
    printf("%s,%zu,%.3f,%.3f,", name, n, median(list[0].all, n), median(list[1].all, n));
    printf("%.4f,%.4f,%.4f,%llu,%llu\n", median(list[1].all, n) / median(list[0].all, n),
           list[1].all[0] / list[0].all[0], median(list[1].sync, n) / median(list[0].sync, n),
           (unsigned long long)s->counts.param_bytes,
           (unsigned long long)plan_gradients_written(&w->plan));
    return LM_OK;
}

static lm_status together(subject *s, const char *name, double seconds, lm_error *err)
{
    static way list[] = { { .bucket_bytes = 0, .phases = true },      { .bucket_bytes = 1 << 20 },
                          { .bucket_bytes = 1 << 20, .progress = 1 }, { .bucket_bytes = 4 << 20 },
                          { .bucket_bytes = 4 << 20, .progress = 1 }, { .bucket_bytes = 25 << 20 },
                          { .bucket_bytes = 25 << 20, .progress = 1 } };
    enum { N = sizeof list / sizeof list[0] };
    size_t    n      = 0;
    lm_status status = LM_OK;

    for (size_t i = 0; i < N && !status; i++)
        status = prepare_way(s, &list[i], err);
    if (!status)
        status = run_all(s, list, N, seconds, &n, err);
    for (size_t i = 0; i < N && !status && world_rank(s->group) == 0; i++) {
        way *w = &list[i];

        if (i == 0)
            printf("network,ranks,bucket_bytes,buckets,progress,repetitions,sync_ms,hidden,step_ms,"
                   "worth\n");
        printf("%s,%d,%lld,%zu,%s,%zu,", name, world_size(s->group), (long long)w->bucket_bytes,
               i ? w->step.sync.n_buckets : 1,
               i == 0        ? "none"
               : w->progress ? "thread"
                             : "poll",
               n);
        printf("%.3f,%.3f,", median(w->sync, n), 1 - median(w->sync, n) / median(list[0].sync, n));
        printf("%.3f,%.3f\n", median(w->all, n), median(list[0].all, n) / median(w->all, n));
    }
    for (size_t i = 0; i < N; i++)
        step_release(&list[i].step);
    return status;
}

int main(int argc, char **argv)
{
    backend_config config = { .threads = 1 };
    world         *group  = NULL;
    registry      *reg    = NULL;
    subject        s      = { .work = NULL };
    lm_error       err    = { LM_OK, "" };
    lm_status      status;

    if (argc != 5 || world_open(&argc, &argv, &group, &err))
        return 2;
    s.group = config.world = group;
    status                 = registry_new(&reg, &err);
    if (!status)
        status = loader_open_all(reg, NULL, 0, &err);
    if (!status)
        status = backend_onednn.open(&config, &s.compute, &err);
    if (!status)
        status = backend_mpi.open(&config, &s.collective, &err);
    if (!status)
        status = list_kernels(&s, reg, argv[2], atoll(argv[3]), atoll(argv[4]), &err);
    if (!status)
        status = prepare_subject(&s, &err);
    if (!status)
        status = world_size(group) > 1 ? together(&s, argv[2], atof(argv[1]), &err)
                                       : alone(&s, argv[2], atof(argv[1]), &err);
    if (status)
        fprintf(stderr, "rank %d: %s\n", world_rank(group), err.text);
    world_close(group, status != LM_OK);
}
