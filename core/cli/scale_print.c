/* Curves of layermeter scale in words, tables, JSON and pictures. */
#include "cli/cmd_scale.h"

#include <stdlib.h>

#include "base/no_memory.h"
#include "report/plot.h"

static void print_turning(const scale_line *l, FILE *out)
{
    const turning_point *t = &l->turning;

    if (!l->turns)
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
    fprintf(out, ": %s\n", scale_turn_meaning(l->curve.q.kind));
}

/* Where some devices have nothing to do. */
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

/* Nodes of so many devices whose all-reduces were measured; 0: of a datasheet. */
static int64_t measured_nodes(const session *s, int64_t devices)
{
    return s->cal ? calibration_nodes(s->cal, predictor_sync_model(s->who), devices) : 0;
}

/* How far the curves leave what was measured between ranks. */
static void print_measured(const scale_grid *g, const session *s, FILE *out)
{
    const prediction *last     = &g->line[g->n_lines - 1].point[g->n_nodes - 1].step;
    const int64_t     measured = measured_nodes(s, last->devices);

    if (!s->cal || last->nodes * last->devices == 1)
        return;
    if (!calibration_asks(s->cal, predictor_sync_model(s->who))) {
        if (last->nodes * last->devices > s->cal->max_ranks)
            fprintf(
                out,
                "note: calibrated on at most %lld rank%s on %lld host%s; beyond that the curve is "
                "an extrapolation over the same link\n",
                (long long)s->cal->max_ranks, s->cal->max_ranks == 1 ? "" : "s",
                (long long)s->cal->max_hosts, s->cal->max_hosts == 1 ? "" : "s");
    } else if (last->nodes > 1 && measured == 1) {
        fputs("note: what connects nodes is told (--bandwidth), not measured\n", out);
    } else if (last->nodes > measured) {
        fprintf(
            out,
            "note: all-reduces were measured on at most %lld nodes; beyond that the curve is an "
            "extrapolation\n",
            (long long)measured);
    }
}

static void print_words(const scale_grid *g, const session *s, FILE *out)
{
    if (g->n_lines == 1)
        print_turning(&g->line[0], out);
    print_idle(g, out);
    print_measured(g, s, out);
    print_note(s->net, out);
}

static void print_json(const scale_grid *g, const table *rows, const session *s,
                       const scale_options *a)
{
    table *turns = scale_turns(g, FORMAT_JSON);
    json   j     = { .out = stdout };

    json_open(&j, NULL, '{');
    json_text(&j, "network", s->who->network);
    json_text(&j, "set", s->net->set);
    json_text(&j, "note", s->net->note);
    json_text(&j, "machine", s->who->machine);
    json_text(&j, "model", s->who->model);
    json_text(&j, "scaling", scaling_kind_name(a->scaling.kind));
    json_count(&j, "dataset", (uint64_t)g->line[0].curve.q.dataset);
    if (s->cal) {
        json_count(&j, "calibrated_ranks", (uint64_t)s->cal->max_ranks);
        json_count(&j, "calibrated_hosts", (uint64_t)s->cal->max_hosts);
    } else {
        json_text(&j, "device", a->session.source.device);
    }
    json_text(&j, "turning_point", scale_turn_meaning(g->line[0].curve.q.kind));
    table_json(turns, &j, "curves");
    table_json(rows, &j, "points");
    json_close(&j, '}');
    table_free(turns);
}

static lm_status print_turns(const scale_grid *g, lm_error *err)
{
    table    *t      = scale_turns(g, FORMAT_TABLE);
    lm_status status = LM_OK;

    printf("\nturning points: %s; low and high by the interval of all-reduces\n",
           scale_turn_meaning(g->line[0].curve.q.kind));
    status = table_print(t, FORMAT_TABLE, stdout, err);
    table_free(t);
    return status;
}

lm_status scale_print(const scale_grid *g, const session *s, const options *o, lm_error *err)
{
    const scale_options *a      = o->filled;
    const format         f      = a->format;
    table               *t      = scale_rows(g, f);
    lm_status            status = LM_OK;

    if (f == FORMAT_JSON)
        print_json(g, t, s, a);
    else
        status = table_print(t, f, stdout, err);
    if (!status && f == FORMAT_TABLE && g->n_lines > 1)
        status = print_turns(g, err);
    if (!status && f == FORMAT_TABLE && g->set)
        printf("set: %s\n", g->set);
    if (!status && f != FORMAT_JSON)
        print_words(g, s, f == FORMAT_TABLE ? stdout : stderr);
    if (!status && scale_lacks_power(g))
        power_explain_unknown(&g->power, s->who->model, s->who->machine);
    table_free(t);
    return status;
}

lm_status scale_draw(const scale_grid *g, const session *s, const options *o, lm_error *err)
{
    const scale_options *a     = o->filled;
    const void          *batch = a->scaling.whole ? (const void *)&a->scaling.whole : &a->batch;
    char                 title[200];
    char(*label)[SCALE_LABEL];
    plot_curve           *curve;
    const scale_question *q      = &g->line[0].curve.q;
    lm_status             status = LM_OK;

    if (!a->plot)
        return LM_OK;
    curve = calloc(g->n_lines, sizeof *curve);
    label = calloc(g->n_lines, sizeof *label);
    if (!curve || !label) {
        status = no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < g->n_lines; i++)
        curve[i] = (plot_curve){ .label    = scale_label(g, &g->line[i], label[i]),
                                 .point    = g->line[i].point,
                                 .n        = g->n_nodes,
                                 .turning  = g->line[i].turns ? g->line[i].turning
                                                              : (turning_point){ 0, -1, -1 },
                                 .measured = measured_nodes(s, g->line[i].curve.q.setup.devices) };
    snprintf(title, sizeof title, "%.60s: %s scaling, batch %.40s%s, %s", s->who->network,
             scaling_kind_name(q->kind), option_text(o, batch),
             q->kind == SCALING_WEAK ? " per device" : " in all", s->who->model);
    status = plot_scaling(a->plot, title, curve, g->n_lines, a->keep_script, err);
out:
    free(curve);
    free(label);
    return status;
}
