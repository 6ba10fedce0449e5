/* Curves of layermeter scale in words, tables, JSON and pictures. */
#include "report/scale_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/order.h"
#include "base/text.h"
#include "report/notes.h"
#include "report/plot.h"

/* Facts of a grid: differences between curves, and columns worth showing. */
typedef struct shows {
    bool devices, batches, syncs;               /* differs between curves */
    bool several, synced, whole, micro, tokens; /* is not 1, is not `once`, was given, is not 1,
                                                   exists */
} shows;

static shows looked(const scale_grid *g)
{
    const step_setup *first = &g->line[0].curve.q.setup;
    shows             s     = { .tokens = g->tokens > 0 };

    for (size_t i = 0; i < g->n_lines; i++) {
        const scale_question *q    = &g->line[i].curve.q;
        const step_setup     *mine = &q->setup;
        char                  a[SYNC_POLICY_TEXT], b[SYNC_POLICY_TEXT];

        s.devices |= mine->devices != first->devices;
        s.batches |= mine->batch != first->batch;
        s.syncs |=
            strcmp(sync_policy_print(&mine->sync, a), sync_policy_print(&first->sync, b)) != 0;
        s.several |= mine->devices > 1;
        s.synced |= mine->sync.rule != SYNC_ONCE;
        s.whole |= q->kind != SCALING_WEAK;
        for (size_t k = 0; k < g->n_nodes; k++)
            s.micro |= g->line[i].point[k].accumulation > 1;
    }
    return s;
}

/* ---- tables ---- */

static step_row row_of(const scale_grid *g, const scale_line *l, const scale_point *p)
{
    step_row r = step_row_of(p, &l->on->power);

    r.machine = l->on->label;
    r.sync    = l->curve.q.setup.sync;
    r.tokens  = g->tokens;
    r.at_peak = l->on->at_peak;
    r.again   = l->on->again;
    r.turning = l->turns ? l->turning : (turning_point){ 0, 0, 0 };
    r.set     = g->net->set;
    r.layout  = g->layout;
    return r;
}

static unsigned facts_of(const scale_grid *g, const shows *s)
{
    unsigned facts =
        step_program_fact(g->line[0].curve.q.setup.program) | (g->net->set ? STEP_SET : 0) |
        (g->layout ? STEP_LAYOUT : 0) | (s->several ? STEP_SEVERAL : 0) |
        (s->micro ? STEP_MICRO : 0) | (s->whole ? STEP_WHOLE : 0) |
        (s->syncs || s->synced ? STEP_SYNC : 0) | (s->tokens ? STEP_TOKENS : 0) |
        (g->line[0].curve.q.dataset ? STEP_EPOCHS : 0) | (g->n_machines > 1 ? STEP_COMPARED : 0);

    for (size_t i = 0; i < g->n_machines; i++) {
        const scale_machine *m    = g->line[i].on;
        const prediction    *step = &g->line[i].point[0].step;

        facts |= step_watts_facts(&m->power) | step_spread_fact(step) |
                 (m->at_peak > 0 ? STEP_PEAK : 0) | (m->again > 0 ? STEP_AGAIN : 0) |
                 (step->unsplit >= 5e-5 ? STEP_UNSPLIT : 0);
    }
    return facts;
}

/* A row for each point: machines beside each other. */
static table *points_table(const scale_grid *g, const table_look *look)
{
    const shows      s    = looked(g);
    const field_view v    = { .fields = step_fields,
                              .in     = field_place_of(look->format),
                              .facts  = facts_of(g, &s),
                              .look   = look };
    field_rows       rows = field_rows_of(&v);

    for (size_t i = 0; i < g->n_lines * g->n_nodes; i++) {
        const size_t      n = g->n_machines, setting = i / (n * g->n_nodes);
        const scale_line *l = &g->line[setting * n + i % n];
        const step_row    r = row_of(g, l, &l->point[i / n % g->n_nodes]);

        field_row(&rows, &r);
    }
    return rows.t;
}

/* For people the settings that differ between curves; for files all settings. */
enum turn_facts {
    TURN_BATCH  = 1 << 20, /* a batch of each device is given; strong scaling has only a whole
                             batch */
    TURN_WHOLE  = 1 << 21, /* a whole batch is given */
    TURN_SIZE   = 1 << 22, /* the batch of each device differs between curves */
    TURN_STRONG = 1 << 23, /* the whole batch differs */
    TURN_SYNC   = 1 << 24, /* the policy does */
};

static const field turn_fields[] = {
    { "machine", .title = "machine", .when = STEP_COMPARED },
    { "devices_per_node", .title = "devices per node", .worth = STEP_SEVERAL },
    { "batch", .title = "batch", .when = TURN_BATCH, .worth = TURN_SIZE },
    { "global_batch", .title = "global batch", .when = TURN_WHOLE, .worth = TURN_STRONG },
    { "sync", .title = "sync", .worth = TURN_SYNC },
    { "turning_point_nodes", .title = "turning point [nodes]" },
    { "turning_point_low", .title = "low" },
    { "turning_point_high", .title = "high" },
    { 0 },
};

static unsigned turn_facts(const scale_grid *g)
{
    const shows        s    = looked(g);
    const scaling_kind kind = g->line[0].curve.q.kind;
    const bool         size = s.batches || (!s.syncs && g->n_machines == 1);

    return (g->n_machines > 1 ? STEP_COMPARED : 0) | (s.several ? STEP_SEVERAL : 0) |
           (kind == SCALING_STRONG ? 0 : TURN_BATCH) | (kind == SCALING_WEAK ? 0 : TURN_WHOLE) |
           (size ? TURN_SIZE : 0) | (size && kind == SCALING_STRONG ? TURN_STRONG : 0) |
           (s.syncs ? TURN_SYNC : 0);
}

/* A row for each curve: its turning point. */
static field_rows turns_of(const scale_grid *g, format f)
{
    const field_view v = {
        .fields = turn_fields, .from = step_fields, .in = field_place_of(f), .facts = turn_facts(g)
    };
    field_rows rows = field_rows_of(&v);

    for (size_t i = 0; i < g->n_lines; i++) {
        const scale_question *q = &g->line[i].curve.q;
        step_row              r = row_of(g, &g->line[i], &g->line[i].point[0]);

        r.point.step.batch   = q->setup.batch; /* a point may use fewer of it */
        r.point.global_batch = q->global_batch;
        field_row(&rows, &r);
    }
    return rows;
}

/* ---- words ---- */

static const char *turn_meaning(scaling_kind kind)
{
    return kind == SCALING_WEAK ? "doubling gains less than 10 % of throughput"
                                : "doubling gains less than 5 % of the epoch time";
}

static void print_turning(const scale_line *l, FILE *out)
{
    const turning_point *t = &l->turning;

    if (l->curve.q.setup.laid_out)
        fputs("turning point: not searched for a layout\n", out);
    else if (!l->turns)
        fputs("turning point: unknown, several nodes cannot be predicted by this machine file\n",
              out);
    else if (t->nodes)
        fprintf(out, "turning point: %lld node%s", (long long)t->nodes, t->nodes == 1 ? "" : "s");
    else
        fprintf(out, "turning point: none up to %d nodes", TURNING_LIMIT);
    if (!l->turns)
        return;
    if (t->low > 0 && t->high > 0)
        fprintf(out, " (%lld to %lld by the interval of all-reduces)", (long long)t->low,
                (long long)t->high);
    else if (t->low > 0)
        fprintf(out, " (%lld or more by the interval of all-reduces)", (long long)t->low);
    fprintf(out, ": %s\n", turn_meaning(l->curve.q.kind));
}

/* Warns of devices without samples. */
static void print_idle(const scale_grid *g, FILE *out)
{
    for (size_t i = 0; i < g->n_lines; i++)
        for (size_t k = 0; k < g->n_nodes; k++) {
            const scale_point *p = &g->line[i].point[k];

            if (!p->idle)
                continue;
            fprintf(out,
                    "note: a batch of %lld on %lld nodes leaves %lld of %lld devices without a "
                    "sample: give fewer nodes or a larger batch\n",
                    (long long)p->global_batch, (long long)p->step.nodes, (long long)p->idle,
                    (long long)(p->step.nodes * p->step.devices));
            return;
        }
}

/* Measured nodes of so many devices; 0: a model with a datasheet. */
static int64_t measured_nodes(const predictor *who, int64_t devices)
{
    return who->cal ? predictor_nodes(who, devices) : 0;
}

/* How far the curves of a machine go beyond the measured ranks. */
static void print_measured(const scale_line *l, size_t n_nodes, FILE *out)
{
    const predictor   *who      = l->on->who;
    const prediction  *last     = &l->point[n_nodes - 1].step;
    const calibration *cal      = who->cal;
    const int64_t      measured = measured_nodes(who, last->devices);
    const char        *label = l->on->label ? l->on->label : "", *colon = l->on->label ? ": " : "";

    if (!cal || last->nodes * last->devices == 1)
        return;
    if (!calibration_asks(cal, predictor_sync_model(who))) {
        if (last->nodes * last->devices > cal->max_ranks)
            fprintf(
                out,
                "note: %s%scalibrated on at most %lld rank%s on %lld host%s; beyond that the curve "
                "is an extrapolation over the same link\n",
                label, colon, (long long)cal->max_ranks, cal->max_ranks == 1 ? "" : "s",
                (long long)cal->max_hosts, cal->max_hosts == 1 ? "" : "s");
    } else if (last->nodes > 1 && measured == 1) {
        fprintf(out, "note: %s%sthe network between nodes is %s, not measured\n", label, colon,
                who->link.assumed ? "assumed"
                : who->link.name  ? "given (--interconnect)"
                                  : "given (--bandwidth)");
    } else if (last->nodes > measured) {
        fprintf(
            out,
            "note: %s%sall-reduces were measured on at most %lld nodes; beyond that the curve is an "
            "extrapolation\n",
            label, colon, (long long)measured);
    }
}

static bool trains(const scale_grid *g)
{
    return g->line[0].curve.q.setup.program == PROGRAM_TRAINING;
}

/* The basis of the curve's last point. */
static void print_basis(const scale_line *l, size_t n_nodes, FILE *out)
{
    const scale_point *last = &l->point[n_nodes - 1];
    step_setup         s;
    lm_error           unsaid;

    step_basis_explain(l->on->who, &last->step, l->on->label, out);
    if (!scale_setup(&l->curve.q, last->step.nodes, &s, &unsaid))
        step_host_hint(l->on->who, &s, &last->step, l->on->label, out);
}

static void print_words(const scale_grid *g, FILE *out)
{
    for (size_t i = 0; i < g->n_machines; i++)
        print_basis(&g->line[i], g->n_nodes, out);
    if (g->n_lines == 1 && trains(g))
        print_turning(&g->line[0], out);
    print_idle(g, out);
    for (size_t i = 0; i < g->n_machines && trains(g); i++)
        print_measured(&g->line[g->n_lines - g->n_machines + i], g->n_nodes, out);
    if (g->net->note)
        fprintf(out, "note: %s\n", g->net->note);
}

static void print_json(const scale_grid *g, const table *rows)
{
    const predictor   *who   = g->machine->who;
    const bool         alone = g->n_machines == 1; /* the rows state it if there are several */
    const scaling_kind kind  = g->line[0].curve.q.kind;
    const field_rows   turns = turns_of(g, FORMAT_JSON); /* inference has none */
    json               j     = { .out = stdout };

    json_open(&j, NULL, '{');
    json_text(&j, "network", g->network);
    json_text(&j, "set", g->net->set);
    json_text(&j, "note", g->net->note);
    if (alone)
        json_text(&j, "machine", who->machine);
    json_text(&j, "model", who->model);
    step_json_phase(&j, g->line[0].curve.q.setup.program, &g->span);
    json_text(&j, "scaling", scaling_kind_name(kind));
    if (g->line[0].curve.q.dataset)
        json_count(&j, "dataset", (uint64_t)g->line[0].curve.q.dataset);
    else
        json_text(&j, "dataset", NULL);
    if (alone && who->cal) {
        json_count(&j, "calibrated_ranks", (uint64_t)who->cal->max_ranks);
        json_count(&j, "calibrated_hosts", (uint64_t)who->cal->max_hosts);
    } else if (alone) {
        json_text(&j, "device", g->machine->device);
    }
    if (trains(g)) {
        json_text(&j, "turning_point", turn_meaning(kind));
        table_json(turns.t, &j, "curves");
    }
    table_json(rows, &j, "points");
    json_close(&j, '}');
    table_free(turns.t);
}

static lm_status print_turns(const scale_grid *g, lm_error *err)
{
    const field_rows turns = turns_of(g, FORMAT_TABLE);

    printf("\nturning points: %s; low and high by the interval of all-reduces\n",
           turn_meaning(g->line[0].curve.q.kind));
    return field_rows_print(&turns, FORMAT_TABLE, stdout, LM_OK, err);
}

lm_status scale_print(const scale_grid *g, const table_look *look, lm_error *err)
{
    const format f      = look->format;
    table       *t      = points_table(g, look);
    lm_status    status = LM_OK;

    if (f == FORMAT_JSON)
        print_json(g, t);
    else
        status = table_print(t, f, stdout, err);
    if (!status && f == FORMAT_TABLE && g->n_lines > 1 && trains(g))
        status = print_turns(g, err);
    if (!status && f != FORMAT_JSON)
        print_words(g, f == FORMAT_TABLE ? stdout : stderr);
    table_free(t);
    return status;
}

bool scale_lacks_power(const scale_grid *g, const scale_machine *m)
{
    for (size_t k = 0; k < g->n_lines; k++)
        for (size_t i = 0; i < g->n_nodes; i++)
            if (g->line[k].on == m && !step_power_told(&m->power, &g->line[k].point[i]))
                return true;
    return false;
}

/* ---- picture ---- */

/* "MACHINE, DEVICES a node, batch N, ddp:25MiB": the settings of a curve that differ; "" for a single
 * one. */
#define LABEL 160
static const char *label_of(const scale_grid *g, const scale_line *l, bool by_batch,
                            char buffer[LABEL])
{
    const shows           s = looked(g);
    const scale_question *q = &l->curve.q;
    char                  policy[SYNC_POLICY_TEXT];

    *buffer = '\0';
    if (l->on->label)
        text_add(buffer, LABEL, "%.60s", l->on->label);
    if (s.devices)
        text_add(buffer, LABEL, "%s%lld a node", *buffer ? ", " : "", (long long)q->setup.devices);
    if (s.batches && !by_batch)
        text_add(buffer, LABEL, "%sbatch %lld", *buffer ? ", " : "", (long long)q->setup.batch);
    if (s.syncs)
        text_add(buffer, LABEL, "%s%s", *buffer ? ", " : "",
                 sync_policy_print(&q->setup.sync, policy));
    return buffer;
}

ORDER_BY(by_batch, scale_point, step.batch)

typedef struct drawing {
    plot_curve *curve;
    size_t      n;
    char (*label)[LABEL]; /* of each line */
    scale_point *room;    /* over batches: a point of each line */
} drawing;

/* A curve of each line over nodes. */
static void draw_nodes(const scale_grid *g, drawing *d)
{
    for (size_t i = 0; i < g->n_lines; i++) {
        const scale_line *l = &g->line[i];

        d->curve[d->n++] = (plot_curve){
            .label    = label_of(g, l, false, d->label[i]),
            .point    = l->point,
            .n        = g->n_nodes,
            .turning  = l->turns ? l->turning : (turning_point){ 0, -1, -1 },
            .measured = !trains(g) ? 0 : measured_nodes(l->on->who, l->curve.q.setup.devices)
        };
    }
}

/* Draws one curve for all lines that differ in the batch alone. */
static void draw_batches(const scale_grid *g, drawing *d)
{
    scale_point *to = d->room;

    for (size_t i = 0; i < g->n_lines; i++)
        label_of(g, &g->line[i], true, d->label[i]);
    for (size_t i = 0; i < g->n_lines; i++) {
        plot_curve c    = { .label = d->label[i], .point = to };
        bool       seen = false;

        for (size_t k = 0; k < i; k++)
            seen |= !strcmp(d->label[k], d->label[i]);
        for (size_t k = i; k < g->n_lines && !seen; k++)
            if (!strcmp(d->label[k], d->label[i]))
                to[c.n++] = g->line[k].point[0];
        if (seen)
            continue;
        qsort(to, c.n, sizeof *to, by_batch);
        to += c.n;
        d->curve[d->n++] = c;
    }
}

/* Measured steps at the points of the curves. *room owns them. */
static lm_status find_marks(const scale_grid *g, const char *path, drawing *d, measured_mark **room,
                            lm_error *err)
{
    observations *obs    = NULL;
    lm_status     status = observations_load(path, &obs, err);
    size_t        n      = 0;

    if (!status)
        note_cut_short(obs->cut_short, obs->path);
    if (!status && !(*room = calloc(obs->n_rows * d->n + 1, sizeof **room)))
        status = no_memory(err);
    for (size_t k = 0; k < d->n && !status; k++) {
        plot_curve *c = &d->curve[k];

        status  = measured_marks(obs, g->machine->who, !trains(g), c->point, c->n, *room + n,
                                 &c->n_marks, err);
        c->mark = *room + n;
        n += c->n_marks;
    }
    if (!status && !n)
        status = lm_error_set(err, LM_E_NOTFOUND,
                              "%s: no %s of %s with the nodes, devices and batch of a curve: give "
                              "those that were measured",
                              path, trains(g) ? "step" : "inference", g->network);
    observations_free(obs);
    return status;
}

lm_status scale_draw(const scale_grid *g, const char *path, const char *batch, const char *measured,
                     bool keep_script, lm_error *err)
{
    const shows        s      = looked(g);
    const scaling_kind kind   = g->line[0].curve.q.kind;
    drawing            d      = { .curve = calloc(g->n_lines, sizeof *d.curve),
                                  .label = calloc(g->n_lines, sizeof *d.label),
                                  .room  = calloc(g->n_lines, sizeof *d.room) };
    lm_status          status = d.curve && d.label && d.room ? LM_OK : no_memory(err);
    char               title[200], nodes[48] = "";
    measured_mark     *marks = NULL;
    const plot_heads   heads = { title, g->n_nodes == 1 && s.batches, !trains(g) };

    if (heads.by_batch)
        snprintf(nodes, sizeof nodes, " on %lld node%s", (long long)g->line[0].point[0].step.nodes,
                 g->line[0].point[0].step.nodes == 1 ? "" : "s");
    snprintf(title, sizeof title, "%.60s: %s%s scaling, batch %.40s%s%s, %s", g->network,
             trains(g) ? "" : "inference, ", scaling_kind_name(kind), batch,
             kind == SCALING_WEAK ? " per device" : " in all", nodes, g->machine->who->model);
    if (!status) {
        if (heads.by_batch)
            draw_batches(g, &d);
        else
            draw_nodes(g, &d);
        if (measured)
            status = find_marks(g, measured, &d, &marks, err);
        if (!status)
            status = plot_scaling(path, &heads, d.curve, d.n, keep_script, err);
    }
    free_all(marks, d.curve, d.label, d.room);
    return status;
}
