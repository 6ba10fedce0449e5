/* layermeter digest: a trace of GPU metrics as a row of a file of runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/epochs_trace.h"
#include "crossgpu/digest.h"
#include "epochs/epochs.h"

enum { DEVICE, WORKLOAD, GROUP, SECONDS, METRIC, GPU, INTERVAL, APPEND };

#define METRICS_MAX 64

static const option_spec specs[] = {
    [DEVICE]   = { "device", "NAME", NULL,
                   "what the GPU is, as 'layermeter devices' names it (needed)" },
    [WORKLOAD] = { "workload", "TEXT", NULL, "what ran: the same text where the same ran" },
    [GROUP]    = { "group", "TEXT", NULL, "what is left out together to judge: the network, say" },
    [SECONDS]  = { "seconds", "TIME", NULL,
                   "of an epoch or a step; default: epochs are found in the trace" },
    [METRIC]   = { "metric", "LIST", NULL, "columns of the trace; default: all that are known" },
    [GPU]      = { "gpu", "N", NULL, "GPU of several, as the trace names it" },
    [INTERVAL] = { "interval", "TIME", NULL,
                   "between samples, 100ms, where the trace has no times" },
    [APPEND]   = { "append", "FILE", NULL,
                   "a row behind those of FILE, whose columns must be the same" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "TRACE is what 'layermeter epochs' reads. Printed is a header and a row as 'layermeter learn' and 'layermeter\n"
    "transfer --learned' take them: device, seconds of a steady epoch, and of each metric the mean, deviation, least,\n"
    "quartiles and largest value over all samples (power_draw_mean_w). Traces to be learned from together come from\n"
    "the same tool, whose names the columns have.\n";

static const char examples[] =
    "  layermeter digest t4.csv --device T4 --workload resnet50-b32 --group resnet50 --append runs.csv\n"
    "  layermeter digest dcgmi.txt --interval 100ms --device A10G --workload resnet50-b32 --append runs.csv\n"
    "  layermeter digest job.csv --device T4 >job-run.csv && layermeter transfer job-run.csv --learned gpus.txt\n";

typedef struct row {
    const char *workload, *group, *device;
    double      seconds;
    digest      d;
} row;

/* ---- reading ------------------------------------------------------------------------------------
 */

static lm_status find_epoch(const options *o, const trace_question *q, row *r,
                            char gpu[TRACE_NAME_MAX], lm_error *err)
{
    epochs_trace t;
    epochs      *e      = NULL;
    lm_status    status = epochs_trace_load(o->argument[0], q, &t, err);

    if (status)
        return status;
    snprintf(gpu, TRACE_NAME_MAX, "%s", t.gpu);
    if (isnan(r->seconds)) {
        status = epochs_find(EPOCHS_LAYERMETER, &t.grid, &e, err);
        if (status)
            lm_error_prefix(err, "%s: %s of GPU %s (--seconds tells what is known)", t.path,
                            t.metric, t.gpu);
        else
            r->seconds = e->steady;
    }
    epochs_free(e);
    trace_grid_free(&t.grid);
    return status;
}

static lm_status read_trace(const options *o, double step, row *r, lm_error *err)
{
    trace_question q = { .gpu = o->value[GPU], .interval = step };
    char           gpu[TRACE_NAME_MAX], list[1024], *name[METRICS_MAX];
    size_t         n      = 0;
    lm_status      status = find_epoch(o, &q, r, gpu, err);

    if (status)
        return status;
    q.gpu = gpu;
    if (!o->value[METRIC])
        return digest_trace(o->argument[0], &q, NULL, 0, &r->d, err);
    snprintf(list, sizeof list, "%s", o->value[METRIC]);
    n = text_split(list, ',', name, METRICS_MAX);
    return digest_trace(o->argument[0], &q, (const char *const *)name, n, &r->d, err);
}

/* ---- writing ------------------------------------------------------------------------------------
 */

static void print_head(FILE *out, const row *r)
{
    fputs("workload,group,gpu,seconds", out);
    for (size_t i = 0; i < r->d.n; i++)
        fprintf(out, ",%s", r->d.column[i].name);
    putc('\n', out);
}

static void print_row(FILE *out, const row *r)
{
    csv_put(out, r->workload);
    putc(',', out);
    csv_put(out, r->group);
    putc(',', out);
    csv_put(out, r->device);
    fprintf(out, ",%.9g", r->seconds);
    for (size_t i = 0; i < r->d.n; i++)
        fprintf(out, ",%.9g", r->d.column[i].value);
    putc('\n', out);
}

/* Is the header of a file's text the row's own? */
static bool same_head(const char *text, const row *r)
{
    char  *head = NULL;
    size_t n;
    FILE  *out = open_memstream(&head, &n);
    bool   same;

    if (!out)
        return false;
    print_head(out, r);
    fclose(out);
    while (*text == '#')
        text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
    same = !strncmp(text, head, n);
    free(head);
    return same;
}

static lm_status append(const char *path, const row *r, lm_error *err)
{
    file_draft draft;
    char      *text   = NULL;
    size_t     n      = 0;
    lm_status  status = access(path, F_OK) ? LM_OK : file_read_text(path, &text, &n, err);

    if (!status && n && !same_head(text, r))
        status = lm_error_set(err, LM_E_ARG,
                              "%s: other columns than those of this trace: traces that are learned "
                              "from together have the same metrics (--metric)",
                              path);
    if (!status && !(status = file_draft_open(&draft, path, err))) {
        if (n)
            fprintf(draft.stream, "%s%s", text, text[n - 1] == '\n' ? "" : "\n");
        else
            print_head(draft.stream, r);
        print_row(draft.stream, r);
        status = file_draft_commit(&draft, err);
    }
    free(text);
    return status;
}

static bool seconds_option(const options *o, int at, double *out, int *code)
{
    lm_error err;

    *out = NAN;
    if (!o->value[at])
        return true;
    if (text_seconds(o->value[at], out, &err))
        return option_misuse(o, at, &err, code);
    if (*out > 0)
        return true;
    lm_error_set(&err, LM_E_ARG, "expected more than 0 s, found '%.40s'", o->value[at]);
    return option_misuse(o, at, &err, code);
}

static int run_digest(const options *o)
{
    lm_error err = { LM_OK, "" };
    row      r   = { .workload = o->value[WORKLOAD] ? o->value[WORKLOAD] : "",
                     .device   = o->value[DEVICE] };
    double   step;
    int      code = EXIT_DONE;

    r.group = o->value[GROUP] ? o->value[GROUP] : "";
    if (!r.device) {
        lm_error_set(&err, LM_E_ARG, "--device is needed: %s", specs[DEVICE].doc);
        return report_misuse("", &err);
    }
    if (!seconds_option(o, SECONDS, &r.seconds, &code) ||
        !seconds_option(o, INTERVAL, &step, &code))
        return code;
    if (read_trace(o, step, &r, &err) || (o->value[APPEND] && append(o->value[APPEND], &r, &err))) {
        code = report_failure(&err);
    } else if (!o->value[APPEND]) {
        print_head(stdout, &r);
        print_row(stdout, &r);
    }
    digest_free(&r.d);
    return code;
}

const command cmd_digest = {
    .name          = "digest",
    .arguments     = "TRACE",
    .doc           = "Turn a trace of GPU metrics into a run, to learn from or to transfer",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run_digest,
};
