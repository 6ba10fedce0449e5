/* Logs of other tools, traces of devices, plans. */
#include "inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "epochs/epochs.h"
#include "import/extrap.h"
#include "import/kineto.h"
#include "import/logs.h"
#include "trace/power_log.h"
#include "trace/trace.h"
#include "watch/plan.h"

/* Logs of other tools: what is taken from them are times of something. */
bool fuzz_logs(const uint8_t *data, size_t size)
{
    static const log_options given = { .ranks = 8, .hosts = 2 };
    static const log_options two   = { .ranks = 2, .hosts = 1 }; /* as osu_latency needs them */
    static const log_options told  = { .ranks = 8, .hosts = 2, .kind = "alltoall" };
    static const log_options nothing;
    memory_file              f     = file_of(data, size);
    log_rows                 found = { 0 };
    lm_error                 err   = { 0 };
    lm_status                status;
    bool                     any;

    if ((status = log_read_osu(f.path, &given, &found, &err)))
        check_refusal(status, &err);
    if ((status = log_read_osu(f.path, &two, &found, &err)))
        check_refusal(status, &err);
    if ((status = log_read_nccl_tests(f.path, &told, &found, &err)))
        check_refusal(status, &err);
    if ((status = log_read_nccl_tests(f.path, size % 2 ? &given : &nothing, &found, &err)))
        check_refusal(status, &err);
    close(f.fd);
    for (size_t i = 0; i < found.n_rows; i++)
        check(found.row[i].seconds > 0 && isfinite(found.row[i].seconds) &&
              found.row[i].bytes > 0 && found.row[i].ranks > 0 && found.row[i].hosts > 0 &&
              found.row[i].dtype && observation_collective(&found.row[i]) < N_COLLECTIVE_KINDS);
    any = found.n_rows > 0;
    log_rows_free(&found);
    return any;
}

/* What is written is read again, as many rows of as many points. */
static void check_exported(const observation *row, size_t n)
{
    static const extrap_options plain;
    char                       *text  = NULL;
    size_t                      size  = 0;
    FILE                       *out   = open_memstream(&text, &size);
    log_rows                    again = { 0 };
    lm_error                    err   = { 0 };
    lm_status                   status;
    memory_file                 f;

    check(out);
    if ((status = extrap_write(row, n, EXTRAP_TEXT, "fuzz", out, &err)))
        check_refusal(status, &err);
    check(!fclose(out));
    if (!status) {
        f = file_of((const uint8_t *)text, size);
        if (extrap_read(f.path, &plain, &again, &err)) {
            fprintf(stderr, "%s\n%s", err.text, text);
            abort();
        }
        close(f.fd);
        check(again.n_rows >= 1 && again.n_rows <= n);
        check(again.row[0].kind == row[0].kind);
    }
    log_rows_free(&again);
    free(text);
}

/* Extra-P's text format; what is taken from it are observations. */
bool fuzz_extrap(const uint8_t *data, size_t size)
{
    static const extrap_name    p     = { "p", "nodes" };
    static const extrap_options plain = { 0 };
    static const extrap_options given = {
        .parameters = { &p, 1 }, .fixed = { .count = { [EXTRAP_BATCH] = 8, [EXTRAP_DEVICES] = 4 } }
    };
    const extrap_options *options = size % 2 ? &given : &plain;
    memory_file           f       = file_of(data, size);
    log_rows              found   = { 0 };
    lm_error              err     = { 0 };
    lm_status             status  = extrap_read(f.path, options, &found, &err);
    size_t                n       = 0;

    close(f.fd);
    if (status)
        check_refusal(status, &err);
    for (size_t i = 0; i < found.n_rows; i++) {
        const observation *row = &found.row[i];

        check(!observation_check(row, &err));
        check(row->seconds > 0 && isfinite(row->seconds));
        check(row->ranks >= row->hosts && row->hosts >= 1);
    }
    while (!status && n < found.n_rows && found.row[n].kind == found.row[0].kind)
        n++;
    if (n)
        check_exported(found.row, n);
    log_rows_free(&found);
    return !status;
}

/* Traces of PyTorch's profiler: rows that hold, or a refusal with the path. */
bool fuzz_kineto(const uint8_t *data, size_t size)
{
    static const extrap_name    step  = { KINETO_STEP, "resnet18" };
    static const extrap_options given = {
        .regions = { &step, 1 }, .fixed = { .count = { [EXTRAP_BATCH] = 8, [EXTRAP_DEVICES] = 4 } }
    };
    memory_file f      = file_of(data, size);
    log_rows    found  = { 0 };
    lm_error    err    = { 0 };
    lm_status   status = kineto_read(f.path, &given, &found, &err);

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        check(!strncmp(err.text, f.path, strlen(f.path)));
    }
    for (size_t i = 0; i < found.n_rows; i++) {
        check(!observation_check(&found.row[i], &err));
        check(found.row[i].seconds > 0 && isfinite(found.row[i].seconds));
        check(found.row[i].ranks >= found.row[i].hosts && found.row[i].hosts >= 1);
    }
    log_rows_free(&found);
    return !status;
}

/* Epochs lie one behind the other within the trace. */
static void check_epochs(const trace_gpu_series *g)
{
    trace_grid grid;
    lm_error   err    = { 0 };
    lm_status  status = trace_grid_of(g, &grid, &err);

    if (status) {
        check_refusal(status, &err);
        return;
    }
    check(grid.n <= 5 * g->n + 2 && grid.step > 0);
    for (int m = 0; m < N_EPOCHS_METHODS; m++) {
        epochs *e = NULL;

        if ((status = epochs_find((epochs_method)m, &grid, &e, &err))) {
            check_refusal(status, &err);
            continue;
        }
        for (size_t i = 0; i < e->n; i++) {
            check(isfinite(e->epoch[i].start) && e->epoch[i].length > 0);
            check(!i || e->epoch[i].start > e->epoch[i - 1].start);
        }
        check(isnan(e->steady) || e->steady > 0);
        epochs_free(e);
    }
    trace_grid_free(&grid);
}

bool fuzz_trace(const uint8_t *data, size_t size)
{
    static const trace_question timed  = { .interval = 0.1 };
    memory_file                 f      = file_of(data, size);
    trace                      *t      = NULL;
    lm_error                    err    = { 0 };
    lm_status                   status = trace_load(f.path, &timed, &t, &err);

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        check(!strncmp(err.text, f.path, strlen(f.path)));
        return false;
    }
    for (size_t i = 0; i < t->n_gpus; i++) {
        const trace_gpu_series *g = &t->gpu[i];

        for (size_t k = 0; k < g->n; k++)
            check(isfinite(g->time[k]) && (!k || g->time[k] >= g->time[k - 1]));
        if (g->n)
            check_epochs(g);
    }
    trace_free(t);
    return true;
}

/* A mean lies among what it is of, which is no longer than the log. */
bool fuzz_power_log(const uint8_t *data, size_t size)
{
    static const trace_question timed  = { .interval = 0.1 };
    memory_file                 f      = file_of(data, size);
    power_log                   log    = { .n = 0 };
    lm_error                    err    = { 0 };
    lm_status                   status = power_log_read(f.path, &timed, &log, &err);

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        check(!strncmp(err.text, f.path, strlen(f.path)));
        return false;
    }
    for (size_t i = 0; i < log.n; i++) {
        const power_mean *m = &log.gpu[i].mean;

        check(isfinite(m->watts) && m->watts <= 3e4 && m->seconds > 0);
        check(m->deviation >= 0 && m->ramp_seconds >= 0 && m->tail_seconds >= 0);
        check(m->pieces >= 1 && m->pieces + m->strange < log.gpu[i].samples);
    }
    power_log_free(&log);
    return true;
}

/* Times are above 0, in their interval if they have one. */
bool fuzz_watch_plan(const uint8_t *data, size_t size)
{
    memory_file f      = file_of(data, size);
    watch_plan  p      = { .question = "" };
    lm_error    err    = { 0 };
    lm_status   status = watch_plan_load(f.path, NULL, &p, &err);

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        check(!strncmp(err.text, f.path, strlen(f.path)));
        return false;
    }
    check(p.step.expected > 0 && p.epoch.expected > 0);
    check(!(p.step.low > p.step.high) && !(p.epoch.low > p.epoch.high));
    check(p.nodes > 0 && p.devices > 0 && p.batch > 0 && p.steps > 0);
    return true;
}
