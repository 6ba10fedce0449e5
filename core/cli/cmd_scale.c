/* layermeter scale: throughput over nodes, and where adding more stops paying. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "predict/scaling.h"
#include "report/plot.h"
#include "report/table.h"

enum {
    MACHINE,
    MODEL,
    NODES,
    BATCH,
    SCALING,
    DATASET,
    IMAGE,
    INPUT,
    DTYPE,
    DEVICE,
    DEVICES,
    PPP_COMP,
    PPP_COMM,
    BANDWIDTH,
    LATENCY,
    SCHEME,
    FORMAT,
    PLOT,
    KEEP_SCRIPT,
    TREAT,
    IGNORE,
    SET
};

static const option_spec specs[] = {
    [MACHINE] = { "machine", "FILE", NULL,
                  "machine file, written by 'layermeter fit' (needed but for paleo)" },
    [MODEL]   = { "model", "NAME", "layermeter",
                  "formulas: layermeter, convmeter or nnls; or paleo" },
    [NODES]   = { "nodes", "LIST", "1..64*2", "nodes, one device each" },
    [BATCH]   = { "batch", "N", "32", "samples: of each device (weak), of all together (strong)" },
    [SCALING] = { "scaling", "KIND", "weak",
                  "weak: the batch of a device stays; strong: the whole batch" },
    [DATASET] = { "dataset", "SAMPLES", "1281167", "samples of an epoch; ImageNet's training set" },
    [IMAGE]   = { "image", "PIXELS", NULL, "height and width of the input, instead of the file's" },
    [INPUT]   = { "input", "CxHxW", NULL, "shape of one sample, instead of the file's" },
    [DTYPE]   = { "dtype", "TYPE", "f32", "element type" },
    [DEVICE]  = OPTION_DEVICE,
    [DEVICES] = OPTION_DEVICES,
    [PPP_COMP]  = OPTION_PPP_COMP,
    [PPP_COMM]  = OPTION_PPP_COMM,
    [BANDWIDTH] = OPTION_BANDWIDTH,
    [LATENCY]   = OPTION_LATENCY,
    [SCHEME]    = OPTION_SCHEME,
    [FORMAT]    = { "format", "FORMAT", "table", "table, csv or json" },
    [PLOT] = { "plot", "FILE", NULL, "draw the curve: FILE.svg, .png or .pdf (needs gnuplot)" },
    [KEEP_SCRIPT] = { "keep-script", NULL, NULL, "leave the gnuplot script beside the picture" },
    [TREAT]       = OPTION_TREAT,
    [IGNORE]      = OPTION_IGNORE,
    [SET]         = OPTION_SET,
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "Speed-up and efficiency compare samples per second with one node. The turning point is the\n"
    "smallest number of nodes whose doubling gains less than 10 % of throughput (weak scaling) or\n"
    "shortens the epoch by less than 5 % (strong; each device takes ceil(batch / nodes) samples, and only\n"
    "the batch itself counts as work). The all-reduce is not hidden behind the backward\n"
    "pass: frameworks that overlap them do better. 'beyond' names what leaves the calibrated range;\n"
    "me/in/ex/as is the share of the step that is measured, interpolated, extrapolated and assumed, see predict.\n";

static const char examples[] =
    "  layermeter scale resnet50 --machine machine.ini --batch 32 --plot resnet50.svg\n"
    "  layermeter scale vgg16 --machine machine.ini --scaling strong --batch 256 --nodes 1..32*2\n";

static void add_columns(table *t, const char *set)
{
    table_column(t, "nodes", "nodes", 0);
    table_column(t, "batch", "batch", 0);
    table_column(t, "global_batch", "global batch", 0);
    table_column(t, "forward_ms", "forward [ms]", 2);
    table_column(t, "backward_ms", "backward [ms]", 2);
    table_column(t, "grad_ms", "sync+update [ms]", 2);
    table_column(t, "step_ms", "step [ms]", 2);
    table_column(t, "step_low_ms", "low", 2);
    table_column(t, "step_high_ms", "high", 2);
    table_column(t, "samples_per_s", "samples/s", 1);
    table_column(t, "speedup", "speed-up", 2);
    table_column(t, "efficiency", "efficiency", 3);
    table_column(t, "epoch_s", "epoch [s]", 0);
    ledger_column(t);
    table_column(t, "beyond", "beyond", 0);
    if (set)
        table_column(t, "set", "set", 0);
    ledger_hidden_columns(t);
}

static void add_row(table *t, const scale_point *p, const char *set)
{
    const prediction *s = &p->step;
    char              beyond[200];

    table_count(t, (uint64_t)s->nodes);
    table_count(t, (uint64_t)s->batch);
    table_count(t, (uint64_t)p->global_batch);
    table_real(t, 1e3 * s->forward);
    table_real(t, 1e3 * s->backward);
    table_real(t, 1e3 * s->grad);
    table_real(t, 1e3 * s->step);
    table_real(t, 1e3 * s->low[QUANTITY_STEP]);
    table_real(t, 1e3 * s->high[QUANTITY_STEP]);
    table_real(t, p->samples_per_second);
    table_real(t, p->speedup);
    table_real(t, p->efficiency);
    table_real(t, p->epoch_seconds);
    ledger_cell(t, &s->ledger);
    table_text(t, prediction_beyond(s, beyond, sizeof beyond));
    if (set)
        table_text(t, set);
    ledger_hidden_cells(t, &s->ledger);
}

/* One node may be calibrated and the all-reduce not: then nobody knows where more stop paying. */
#define UNKNOWN (-1)

/* What the rows together say. */
typedef struct curve {
    scaling_kind kind;
    int64_t      batch, dataset, turning; /* turning: 0 none, UNKNOWN */
    scale_point *point;
    size_t       n;
} curve;

static void print_words(const curve *c, const session *s, FILE *out)
{
    if (c->turning == UNKNOWN)
        fprintf(out, "turning point: unknown, the machine file has no all-reduce\n");
    else if (c->turning)
        fprintf(out, "turning point: %lld node%s (doubling gains less than %s)\n",
                (long long)c->turning, c->turning == 1 ? "" : "s",
                c->kind == SCALING_WEAK ? "10 % of throughput" : "5 % of the epoch time");
    else
        fprintf(out, "turning point: none up to %d nodes\n", TURNING_LIMIT);
    if (s->cal && c->point[c->n - 1].step.nodes > s->cal->max_ranks)
        fprintf(
            out,
            "note: calibrated on at most %lld rank%s on %lld host%s; beyond that the curve is an "
            "extrapolation over the same link\n",
            (long long)s->cal->max_ranks, s->cal->max_ranks == 1 ? "" : "s",
            (long long)s->cal->max_hosts, s->cal->max_hosts == 1 ? "" : "s");
    print_note(s->net, out);
}

static lm_status print_curve(const curve *c, const session *s, const options *o, format f,
                             lm_error *err)
{
    const char *set    = f == FORMAT_CSV ? s->net->set : NULL; /* the others say it once */
    table      *t      = table_new();
    lm_status   status = LM_OK;

    add_columns(t, set);
    for (size_t i = 0; i < c->n; i++)
        add_row(t, &c->point[i], set);
    if (f == FORMAT_JSON) {
        json j = { .out = stdout };

        json_open(&j, NULL, '{');
        json_text(&j, "network", o->argument[0]);
        json_text(&j, "set", s->net->set);
        json_text(&j, "note", s->net->note);
        json_text(&j, "machine", o->value[MACHINE]);
        json_text(&j, "model", s->who.model);
        json_text(&j, "scaling", o->value[SCALING]);
        json_count(&j, "dataset", (uint64_t)c->dataset);
        if (s->cal) {
            json_count(&j, "calibrated_ranks", (uint64_t)s->cal->max_ranks);
            json_count(&j, "calibrated_hosts", (uint64_t)s->cal->max_hosts);
        } else {
            json_text(&j, "device", o->value[DEVICE]);
        }
        if (c->turning > 0)
            json_count(&j, "turning_point_nodes", (uint64_t)c->turning);
        else
            json_text(&j, "turning_point_nodes", NULL);
        table_json(t, &j, "points");
        json_close(&j, '}');
    } else {
        status = table_print(t, f, stdout, err);
        if (!status && f == FORMAT_TABLE && s->net->set)
            printf("set: %s\n", s->net->set);
        if (!status)
            print_words(c, s, f == FORMAT_TABLE ? stdout : stderr);
    }
    table_free(t);
    return status;
}

static lm_status draw(const curve *c, const session *s, const options *o, lm_error *err)
{
    char title[160];

    if (!o->value[PLOT])
        return LM_OK;
    snprintf(title, sizeof title, "%.60s: %s scaling, batch %lld%s, %s", o->argument[0],
             o->value[SCALING], (long long)c->batch, c->kind == SCALING_WEAK ? " per device" : "",
             s->who.model);
    return plot_scaling(o->value[PLOT], title, c->point, c->n, s->cal ? s->cal->max_ranks : 0,
                        c->turning, o->value[KEEP_SCRIPT] != NULL, err);
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int run(const options *o)
{
    static const session_options at = {
        MACHINE,
        MODEL,
        IMAGE,
        INPUT,
        DTYPE,
        { TREAT, IGNORE, SET },
        { DEVICE, DEVICES, PPP_COMP, PPP_COMM, BANDWIDTH, SCHEME },
        LATENCY,
    };
    lm_error       err = { 0 };
    session        s   = { 0 };
    curve          c   = { .kind = SCALING_WEAK };
    scale_question q;
    int64_t       *nodes = NULL;
    int            code  = EXIT_DONE;
    format         f;

    if (format_parse(o->value[FORMAT], &f, &err)) {
        code = report_misuse("", &err);
        goto out;
    }
    if (scaling_kind_parse(o->value[SCALING], &c.kind, &err)) {
        code = report_misuse("--scaling", &err);
        goto out;
    }
    if (!option_list(o, NODES, &nodes, &c.n, &code) || !option_count(o, BATCH, &c.batch, &code) ||
        !option_count(o, DATASET, &c.dataset, &code) || !session_open(o, &at, &s, &code))
        goto out;
    qsort(nodes, c.n, sizeof *nodes, by_number);
    c.point = calloc(c.n, sizeof *c.point);
    if (!c.point) {
        lm_error_set(&err, LM_E_NOMEM, "out of memory");
        code = report_failure(&err);
        goto out;
    }
    q = c.kind == SCALING_WEAK ? scale_weak(c.batch, c.dataset) : scale_strong(c.batch, c.dataset);
    for (size_t i = 0; i < c.n; i++)
        if (scale_at(&s.who, &q, nodes[i], &c.point[i], &err)) {
            code = report_failure(&err);
            goto out;
        }
    switch (scale_turning_point(&s.who, &q, &c.turning, &err)) {
    case LM_OK: break;
    case LM_E_NOTFOUND: c.turning = UNKNOWN; break;
    default: code = report_failure(&err); goto out;
    }
    if (print_curve(&c, &s, o, f, &err) || draw(&c, &s, o, &err))
        code = report_failure(&err);
out:
    session_close(&s);
    free(c.point);
    free(nodes);
    return code;
}

const command cmd_scale = {
    .name          = "scale",
    .arguments     = "NETWORK",
    .doc           = "Predict throughput over nodes, and where more stop paying",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
