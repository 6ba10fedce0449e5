/* layermeter epochs: finds epochs of a training run in a trace of GPU metrics. */
#include <math.h>
#include <string.h>

#include "cli/commands.h"
#include "epochs/epochs.h"
#include "epochs/follow.h"
#include "epochs/trace_plot.h"
#include "report/fields.h"
#include "trace/chosen.h"

typedef struct epochs_options {
    epochs_method  method;
    trace_question trace;
    format         format;
    const char    *plot;
    bool           keep_script;
} epochs_options;

#define AT(member) OPTION_AT(epochs_options, member)

VALUE_TYPE(type_method, epochs_method, epochs_method_parse);

static const option_row option_rows[] = {
    { "method", AT(method), &type_method, "NAME", "layermeter", HELP_HOW, EPOCHS_METHODS },
    { "metric", AT(trace.metric) },
    { "gpu", AT(trace.gpu) },
    { "interval", AT(trace.interval) },
    { "format", AT(format) },
    { "plot", AT(plot), .excludes = "follow",
      .refusal = "with --follow the trace has no end: it cannot be plotted",
      .help    = "plot the trace and the start of each epoch: .svg, .png or .pdf" },
    { "keep-script", AT(keep_script) },
    { "follow", AT(trace.follow), &type_flag, NULL, NULL, HELP_HOW,
      "wait for new rows, and print each epoch when it ends" },
    { .name = NULL },
};

static const char details[] =
    "TRACE is the output of one of these tools, plain or gzip; '-' is stdin. The first lines of the file\n"
    "show which tool wrote it.\n"
    "  dcgmi dmon -e 1002,1005 -d 100                                    (no times: --interval 100ms)\n"
    "  nvidia-smi --query-gpu=timestamp,index,utilization.gpu --format=csv -lms 100\n"
    "  nvidia-smi dmon -s pu -o DT\n"
    "  dcgm-exporter or any Prometheus exporter, scrape after scrape     (without times: --interval)\n"
    "TRACE can also be CSV with named columns: a time (timestamp, time_s, ...), a GPU (index, gpu, ...)\n"
    "and metrics.\n"
    "\n"
    "Each row is startup, warmup (longer epochs at the start), epoch (steady), irregular, missing\n"
    "(without samples), partial or idle. 'confidence' is the correlation of an epoch with the mean of the\n"
    "others. The epoch time is the mean of the steady epochs, with a 90 % interval. If nothing repeats,\n"
    "or if there are fewer than two epochs, the command says so and exits with 1.\n"
    "\n"
    "Methods:\n"
    "  layermeter: autocorrelation at all scales, then dynamic programming\n"
    "  hurlee: Hur & Lee 2024: peaks of Luminol's anomaly score, in three rounds\n"
    "  hurlee-code: the same method, as their released code runs it\n"
    "  changepoints: PELT\n"
    "  ruptures, jenks: the methods that Hur & Lee compare with: every change point, and natural breaks\n"
    "\n"
    "layermeter and changepoints take the mean of the steady epochs. The other methods take the mean of\n"
    "all intervals between the points that they find. The 90 % interval of hurlee is that of one epoch.\n"
    "ruptures and jenks have no interval.\n";

static const char examples[] =
    "  layermeter epochs dcgmi.txt --interval 100ms\n"
    "  layermeter epochs smi.csv.gz --metric power.draw --gpu 1 --plot epochs.svg\n"
    "  layermeter epochs smi.csv --method hurlee --format json\n"
    "  dcgmi dmon -e 1002 -d 100 | layermeter epochs --follow - --interval 100ms\n";

/* An epoch, and the steady epoch time at its end. */
typedef struct row {
    uint64_t    number;
    const char *kind;
    epoch       at;
    double      steady;
} row;

#define FOLLOWED 1

static const field fields[] = {
    { "number", "no.", FIELD_AT(row, number) },
    { "kind", "kind", FIELD_AT(row, kind) },
    { "start_s", "start [s]", FIELD_AT(row, at.start), .digits = 2 },
    { "length_s", "length [s]", FIELD_AT(row, at.length), .digits = 3 },
    { "confidence", "confidence", FIELD_AT(row, at.confidence), .digits = 2 },
    { "epoch_s", FIELD_AT(row, steady), .when = FOLLOWED },
    { 0 },
};

static row row_of(size_t number, const epoch *e, double steady)
{
    return (row){ number, epoch_kind_names[e->kind], *e, steady };
}

static void print_words(const trace_chosen *t, const epochs *e, epochs_method m, FILE *out)
{
    fprintf(out, "epoch: %.4g s", e->steady);
    if (!isnan(e->low))
        fprintf(out, " (90 %%: %.4g to %.4g)", e->low, e->high);
    fprintf(out, e->all ? ", mean of all %zu interval%s" : ", mean of %zu steady epoch%s",
            e->n_steady, e->n_steady == 1 ? "" : "s");
    if (!isnan(e->confidence))
        fprintf(out, ", confidence %.2f", e->confidence);
    fprintf(out, "; %s, GPU %s, %zu samples %.4g s apart, method %s\n", t->metric, t->gpu,
            t->n_samples, t->grid.interval, epochs_method_names[m]);
    if (!isnan(e->evaluation))
        fprintf(
            out,
            "another level at the end of each epoch: %.0f %% of its time (evaluation, saving, loading)\n",
            100 * e->evaluation);
    for (size_t i = 0; i < e->n_periods; i++)
        fprintf(out, "within an epoch: a pattern repeats every %.4g s (steps?), correlation %.2f\n",
                e->period[i].seconds, e->period[i].strength);
    if (*e->note)
        fprintf(out, "note: %s\n", e->note);
}

static void print_json(const trace_chosen *tr, const epochs *e, epochs_method m, const table *t)
{
    json j = { .out = stdout };

    json_open(&j, NULL, '{');
    json_text(&j, "trace", tr->path);
    json_text(&j, "metric", tr->metric);
    json_text(&j, "unit", *tr->unit ? tr->unit : NULL);
    json_text(&j, "gpu", tr->gpu);
    json_count(&j, "samples", tr->n_samples);
    json_real(&j, "interval_s", tr->grid.interval);
    json_text(&j, "method", epochs_method_names[m]);
    json_real(&j, "epoch_s", e->steady);
    json_real(&j, "low_s", e->low);
    json_real(&j, "high_s", e->high);
    json_count(&j, "steady_epochs", e->n_steady);
    json_real(&j, "confidence", e->confidence);
    json_real(&j, "evaluation_share", e->evaluation);
    json_text(&j, "note", *e->note ? e->note : NULL);
    json_open(&j, "within", '[');
    for (size_t i = 0; i < e->n_periods; i++) {
        json_open(&j, NULL, '{');
        json_real(&j, "period_s", e->period[i].seconds);
        json_real(&j, "correlation", e->period[i].strength);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    table_json(t, &j, "epochs");
    json_close(&j, '}');
}

static lm_status print(const trace_chosen *tr, const epochs *e, epochs_method m, format f,
                       lm_error *err)
{
    const field_view v      = { .fields = fields, .in = field_place_of(f) };
    field_rows       rows   = field_rows_of(&v);
    lm_status        status = LM_OK;

    for (size_t i = 0; i < e->n; i++) {
        const row r = row_of(i + 1, &e->epoch[i], e->steady);

        field_row(&rows, &r);
    }
    if (f == FORMAT_JSON)
        print_json(tr, e, m, rows.t);
    else if (!(status = table_print(rows.t, f, stdout, err)))
        print_words(tr, e, m, f == FORMAT_TABLE ? stdout : stderr);
    table_free(rows.t);
    return status;
}

static lm_status draw(const epochs_options *a, const trace_chosen *t, const epochs *e,
                      lm_error *err)
{
    char title[200];

    if (!a->plot)
        return LM_OK;
    snprintf(title, sizeof title, "%.80s, GPU %s: epochs of %.4g s", t->path, t->gpu, e->steady);
    return plot_trace(a->plot, title, t->metric, t->unit, &t->grid, e, a->keep_script, err);
}

/* Analyses a whole trace. */
static lm_status analyse(const char *path, const epochs_options *a, lm_error *err)
{
    trace_chosen t;
    epochs      *e      = NULL;
    lm_status    status = trace_load_chosen(path, &a->trace, say_line, &t, err);

    if (status)
        return status;
    status = epochs_find(a->method, &t.grid, &e, err);
    if (status)
        lm_error_prefix(err, "%s: %s of GPU %s", t.path, t.metric, t.gpu);
    else if (!(status = print(&t, e, a->method, a->format, err)))
        status = draw(a, &t, e, err);
    epochs_free(e);
    trace_grid_free(&t.grid);
    return status;
}

/* ---- a trace that is followed ---- */

typedef struct follower {
    format           how;
    epochs_follower *epochs;
    size_t           n_printed;
} follower;

static void print_head(const follower *f)
{
    if (f->how == FORMAT_CSV)
        puts("number,kind,start_s,length_s,confidence,epoch_s");
    else if (f->how == FORMAT_TABLE)
        puts("  no.  kind       start [s]  length [s]  confidence  epoch [s]");
}

/* A row as soon as its epoch has ended. */
static lm_status print_epoch(void *context, const epoch *e, const epochs *all, lm_error *err)
{
    static const field_view json_view      = { .fields = fields, .in = IN_JSON, .facts = FOLLOWED };
    follower               *f              = context;
    const row               r              = row_of(++f->n_printed, e, all->steady);
    char                    confidence[32] = "";

    (void)err;
    if (f->n_printed == 1)
        print_head(f);
    if (!isnan(e->confidence))
        snprintf(confidence, sizeof confidence, f->how == FORMAT_TABLE ? "%.2f" : "%.6g",
                 e->confidence);
    if (f->how == FORMAT_JSON) {
        json j = { .out = stdout };

        json_open(&j, NULL, '{');
        fields_json(&json_view, &r, &j);
        json_close(&j, '}');
    } else if (f->how == FORMAT_CSV) {
        printf("%zu,%s,%.6f,%.6f,%s,%.6f\n", f->n_printed, r.kind, e->start, e->length, confidence,
               r.steady);
    } else {
        printf("%5zu  %-9s  %9.2f  %10.3f  %10s  %9.4g\n", f->n_printed, r.kind, e->start,
               e->length, *confidence ? confidence : "-", r.steady);
    }
    fflush(stdout);
    return LM_OK;
}

static lm_status take_sample(void *context, double time, const trace_sample *s, lm_error *err)
{
    const follower *f = context;

    return epochs_follower_add(f->epochs, time, s->value, err);
}

static double interval_of(void *context)
{
    const follower *f = context;

    return epochs_follower_interval(f->epochs);
}

/* In constant memory, until the trace ends. */
static lm_status follow(const char *path, const epochs_options *a, lm_error *err)
{
    follower       f = { .how = a->format };
    trace_follower t = {
        .take = take_sample, .interval = interval_of, .say = say_line, .context = &f
    };
    lm_status status = epochs_follower_new(a->method, print_epoch, &f, &f.epochs, err);

    if (!status && !(status = trace_follower_open(&t, path, &a->trace, err)))
        status = trace_follower_run(&t, err);
    if (!status && (status = epochs_follower_end(f.epochs, err)) == LM_E_NOTFOUND)
        lm_error_prefix(err, "%s", t.reader->path);
    trace_follower_close(&t);
    epochs_follower_free(f.epochs);
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    const epochs_options *a = o->filled;

    return a->trace.follow ? follow(o->argument[0], a, err) : analyse(o->argument[0], a, err);
}

static lm_status check(options *o, lm_error *err)
{
    const epochs_options *a = o->filled;

    if (a->trace.follow && (a->method == EPOCHS_HURLEE || a->method == EPOCHS_HURLEE_CODE))
        return misused(
            o, &a->method, err,
            "%s needs a finished run: it reads the second half of the trace: leave out --follow",
            epochs_method_names[a->method]);
    return LM_OK;
}

const command cmd_epochs = COMMAND("epochs", "TRACE", "Find epochs in a trace of GPU metrics",
                                   epochs_options, 1, 1, check, run);
