/* layermeter digest: turns a trace of GPU metrics into a row of a file of runs. */
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
#include "crossgpu/digest.h"
#include "device/device.h"

#define METRICS_MAX 64

typedef struct digest_options {
    const char    *device, *devices, *workload, *group, *append;
    double         seconds;
    option_texts   metrics;
    trace_question trace;
} digest_options;

#define AT(member) OPTION_AT(digest_options, member)

static const option_row option_rows[] = {
    { "device", AT(device),
      .needed = "--device is required: the GPU of the trace, by a name of 'layermeter devices'",
      .help   = "GPU of the trace, by a name of 'layermeter devices' (required)" },
    { "devices", AT(devices) },
    { "workload", AT(workload), &type_text, "TEXT", "", HELP_WHAT,
      "name of the work; runs of the same work have the same name" },
    { "group", AT(group), &type_text, "TEXT", "", HELP_WHAT,
      "name of a group, such as the network; 'learn' leaves out all its runs together" },
    { "seconds", AT(seconds), &type_seconds, "TIME", NULL, HELP_WHAT,
      "time of an epoch or a step (default: the time of the epochs in the trace)",
      .least = OPTION_ABOVE_0, .outside = "expected more than 0 s, found" },
    { "metric", AT(metrics), &type_names, "LIST", NULL, HELP_WHAT,
      "columns of the trace (default: all known columns)" },
    { "gpu", AT(trace.gpu) },
    { "interval", AT(trace.interval) },
    { "append", AT(append), &type_text, "FILE", NULL, HELP_OUTPUT,
      "append the row to this file, which must have the same columns" },
    { .name = NULL },
};

static const char details[] =
    "TRACE is any file that 'layermeter epochs' reads. The output is a header and one row, for\n"
    "'layermeter learn' and 'layermeter transfer --learned'. The row has the device and the time of a\n"
    "steady epoch. For each metric it has the mean, the standard deviation, the minimum, the quartiles\n"
    "and the maximum over these epochs (power_draw_mean_w). Start-up, warm-up and idle time are left out.\n"
    "\n"
    "The columns have the names that the recording tool uses: learn only from traces of one tool. A trace\n"
    "without epochs needs --seconds. The statistics then cover the whole trace.\n";

static const char examples[] =
    "  layermeter digest t4.csv --device T4 --workload resnet50-b32 --group resnet50 --append runs.csv\n"
    "  layermeter digest dcgmi.txt --interval 100ms --device A10G --workload r50-b32 --append runs.csv\n"
    "  layermeter digest job.csv --device T4 >run.csv && layermeter transfer run.csv --learned gpus.txt\n";

typedef struct row {
    const digest_options *a;
    double                seconds;
    digest                d;
} row;

/* ---- writing ---- */

static void print_head(FILE *out, const row *r)
{
    fputs("workload,group,gpu,seconds", out);
    for (size_t i = 0; i < r->d.n; i++)
        fprintf(out, ",%s", r->d.column[i].name);
    putc('\n', out);
}

static void print_row(FILE *out, const row *r)
{
    csv_put(out, r->a->workload);
    putc(',', out);
    csv_put(out, r->a->group);
    putc(',', out);
    csv_put(out, r->a->device);
    fprintf(out, ",%.9g", r->seconds);
    for (size_t i = 0; i < r->d.n; i++)
        fprintf(out, ",%.9g", r->d.column[i].value);
    putc('\n', out);
}

/* Has the file's text the header of this row? */
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
                              "%s: its columns differ from those of this trace: 'learn' needs the "
                              "same metrics in all traces (--metric)",
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

/* 'learn' needs the datasheet. */
static lm_status check_device(const digest_options *a, lm_error *err)
{
    device_list  *list = NULL;
    const device *on;
    lm_status     status = devices_open(a->devices, &list, err);

    if (!status && (status = devices_find(list, a->device, &on, err)))
        lm_error_prefix(err, "--device");
    devices_free(list);
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    row       r      = { .a = o->filled };
    lm_status status = check_device(r.a, err);

    if (status)
        return status;
    r.seconds = r.a->seconds;
    status    = digest_job(o->argument[0], &r.a->trace, r.a->metrics.at, r.a->metrics.n, say_line,
                           &r.seconds, &r.d, err);
    if (!status && r.a->append) {
        status = append(r.a->append, &r, err);
    } else if (!status) {
        print_head(stdout, &r);
        print_row(stdout, &r);
    }
    digest_free(&r.d);
    return status;
}

const command cmd_digest =
    COMMAND("digest", "TRACE", "Convert a trace of GPU metrics to a run for 'learn' or 'transfer'",
            digest_options, 1, 1, NULL, run);
