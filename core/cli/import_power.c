/* layermeter import power LOG. */
#include "cli/import_power.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "import/power_log.h"
#include "report/table.h"

/* Pieces that differ by more than this share of their mean are of more than one load. */
#define STEADY 0.2

bool import_is_power(const char *what)
{
    return !strcmp(what, "power");
}

static void add_columns(table *t)
{
    table_column(t, "log", "log", 0);
    table_column(t, "gpu", "GPU", 0);
    table_column(t, "power_w", "power [W]", 1);
    table_column(t, "spread_percent", "spread [%]", 1);
    table_column(t, "seconds", "for [s]", 1);
    table_column(t, "energy_j", "energy [J]", -1);
    table_column(t, "ramp_s", "start-up [s]", 1);
    table_column(t, "tail_s", "end [s]", 1);
    table_column(t, "strange", "strange", 0);
    table_column(t, "samples", "samples", 0);
    table_column(t, "missing", NULL, 0);
    table_column(t, "gaps", NULL, 0);
}

static void add_row(table *t, const char *path, const power_log_gpu *g)
{
    const power_mean *m = &g->mean;

    table_text(t, path);
    table_text(t, g->name);
    table_real(t, m->watts);
    table_real(t, 100 * m->deviation / m->watts);
    table_real(t, m->seconds);
    table_real(t, m->watts * m->seconds);
    table_real(t, m->ramp_seconds);
    table_real(t, m->tail_seconds);
    table_count(t, m->strange);
    table_count(t, g->samples);
    table_count(t, g->missing);
    table_count(t, g->gaps);
}

/* What is odd about a log, a line each. */
static void say(const char *path, const power_log_gpu *g)
{
    if (g->gaps)
        fprintf(stderr, "layermeter: %s: GPU %s: %zu gap%s, %.1f s in all, not counted\n", path,
                g->name, g->gaps, g->gaps == 1 ? "" : "s", g->gap_seconds);
    if (g->jumps)
        fprintf(stderr, "layermeter: %s: GPU %s: the clock went back %zu time%s\n", path, g->name,
                g->jumps, g->jumps == 1 ? "" : "s");
    if (g->missing)
        fprintf(stderr, "layermeter: %s: GPU %s: %zu of %zu rows have no power\n", path, g->name,
                g->missing, g->samples);
    if (g->mean.deviation > STEADY * g->mean.watts)
        fprintf(stderr,
                "layermeter: %s: GPU %s: power differs by %.0f %%: of more than one load?\n", path,
                g->name, 100 * g->mean.deviation / g->mean.watts);
}

static lm_status read_logs(const options *o, const trace_question *q, table *t, lm_error *err)
{
    for (int i = 1; i < o->n_arguments; i++) {
        const char     *path = o->argument[i];
        power_log       log;
        const lm_status status = power_log_read(path, q, &log, err);

        if (status)
            return status;
        for (size_t k = 0; k < log.n; k++) {
            add_row(t, path, &log.gpu[k]);
            say(path, &log.gpu[k]);
        }
        power_log_free(&log);
    }
    return LM_OK;
}

static lm_status print(const table *t, format f, const char *path, lm_error *err)
{
    file_draft draft;
    lm_status  status;

    if (!path)
        return table_print(t, f, stdout, err);
    if ((status = file_draft_open(&draft, path, err)))
        return status;
    status = table_print(t, f, draft.stream, err);
    if (!status)
        status = file_draft_commit(&draft, err);
    file_draft_drop(&draft);
    return status;
}

int import_power(const options *o, const power_places *at)
{
    trace_question q   = { .metric   = o->value[at->metric],
                           .gpu      = o->value[at->gpu],
                           .interval = NAN };
    lm_error       err = { 0 };
    table         *t;
    format         f;
    lm_status      status;

    if (o->n_arguments < 2) {
        lm_error_set(&err, LM_E_ARG, "a LOG is missing after 'power'");
        return report_misuse("", &err);
    }
    if (format_parse(o->value[at->format], &f, &err))
        return report_misuse("", &err);
    if (o->value[at->interval] &&
        (text_seconds(o->value[at->interval], &q.interval, &err) ||
         (!(q.interval > 0) && lm_error_set(&err, LM_E_ARG, "must be above 0"))))
        return report_misuse("--interval", &err);
    t = table_new();
    add_columns(t);
    status = read_logs(o, &q, t, &err);
    if (!status)
        status = print(t, f, o->value[at->output], &err);
    table_free(t);
    return status ? report_failure(&err) : EXIT_DONE;
}
