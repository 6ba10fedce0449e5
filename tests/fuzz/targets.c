/* What each parser must hold to, whatever it is given. */
#define _GNU_SOURCE /* memfd_create() */
#include "targets.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/ini.h"
#include "base/text.h"
#include "baselines/justus.h"
#include "baselines/layerwise_model.h"
#include "crossgpu/crossgpu_file.h"
#include "devices/device.h"
#include "epochs/epochs.h"
#include "fit/layer_watts.h"
#include "fit/fit.h"
#include "import/extrap.h"
#include "import/logs.h"
#include "layers/loader.h"
#include "learn/learner.h"
#include "network/kernels.h"
#include "network/metrics.h"
#include "network/onnx/onnx.h"
#include "network/paleo/paleo.h"
#include "network/write.h"
#include "plan/prices.h"
#include "report/extrap.h"
#include "single/learned.h"
#include "single/operator_residual.h"
#include "import/power_log.h"
#include "trace/trace.h"
#include "watch/plan.h"
#ifdef FUZZ_SWEEP
#include "sweep/sweep.h"
#endif

/* More layers than this are parsed, but not bound: that is slow and no parser. */
#define LAYERS_MAX 3000

static registry *types;

#define check(condition)                            \
    do {                                            \
        if (!(condition))                           \
            broken(#condition, __FILE__, __LINE__); \
    } while (0)

static void broken(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

/* A refusal has a code and says why, in one line. */
static void check_refusal(lm_status status, const lm_error *err)
{
    check(status < 0);
    check(err->code == status);
    check(err->text[0]);
    check(!strpbrk(err->text, "\r\n"));
}

void fuzz_open(void)
{
    lm_error err = { 0 };

    if (registry_new(&types, &err) || loader_open_all(types, NULL, 0, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
}

void fuzz_close(void)
{
    registry_free(types);
}

static char *as_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    check(text);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* A file in memory, under a path that can be opened as often as needed. */
typedef struct memory_file {
    int  fd;
    char path[40];
} memory_file;

static memory_file file_of(const uint8_t *data, size_t size)
{
    memory_file f = { .fd = memfd_create("fuzz", MFD_CLOEXEC) };

    check(f.fd >= 0);
    while (size > 0) {
        const ssize_t n = write(f.fd, data, size);

        check(n > 0);
        data += n;
        size -= (size_t)n;
    }
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
    return f;
}

/* ---- texts --------------------------------------------------------------------------------------
 */

static bool fuzz_list(const char *text, text_int_parser parse)
{
    lm_error  err    = { 0 };
    int64_t  *list   = NULL;
    size_t    n      = 0;
    lm_status status = text_list(text, parse, &list, &n, &err);

    if (status) {
        check_refusal(status, &err);
        check(!list);
        return false;
    }
    check(n >= 1 && n <= 100000);
    for (size_t i = 0; i < n; i++)
        check(list[i] >= 1);
    free(list);
    return true;
}

static bool fuzz_text(const uint8_t *data, size_t size)
{
    char     *text = as_text(data, size), *item[8], *copy;
    char      buffer[64];
    int64_t   number = -7, dim[LM_MAX_RANK];
    uint64_t  count;
    int32_t   dtype;
    double    real, again;
    bool      yes;
    size_t    n   = 0;
    lm_error  err = { 0 };
    lm_status status;

    bool accepted = fuzz_list(text, text_int);

    accepted |= fuzz_list(text, text_bytes);
    for (size_t max = 1; max <= LM_MAX_RANK; max += LM_MAX_RANK - 1) {
        if ((status = text_shape(text, dim, max, &n, &err)))
            check_refusal(status, &err);
        else
            check(n >= 1 && n <= max);
        for (size_t i = 0; !status && i < n; i++)
            check(dim[i] >= 1);
    }
    if ((status = text_int(text, &number, &err))) {
        check_refusal(status, &err);
        check(number == -7);
    }
    if ((status = text_uint(text, &count, &err)))
        check_refusal(status, &err);
    else
        text_grouped(count, buffer, sizeof buffer);
    if ((status = text_bytes(text, &number, &err)))
        check_refusal(status, &err);
    else
        check(number >= 0);
    if ((status = text_seconds(text, &real, &err)))
        check_refusal(status, &err);
    else
        check(isfinite(real) && real >= 0);
    if ((status = text_quantity(text, "W", &real, &err)))
        check_refusal(status, &err);
    else
        check(isfinite(real));
    if ((status = text_rate(text, &real, &err)))
        check_refusal(status, &err);
    else
        check(isfinite(real));
    if ((status = text_bool(text, &yes, &err)))
        check_refusal(status, &err);
    if ((status = text_dtype(text, &dtype, &err)))
        check_refusal(status, &err);
    else
        check(!strcmp(text_dtype_name(dtype), text));
    if ((status = text_real(text, &real, &err))) {
        check_refusal(status, &err);
    } else {
        check(isfinite(real));
        check(!text_real(text_exact(real, buffer, sizeof buffer), &again, NULL) && again == real);
        text_si(real, buffer, sizeof buffer);
    }
    text_distance(text, "adaptive_avg_pool2d", 2);
    copy = as_text(data, size);
    n    = text_split(copy, ',', item, 8);
    check(n >= 1 && n <= 8);
    for (size_t i = 0; i < n; i++)
        check(item[i] >= copy && item[i] + strlen(item[i]) <= copy + strlen(text));
    free(copy);
    free(text);
    return accepted;
}

/* The first byte chooses op and pass. What is read can be written and read again. */
static bool fuzz_geometry(const uint8_t *data, size_t size)
{
    static const char *const name[] = { "opaque", "gemm",    "conv",   "pool", "map",
                                        "norm",   "softmax", "gather", "copy", "allreduce" };
    lm_kernel                k      = { .size = sizeof k, .dtype = LM_F32, .repeat = 1 }, again;
    lm_error                 err    = { 0 };
    char                     printed[512], twice[512], *text;
    lm_status                status;

    if (!size)
        return false;
    check(!kernel_op_parse(name[data[0] % 10], &k.op, &err));
    k.pass = data[0] / 10 % LM_N_PASSES;
    again  = k;
    text   = as_text(data + 1, size - 1);
    status = kernel_parse_geometry(text, &k, &err);
    free(text);
    if (status) {
        check_refusal(status, &err);
        check(!memcmp(&k, &again, sizeof k));
        return false;
    }
    lm_kernel_work(&k);
    kernel_print_geometry(&k, printed, sizeof printed);
    check(!kernel_parse_geometry(printed, &again, &err));
    check(!strcmp(kernel_print_geometry(&again, twice, sizeof twice), printed));
    return true;
}

/* ---- files --------------------------------------------------------------------------------------
 */

static bool fuzz_ini(const uint8_t *data, size_t size)
{
    char         *text   = as_text(data, size);
    ini_document *doc    = NULL;
    lm_error      err    = { 0 };
    lm_status     status = ini_load_text("fuzz.ini", text, &doc, &err);
    int           line   = 0;

    free(text);
    if (status) {
        check_refusal(status, &err);
        check(!strncmp(err.text, "fuzz.ini:", 9));
        return false;
    }
    for (size_t i = 0; i < doc->n_sections; i++) {
        const ini_section *s = &doc->section[i];

        check(s->line > line);
        line = s->line;
        check(ini_find(doc, s->name) == s);
        for (size_t k = 0; k < s->n_pairs; k++) {
            check(s->pair[k].line > line);
            line = s->pair[k].line;
            check(*s->pair[k].key && ini_get(s, s->pair[k].key) == &s->pair[k]);
        }
    }
    ini_free(doc);
    return true;
}

/* What is read can be written and read again. */
static void check_record(char *const field[], size_t n)
{
    char      *written = NULL, *again[CSV_MAX_COLUMNS];
    size_t     size    = 0, n_again;
    FILE      *out     = open_memstream(&written, &size);
    csv_reader csv;
    lm_error   err = { 0 };

    check(out);
    for (size_t i = 0; i < n; i++) {
        csv_put(out, field[i]);
        putc(i + 1 < n ? ',' : '\n', out);
    }
    check(!fclose(out));
    csv_open(&csv, "again", written);
    check(!csv_record(&csv, again, &n_again, &err));
    check(n_again == n);
    for (size_t i = 0; i < n; i++)
        check(!strcmp(field[i], again[i]));
    free(written);
}

static bool fuzz_csv(const uint8_t *data, size_t size)
{
    char       *text = as_text(data, size), *field[CSV_MAX_COLUMNS];
    const char *end  = text + strlen(text);
    csv_reader  csv;
    size_t      n;
    lm_error    err  = { 0 };
    int         line = 0;
    lm_status   status;

    csv_open(&csv, "fuzz.csv", text);
    for (char *comment; (comment = csv_comment(&csv));)
        check(comment <= end && csv.line == ++line);
    while (!(status = csv_record(&csv, field, &n, &err)) && n) {
        check(n <= CSV_MAX_COLUMNS && csv.line > line && csv.next <= end);
        line = csv.line;
        for (size_t i = 0; i < n; i++)
            check(field[i] >= text && field[i] + strlen(field[i]) <= end);
        /* one empty field is an empty line; a byte order mark is dropped at the start */
        if ((n > 1 || *field[0]) && strncmp(field[0], "\xEF\xBB\xBF", 3))
            check_record(field, n);
    }
    if (status)
        check_refusal(status, &err);
    free(text);
    return !status;
}

static bool fuzz_network(const uint8_t *data, size_t size)
{
    const bind_options options = { .batch = 2, .dtype = LM_F32 };
    memory_file        f       = file_of(data, size);
    network           *net     = NULL;
    bound_network     *bound   = NULL;
    kernel_list        list    = { NULL, 0, 0 };
    net_metrics        m;
    lm_error           err    = { 0 };
    lm_status          status = network_load(f.path, NULL, &net, &err);

    close(f.fd);
    if (!status) {
        check(net->n_layers >= 1 && net->name);
        for (size_t i = 0; i < net->n_layers; i++) {
            check(*net->layer[i].name);
            for (size_t k = 0; k < net->layer[i].n_inputs; k++)
                check(net->layer[i].input[k].layer < i);
        }
    }
    if (!status && net->n_layers <= LAYERS_MAX) {
        status = bind_network(net, types, &options, &bound, &err);
        if (!status)
            status = metrics_of_network(bound, NULL, &m, &err);
        if (!status)
            status = kernels_forward(bound, &list, &err);
        if (!status)
            status = kernels_backward(bound, &list, &err);
        if (!status)
            status = kernels_update(bound, OPTIMIZER_MOMENTUM, &list, &err);
        for (size_t i = 0; !status && i < list.n; i++)
            lm_kernel_work(&list.kernel[i]);
    }
    if (status)
        check_refusal(status, &err);
    kernel_list_free(&list);
    bound_network_free(bound);
    network_free(net);
    return !status;
}

/* What is imported can be written and read again, with as many layers. */
static void check_written(const network *net)
{
    char       *text  = NULL;
    size_t      size  = 0;
    FILE       *out   = open_memstream(&text, &size);
    network    *again = NULL;
    memory_file f;
    lm_error    err = { 0 };

    check(out && !network_write(net, "fuzz", out, &err));
    check(!fclose(out));
    f = file_of((const uint8_t *)text, size);
    if (network_load(f.path, NULL, &again, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    check(again->n_layers == net->n_layers);
    network_free(again);
    close(f.fd);
    free(text);
}

static bool fuzz_import(const uint8_t *data, size_t size,
                        lm_status (*load)(const char *path, const registry *reg,
                                          const network_choices *choices, network **out,
                                          lm_error *err))
{
    const bind_options options = { .batch = 2, .dtype = LM_F32 };
    memory_file        f       = file_of(data, size);
    network           *net     = NULL;
    bound_network     *bound   = NULL;
    lm_error           err     = { 0 };
    lm_status          status  = load(f.path, types, NULL, &net, &err);

    close(f.fd);
    if (!status && net->n_layers <= LAYERS_MAX) {
        check_written(net);
        status = bind_network(net, types, &options, &bound, &err);
    }
    if (status)
        check_refusal(status, &err);
    bound_network_free(bound);
    network_free(net);
    return !status;
}

static bool fuzz_paleo(const uint8_t *data, size_t size)
{
    return fuzz_import(data, size, paleo_load);
}

static bool fuzz_onnx(const uint8_t *data, size_t size)
{
    return fuzz_import(data, size, onnx_load);
}

/* A machine file that is written can be read, and says the same. */
static void check_saved(const calibration *cal)
{
    char         folder[] = "/tmp/layermeter-fuzz-XXXXXX", path[80];
    calibration *again    = NULL;
    lm_error     err      = { 0 };
    lm_status    status;

    check(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/machine.ini", folder);
    if ((status = calibration_save(cal, path, &err))) { /* of times that nothing takes */
        check_refusal(status, &err);
        check(!rmdir(folder));
        return;
    }
    if (calibration_load(path, &again, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    unlink(path);
    check(!rmdir(folder)); /* and nothing else in it */
    for (size_t f = 0; f < n_forms; f++) {
        check(cal->fitted[f].present == again->fitted[f].present);
        for (size_t k = 0; cal->fitted[f].present && k < forms[f].n_features; k++) {
            const coefficient *a = &cal->fitted[f].coefficient[k],
                              *b = &again->fitted[f].coefficient[k];

            check(a->value == b->value && a->determined == b->determined &&
                  a->at_bound == b->at_bound);
        }
    }
    calibration_free(again);
}

/* Logs of other tools: what is taken from them are times of something. */
static bool fuzz_logs(const uint8_t *data, size_t size)
{
    static const log_options given = { .ranks = 8, .hosts = 2 };
    static const log_options nothing;
    memory_file              f     = file_of(data, size);
    log_rows                 found = { 0 };
    lm_error                 err   = { 0 };
    lm_status                status;
    bool                     any;

    if ((status = log_read_osu(f.path, &given, &found, &err)))
        check_refusal(status, &err);
    if ((status = log_read_nccl_tests(f.path, size % 2 ? &given : &nothing, &found, &err)))
        check_refusal(status, &err);
    close(f.fd);
    for (size_t i = 0; i < found.n_rows; i++)
        check(found.row[i].seconds > 0 && isfinite(found.row[i].seconds) &&
              found.row[i].bytes > 0 && found.row[i].ranks > 0 && found.row[i].hosts > 0 &&
              found.row[i].dtype);
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
static bool fuzz_extrap(const uint8_t *data, size_t size)
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

/* What a machine says of all-reduces: no time, or one that is the sum of its shares. */
static void check_allreduces(const calibration *cal)
{
    for (int64_t nodes = 1; nodes <= 4096; nodes *= 8)
        for (int64_t devices = 1; devices <= 8; devices *= 2) {
            const allreduce  a   = { 3e6, nodes, devices };
            const double     t   = calibration_allreduce(cal, "counts", &a);
            double           sum = 0;
            allreduce_answer found;
            lm_error         err = { 0 };
            lm_status        status;

            if (!calibration_asks(cal, "counts"))
                continue;
            if ((status = calibration_ask(cal, &a, &found, &err))) {
                check_refusal(status, &err);
                check(isnan(t));
                continue;
            }
            for (size_t i = 0; i < found.n; i++)
                sum += found.share[i].seconds;
            check(found.n <= ALLREDUCE_SHARES && found.n_beyond <= ALLREDUCE_NOTES);
            check(isinf(t) || fabs(sum - t) <= 1e-9 * t);
        }
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

static bool fuzz_trace(const uint8_t *data, size_t size)
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
static bool fuzz_power_log(const uint8_t *data, size_t size)
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

/* Loads anywhere draw no more than the limit, and something. */
static void check_power(const power_model *m)
{
    static const power_load loads[] = { { { 1, 0, 0 } }, { { 0, 1, 0 } }, { { 0, 0, 1 } },
                                        { { 0.4, 0.3, 0.3 } } };

    for (size_t i = 0; power_known(m) && i < sizeof loads / sizeof loads[0]; i++) {
        const power_state s = power_usual(m, &loads[i]);

        check(s.watts >= 0 && !(s.watts > m->cap_w * (1 + 1e-9)));
        check(!power_clocks_known(m) || s.mhz <= m->top_mhz * (1 + 1e-9));
    }
}

/* Times are above 0, in their interval if they have one. */
static bool fuzz_watch_plan(const uint8_t *data, size_t size)
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

static bool fuzz_machine(const uint8_t *data, size_t size)
{
    memory_file  f      = file_of(data, size);
    calibration *cal    = NULL;
    lm_error     err    = { 0 };
    lm_status    status = calibration_load(f.path, &cal, &err);

    close(f.fd);
    if (status)
        check_refusal(status, &err);
    else
        check_allreduces(cal);
    if (!status && cal->power)
        check_power(cal->power);
    calibration_free(cal);
    return !status;
}

static bool fuzz_devices(const uint8_t *data, size_t size)
{
    memory_file   f      = file_of(data, size);
    device_list  *list   = NULL;
    const device *found  = NULL;
    lm_error      err    = { 0 };
    lm_status     status = devices_load(f.path, &list, &err);

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    for (size_t i = 0; i < list->n; i++) {
        check(!devices_find(list, list->device[i].name, &found, &err) && found == &list->device[i]);
        for (int k = 0; k < N_DEVICE_FIGURES; k++)
            check(isnan(found->figure[k]) || (isfinite(found->figure[k]) && found->figure[k] > 0));
    }
    if ((status = devices_find(list, "anything", &found, &err)))
        check_refusal(status, &err);
    devices_free(list);
    return true;
}

static bool fuzz_prices(const uint8_t *data, size_t size)
{
    memory_file  f      = file_of(data, size);
    price_list  *list   = NULL;
    const price *found  = NULL;
    lm_error     err    = { 0 };
    lm_status    status = prices_load(f.path, &list, &err);
    money        hour;

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    for (size_t i = 0; i < list->n; i++) {
        if ((status = prices_find(list, list->price[i].name, &found, &err)))
            check_refusal(status, &err); /* a name without letters is none */
        for (price_tier t = PRICE_LIST; t < N_PRICE_TIERS; t++) {
            if ((status = price_of_node(&list->price[i], t, 1, &hour, &err)))
                check_refusal(status, &err);
            else
                check(isfinite(hour.amount) && hour.amount > 0 && currency_known(hour.currency));
        }
    }
    for (size_t i = 0; i < list->rates.n; i++) {
        const exchange_rate *r = &list->rates.rate[i];

        check(!exchange_to(&list->rates, &(money){ 1, "USD" }, "USD", &hour, &err));
        if ((status = exchange_to(&list->rates, &r->worth, r->of, &hour, &err)))
            check_refusal(status, &err);
    }
    prices_free(list);
    return true;
}

static void check_fit(const observations *obs)
{
    workloads   *loads  = NULL;
    points       p      = { 0 };
    calibration *cal    = NULL;
    lm_error     err    = { 0 };
    lm_status    status = workloads_new(types, &loads, &err);

    if (!status)
        status = points_from(obs, loads, &p, &err);
    if (!status)
        status = fit_all(obs, &p, &cal, &err);
    if (status)
        check_refusal(status, &err);
    else
        check_saved(cal);
    calibration_free(cal);
    points_free(&p);
    workloads_free(loads);
}

/* What is read can be written and read again. */
static void check_rows(const observations *obs)
{
    char         *text  = NULL;
    size_t        size  = 0;
    FILE         *out   = open_memstream(&text, &size);
    observations *again = NULL;
    memory_file   f;
    lm_error      err = { 0 };

    check(out);
    observation_print_head(out);
    for (size_t i = 0; i < obs->n_rows; i++)
        observation_print(out, &obs->row[i], obs->row[i].skipped ? "skipped-memory" : "ok");
    check(!fclose(out));
    f = file_of((const uint8_t *)text, size);
    if (observations_load(f.path, &again, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    close(f.fd);
    check(again->n_rows == obs->n_rows && again->n_skipped == obs->n_skipped && !again->cut_short);
    for (size_t i = 0; i < obs->n_rows; i++) {
        const observation *a = &obs->row[i], *b = &again->row[i];

        check(a->kind == b->kind && a->phase == b->phase && a->pass == b->pass &&
              a->dtype == b->dtype);
        check(!strcmp(a->name, b->name) && !strcmp(a->input, b->input) &&
              !strcmp(a->algorithm, b->algorithm) && !strcmp(a->geometry, b->geometry));
        check(a->batch == b->batch && a->ranks == b->ranks && a->hosts == b->hosts &&
              a->bytes == b->bytes);
        check(a->seconds == b->seconds || a->skipped);
    }
    observations_free(again);
    free(text);
}

static bool fuzz_observations(const uint8_t *data, size_t size)
{
    memory_file   f      = file_of(data, size);
    observations *obs    = NULL;
    lm_error      err    = { 0 };
    lm_status     status = observations_load(f.path, &obs, &err);

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(obs->n_rows >= 1);
    for (size_t i = 0; i < obs->n_rows; i++) {
        const observation *row = &obs->row[i];

        check(row->skipped || (isfinite(row->seconds) && row->seconds > 0));
        check(*row->name && row->ranks >= 1 && row->hosts >= 1);
    }
    check_rows(obs);
    check_fit(obs);
    observations_free(obs);
    return true;
}

/* What is read is written the same again, and predicts. */
static bool fuzz_residual(const uint8_t *data, size_t size)
{
    char           *text = malloc(size + 1), *again = NULL;
    residual_set   *read = NULL, *back = NULL;
    static double   x[RESIDUAL_FEATURES];
    size_t          n;
    lm_error        err = { 0 };
    lm_status       status;
    FILE           *out;

    check(text);
    memcpy(text, data, size);
    text[size] = '\0';
    status     = residual_set_read("f", text, &read, &err);
    free(text);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    out = open_memstream(&again, &n);
    residual_set_write(out, read);
    fclose(out);
    check(!residual_set_read("f", again, &back, &err));
    free(again);
    for (size_t c = 0; c < N_LAYER_CLASSES; c++) {
        const residual_trees *r = read->of[c];

        check(!r == !back->of[c]);
        if (!r)
            continue;
        (void)residual_at(r, false, x);
        check(trees_predict(r->trees, x) == trees_predict(back->of[c]->trees, x) ||
              isnan(trees_predict(r->trees, x)));
    }
    residual_set_free(read);
    residual_set_free(back);
    return true;
}

/* What is read is written the same again. */
static bool fuzz_layer_watts(const uint8_t *data, size_t size)
{
    char        *first = as_text(data, size), *again = NULL;
    layer_watts *read  = NULL, *back = NULL;
    size_t       n;
    lm_error     err    = { 0 };
    lm_status    status = layer_watts_read("f", first, &read, &err);
    FILE        *out;

    free(first);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(out = open_memstream(&first, &n));
    layer_watts_write(out, read);
    fclose(out);
    again = strdup(first);
    check(again && !layer_watts_read("f", again, &back, &err));
    free(again);
    check(out = open_memstream(&again, &n));
    layer_watts_write(out, back);
    fclose(out);
    check(!strcmp(first, again));
    free(first);
    free(again);
    layer_watts_free(read);
    layer_watts_free(back);
    return true;
}

static learner *learner_of(char *text, lm_status *status, lm_error *err)
{
    lines    in = { .path = "f", .at = text };
    learner *l  = NULL;

    *status = learner_read(&in, &l, err);
    free(text);
    return l;
}

/* What is read is written the same again, and predicts within its range. */
static bool fuzz_learner(const uint8_t *data, size_t size)
{
    static const double x[LEARNER_FEATURES];
    char               *first = NULL, *again = NULL;
    double              told[2];
    size_t              n;
    lm_error            err = { 0 };
    lm_status           status;
    learner            *read = learner_of(as_text(data, size), &status, &err), *back;
    FILE               *out;

    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(out = open_memstream(&first, &n));
    learner_write(out, read);
    fclose(out);
    check(back = learner_of(strdup(first), &status, &err));
    check(out = open_memstream(&again, &n));
    learner_write(out, back);
    fclose(out);
    check(!strcmp(first, again));
    check(!learner_predict(read, x, 1, &told[0], &err) && told[0] > 0);
    check(!learner_predict(back, x, 1, &told[1], &err) && told[0] == told[1]);
    free(first);
    free(again);
    learner_free(read);
    learner_free(back);
    return true;
}

/* The same of single kernels. */
static bool fuzz_kernels(const uint8_t *data, size_t size)
{
    char               *text = malloc(size + 1), *again = NULL;
    operator_residuals *read = NULL, *back = NULL;
    static double       x[RESIDUAL_FEATURES];
    size_t              n;
    lm_error            err = { 0 };
    lm_status           status;
    FILE               *out;

    check(text);
    memcpy(text, data, size);
    text[size] = '\0';
    status     = operator_residuals_read("f", text, &read, &err);
    free(text);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    out = open_memstream(&again, &n);
    operator_residuals_write(out, read);
    fclose(out);
    check(!operator_residuals_read("f", again, &back, &err));
    free(again);
    for (operator_class c = 0; c < N_OPERATOR_CLASSES; c++) {
        check(!read->of[c] == !back->of[c]);
        if (read->of[c])
            check(isfinite(residual_at(read->of[c], false, x)));
    }
    operator_residuals_free(read);
    operator_residuals_free(back);
    return true;
}

static bool fuzz_runs(const uint8_t *data, size_t size)
{
    memory_file f      = file_of(data, size);
    runs       *r      = NULL;
    lm_error    err    = { 0 };
    lm_status   status = runs_load(f.path, &r, &err);

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(r->n >= 1);
    for (size_t i = 0; i < r->n; i++) {
        check(isfinite(r->run[i].seconds) && r->run[i].seconds > 0 && *r->run[i].gpu);
        for (size_t c = 0; c < r->n_columns; c++)
            check(isfinite(r->run[i].value[c]) || isnan(r->run[i].value[c]));
    }
    runs_free(r);
    return true;
}

/* What is read is written the same again, and says something of any two of its GPUs. */
static bool fuzz_crossgpu(const uint8_t *data, size_t size)
{
    static const double x[LEARNER_FEATURES];
    char               *text = as_text(data, size), *first = NULL, *again = NULL;
    crossgpu           *read = NULL, *back = NULL;
    crossgpu_prediction said;
    size_t              n;
    lm_error            err    = { 0 };
    lm_status           status = crossgpu_read("f", text, &read, &err);
    FILE               *out;

    free(text);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(out = open_memstream(&first, &n));
    crossgpu_write(out, read);
    fclose(out);
    check(text = strdup(first));
    check(!crossgpu_read("f", text, &back, &err));
    free(text);
    check(out = open_memstream(&again, &n));
    crossgpu_write(out, back);
    fclose(out);
    check(!strcmp(first, again));
    (void)crossgpu_predict(read, x, &read->gpu[0], &read->gpu[1], &said, &err);
    free(first);
    free(again);
    crossgpu_free(read);
    crossgpu_free(back);
    return true;
}

/* Whose file it says it is. */
static const layerwise_kind *kind_of(const char *text)
{
    static const char head[] = "layermeter model ";

    for (size_t i = 0; !strncmp(text, head, sizeof head - 1) && layerwise_kinds[i]; i++)
        if (!strncmp(text + sizeof head - 1, layerwise_kinds[i]->name,
                     strlen(layerwise_kinds[i]->name)))
            return layerwise_kinds[i];
    return layerwise_kinds[0];
}

/* What is read is written the same again. */
static bool fuzz_layerwise(const uint8_t *data, size_t size)
{
    char                 *first = as_text(data, size), *again = NULL;
    const layerwise_kind *kind  = kind_of(first);
    layerwise_model      *read  = NULL, *back = NULL;
    size_t                n;
    lm_error              err    = { 0 };
    lm_status             status = layerwise_read("f", first, kind, &read, &err);
    FILE                 *out;

    free(first);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(out = open_memstream(&first, &n));
    layerwise_write(out, read);
    fclose(out);
    again = strdup(first);
    check(again && !layerwise_read("f", again, kind, &back, &err));
    free(again);
    check(out = open_memstream(&again, &n));
    layerwise_write(out, back);
    fclose(out);
    check(!strcmp(first, again));
    free(first);
    free(again);
    layerwise_free(read);
    layerwise_free(back);
    return true;
}

#ifdef FUZZ_SWEEP
/* Numbers of four digits may stand for a hundred thousand points: a slow sweep, no wrong one. */
static bool too_long(const uint8_t *data, size_t size)
{
    int digits = 0;

    for (size_t i = 0; i < size && digits < 4; i++)
        digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
    return digits == 4;
}

static lm_status three_ranks(void *context, const char *compute, sweep_limits *out, lm_error *err)
{
    static const int       host[] = { 0, 0, 1 }, seat[] = { 0, 1, 0 };
    static const placement job = { 3, host, seat };

    (void)context;
    (void)compute;
    (void)err;
    *out = (sweep_limits){ .job = &job, .settings = UINT32_MAX };
    return LM_OK;
}

static bool fuzz_sweep(const uint8_t *data, size_t size)
{
    memory_file f;
    workloads  *loads = NULL;
    sweep      *plan  = NULL;
    lm_error    err   = { 0 };
    lm_status   status;

    if (too_long(data, size))
        return false;
    f      = file_of(data, size);
    status = workloads_new(types, &loads, &err);
    if (!status)
        status = sweep_load(f.path, types, loads, three_ranks, NULL, &plan, &err);
    close(f.fd);
    if (status)
        check_refusal(status, &err);
    else
        check(plan->compute && plan->n_points && plan->stop.min_repeats <= plan->stop.max_repeats);
    sweep_free(plan);
    workloads_free(loads);
    return !status;
}
#endif

const fuzz_target fuzz_targets[] = {
    { "text", fuzz_text },
    { "geometry", fuzz_geometry },
    { "ini", fuzz_ini },
    { "csv", fuzz_csv },
    { "network", fuzz_network },
    { "paleo", fuzz_paleo },
    { "onnx", fuzz_onnx },
    { "logs", fuzz_logs },
    { "extrap", fuzz_extrap },
    { "trace", fuzz_trace },
    { "power_log", fuzz_power_log },
    { "watch_plan", fuzz_watch_plan },
    { "machine", fuzz_machine },
    { "layer_watts", fuzz_layer_watts },
    { "observations", fuzz_observations },
    { "devices", fuzz_devices },
    { "prices", fuzz_prices },
    { "residual", fuzz_residual },
    { "kernels", fuzz_kernels },
    { "learner", fuzz_learner },
    { "layerwise", fuzz_layerwise },
    { "runs", fuzz_runs },
    { "crossgpu", fuzz_crossgpu },
#ifdef FUZZ_SWEEP
    { "sweep", fuzz_sweep },
#endif
    { NULL, NULL },
};

const fuzz_target *fuzz_find(const char *name)
{
    for (const fuzz_target *t = fuzz_targets; t->name; t++)
        if (!strcmp(t->name, name))
            return t;
    return NULL;
}
