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
#include "import/logs.h"
#include "import/profile.h"
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

/* Traces of profilers and logs of runs: rows that hold, or a refusal with the path. */
static bool check_profile(profile_reader *read, const char *path, bool metrics)
{
    static const extrap_name    region[] = { { KINETO_STEP, "resnet18" }, { "step", "resnet18" } };
    static const extrap_name    metric   = { "train/step_time", "step" };
    static const extrap_options given    = {
           .regions = { region, 2 }, .fixed = { .count = { [EXTRAP_BATCH] = 8, [EXTRAP_DEVICES] = 4 } }
    };
    extrap_options asked = given;
    log_rows       found = { 0 };
    lm_error       err   = { 0 };
    lm_status      status;

    if (metrics)
        asked.metrics = (extrap_names){ &metric, 1 };
    status = read(path, &asked, fuzz_types, &found, &err);
    if (status) {
        check_refusal(status, &err);
        check(!strncmp(err.text, path, strlen(path)));
    }
    for (size_t i = 0; i < found.n_rows; i++) {
        check(!observation_check(&found.row[i], &err));
        check(found.row[i].seconds > 0 && isfinite(found.row[i].seconds));
        check(found.row[i].ranks >= found.row[i].hosts && found.row[i].hosts >= 1);
    }
    log_rows_free(&found);
    return !status;
}

static bool fuzz_profile(profile_reader *read, const uint8_t *data, size_t size)
{
    memory_file f   = file_of(data, size);
    const bool  any = check_profile(read, f.path, size % 2);

    close(f.fd);
    return any;
}

bool fuzz_kineto(const uint8_t *data, size_t size)
{
    return fuzz_profile(kineto_read, data, size);
}

/* Table-driven, unlike the reader's own. */
static uint32_t masked_crc32c(const uint8_t *data, size_t n)
{
    static uint32_t table[256];
    uint32_t        crc = UINT32_MAX;

    for (uint32_t i = 0; i < 256 && !table[255]; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0x82f63b78 : 0);
    }
    for (size_t i = 0; i < n; i++)
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 255];
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* Gives the records of a file of events their checksums, so that what is in them is read. */
static void seal_records(uint8_t *data, size_t size)
{
    for (size_t at = 0, n; at + 16 <= size; at += 16 + n) {
        n = data[at] | (size_t)data[at + 1] << 8;
        memset(data + at + 2, 0, 6);
        if (n > size - at - 16)
            data[at] = (uint8_t)(n = (size - at - 16) & 255), data[at + 1] = 0;
        put_u32(data + at + 8, masked_crc32c(data + at, 8));
        put_u32(data + at + 12 + n, masked_crc32c(data + at + 12, n));
    }
}

bool fuzz_tensorboard(const uint8_t *data, size_t size)
{
    uint8_t *sealed = malloc(size + 1);
    bool     any    = fuzz_profile(tensorboard_read, data, size);

    check(sealed);
    memcpy(sealed, data, size);
    seal_records(sealed, size);
    any = fuzz_profile(tensorboard_read, sealed, size) || any;
    free(sealed);
    return any;
}

bool fuzz_wandb(const uint8_t *data, size_t size)
{
    return fuzz_profile(wandb_read, data, size);
}

/* SQLite opens what has a name of its own. */
bool fuzz_nsys(const uint8_t *data, size_t size)
{
    char      path[] = "/tmp/fuzz_nsys_XXXXXX";
    const int fd     = mkstemp(path);
    bool      any;

    check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    any = check_profile(nsys_read, path, false);
    unlink(path);
    return any;
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
