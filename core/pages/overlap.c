/* Timeline of one step: the device, and gradients that travel meanwhile. */
#include <math.h>

#include "pages/page_parts.h"

/* Seconds from the start of the step to its last backward pass. */
static double before(const page_machine *m)
{
    const prediction *s = &m->apart->step;

    return s->forward + s->backward - m->buckets.last;
}

static double update_of(const prediction *s)
{
    return s->grad - s->exposed - s->copy - s->straggler;
}

/* A box in a lane: 0 the device, 1 the gradients. */
static void put_box(FILE *out, double begin, double end, int lane)
{
    fprintf(out, "%.9g %d %.9g %.9g %.2f %.2f\n", 1e3 * begin, lane, 1e3 * begin, 1e3 * end,
            lane - 0.34, lane + 0.34);
}

static void put_boxes(FILE *out, const page_machine *m)
{
    const prediction *s      = &m->apart->step;
    const double      begin  = before(m);
    const double      passed = begin + m->buckets.last;

    fputs("$p0 << EOD\n", out);
    put_box(out, 0, begin, 0);
    fputs("EOD\n$p1 << EOD\n", out);
    put_box(out, begin, passed, 0);
    fputs("EOD\n$p2 << EOD\n", out);
    for (size_t i = 0; i < m->buckets.n; i++)
        put_box(out, begin + m->buckets.bucket[i].start, begin + m->buckets.bucket[i].end, 1);
    fputs("EOD\n$p3 << EOD\n", out);
    put_box(out, passed + s->exposed, s->step - update_of(s), 0);
    fputs("EOD\n$p4 << EOD\n", out);
    put_box(out, s->step - update_of(s), s->step, 0);
    fputs("EOD\n$ready << EOD\n", out);
    for (size_t i = 0; i < m->buckets.n; i++)
        fprintf(out, "%.9g 1.42\n", 1e3 * (begin + m->buckets.bucket[i].ready));
    fputs("EOD\n", out);
}

static void put_hint(FILE *out, double begin, double end, double lane, const char *what)
{
    if (!(end > begin))
        return;
    fprintf(out, "%.9g %.2f ", 500 * (begin + end), lane);
    html_hint(out, "%s: %.4g ms, from %.4g to %.4g ms", what, 1e3 * (end - begin), 1e3 * begin,
              1e3 * end);
    putc('\n', out);
}

static void put_hints(FILE *out, const page *p, const page_machine *m)
{
    const prediction *s      = &m->apart->step;
    const double      begin  = before(m);
    const double      passed = begin + m->buckets.last;
    char              name[80];

    if (!p->hints)
        return;
    chart_hints_begin(out);
    put_hint(out, 0, begin, 0, "forward");
    put_hint(out, begin, passed, 0, "backward");
    put_hint(out, passed, passed + s->exposed, 0, "waiting for gradients");
    put_hint(out, passed + s->exposed, s->step - update_of(s), 0, "copies, waits");
    put_hint(out, s->step - update_of(s), s->step, 0, "update");
    for (size_t i = 0; i < m->buckets.n; i++) {
        const overlap_bucket *b = &m->buckets.bucket[i];

        snprintf(name, sizeof name, "gradients, message %zu of %zu", i + 1, m->buckets.n);
        put_hint(out, begin + b->start, begin + b->end, 1, name);
    }
    chart_hints_end(out);
}

/* The time for which the device waits for gradients, as an arrow. */
static void put_exposed(FILE *out, const page_machine *m)
{
    const prediction *s      = &m->apart->step;
    const double      passed = 1e3 * (before(m) + m->buckets.last);
    char              text[32];

    if (!(s->exposed > 0.005 * s->step))
        return;
    fprintf(
        out,
        "set arrow 1 from first %.9g,0 to first %.9g,0 heads size screen 0.008,25 lw 1.5 lc rgb "
        "'#1b1b1b' front\n",
        passed, passed + 1e3 * s->exposed);
    fprintf(out, "set label 1 '%s exposed' at first %.9g,-0.72 %s font ',11' front\n",
            html_time(s->exposed, text, sizeof text), passed + 500 * s->exposed,
            passed + 500 * s->exposed > 800 * s->step ? "right" : "center");
}

static void put_timeline(FILE *out, const void *what)
{
    static const struct {
        const char *data;
        chart_part  as;
        const char *name;
    } series[]            = { { "$p0", CHART_FORWARD, "forward" },
                              { "$p1", CHART_BACKWARD, "backward" },
                              { "$p2", CHART_SYNC, "gradients" },
                              { "$p3", CHART_OTHER, "copies, waits" },
                              { "$p4", CHART_UPDATE, "update" } };
    const page_chart   *c = what;
    const page_machine *m = c->machine;
    const prediction   *s = &m->apart->step;

    chart_begin(out, c->title, c->size, 6, 2);
    put_boxes(out, m);
    put_hints(out, c->page, m);
    put_exposed(out, m);
    fputs("set ytics scale 0 ('device' 0, 'network' 1)\nset yrange [-1.1:1.65]\nunset grid\n"
          "set grid x lc rgb '#dddddd' lt 1\n"
          "set style fill solid border rgb '#ffffff'\n",
          out);
    chart_time_axis(out, 'x', 1e3 * s->step, "since the step began");
    fputs("plot ", out);
    for (size_t i = 0; i < sizeof series / sizeof series[0]; i++)
        if (series[i].as != CHART_OTHER || s->copy + s->straggler > 0)
            fprintf(out,
                    "%s using 1:2:3:4:5:6 with boxxyerror lw 0.5 fc rgb '%s' title '%s', \\\n  ",
                    series[i].data, chart_part_colour(series[i].as), series[i].name);
    fputs("$ready using 1:2 with points pt 11 ps 0.6 lc rgb '#1b1b1b' title 'bucket ready', \\\n",
          out);
    page_end_plot(out, c->page);
}

void page_overlap_charts(page *p)
{
    char name[PAGE_NAME], nodes[32], step[32], exposed[32], sync[32];

    for (size_t k = 0; k < p->n_machines; k++) {
        const page_machine *m = &p->machine[k];
        page_chart         *c;

        if (!m->buckets.n || (p->layout && p->question.setup.layout.pp > 1))
            continue;
        c = page_add_chart(p, page_chart_name(p, "timeline", m, name, sizeof name), m,
                           (gnuplot_size){ 440, 270 }, put_timeline);
        snprintf(c->title, sizeof c->title, "%s: one step in time", m->label);
        snprintf(
            c->text, sizeof c->text,
            "One step on %s of %s, %s. Below: the work of the device. Above: the buckets of gradients on "
            "the network, from start to arrival. Of %s of %s, %s are exposed after "
            "the backward pass.",
            page_nodes(m->at, nodes, sizeof nodes), m->label,
            html_time(m->apart->step.step, step, sizeof step),
            html_time(m->buckets.sync, sync, sizeof sync), p->layout ? "messages" : "all-reduces",
            html_time(m->buckets.exposed, exposed, sizeof exposed));
    }
}

/* ---- words ---- */

static const char *layer_name(const page_machine *m, size_t layer)
{
    return layer < m->apart->n_layers ? m->apart->layer[layer].name : "";
}

typedef struct bucket_row {
    uint64_t    bucket;
    double      bytes, ready, start, end; /* s since the step began */
    const char *from, *to;
} bucket_row;

static const field bucket_fields[] = {
    { "bucket", .page = "bucket", FIELD_AT(bucket_row, bucket) },
    { "mb", .page = "MB", FIELD_AT(bucket_row, bytes), .times = 1e-6, WITH_DIGITS(-1) },
    { "ready_ms", .page = "ready [ms]", FIELD_AT(bucket_row, ready), IN_MS },
    { "start_ms", .page = "start [ms]", FIELD_AT(bucket_row, start), IN_MS },
    { "end_ms", .page = "end [ms]", FIELD_AT(bucket_row, end), IN_MS },
    { "from", .page = "from layer", FIELD_AT(bucket_row, from) },
    { "to", .page = "to layer", FIELD_AT(bucket_row, to) },
    { 0 },
};

static table *buckets_table(const page *p, const page_machine *m)
{
    field_rows   rows  = page_rows(p, bucket_fields, 0, NULL);
    const double begin = before(m);

    for (size_t i = 0; i < m->buckets.n; i++) {
        const overlap_bucket *b = &m->buckets.bucket[i];

        field_row(&rows, &(bucket_row){ i + 1, b->bytes, begin + b->ready, begin + b->start,
                                        begin + b->end, layer_name(m, b->last_layer),
                                        layer_name(m, b->first_layer) });
    }
    return rows.t;
}

static void put_pipeline_words(const page_machine *m, FILE *out)
{
    const prediction *s = &m->apart->step;
    char              nodes[32], a[32], b[32];

    html_paragraph(out,
                   "%s on %s: of a step of %s the stage that ends last waits %s for other stages, "
                   "%.0f %%. Messages of gradients and the update follow.",
                   m->label, page_nodes(m->at, nodes, sizeof nodes),
                   html_time(s->step, a, sizeof a), html_time(s->bubble, b, sizeof b),
                   100 * s->bubble / s->step);
    if (!m->tasks.n)
        html_paragraph(
            out,
            "A pipeline of more than %d tasks is not drawn: 'predict --layout ... --timeline "
            "FILE.svg' draws the beginning, FILE.json has all.",
            PAGE_TASKS);
}

/* The stages over time. */
static void put_stages(const page_machine *m, FILE *out)
{
    if (!m->tasks.n)
        return;
    fputs("<figure class=\"wide\">\n", out);
    timeline_put_svg(&m->stages, out);
    fputs("<figcaption>", out);
    html_textf(out, "%s: the tasks of each stage; the number is that of the micro-batch.",
               m->label);
    fputs("</figcaption>\n</figure>\n", out);
}

static void put_words(const page *p, const page_machine *m, FILE *out)
{
    const double hidden = m->buckets.sync - m->buckets.exposed;
    char         a[32], b[32], nodes[32];

    if (p->layout && p->question.setup.layout.pp > 1)
        put_pipeline_words(m, out);
    else if (*m->untold.text)
        html_paragraph(out, "%s has no timeline: %s.", m->label, m->untold.text);
    else if (!m->buckets.n)
        html_paragraph(out, "%s: one device sends no gradients%s.", m->label,
                       *m->refused.text ? ", and several nodes were not calibrated" : "");
    else if (p->question.setup.sync.rule == SYNC_ONCE && !p->layout)
        html_paragraph(
            out,
            "%s on %s: the all-reduce takes %s. None of it is hidden, because it starts when the "
            "backward pass has ended.",
            m->label, page_nodes(m->at, nodes, sizeof nodes),
            html_time(m->buckets.sync, a, sizeof a));
    else
        html_paragraph(
            out, "%s on %s: %s take %s. The backward pass hides %.0f %% of it; %s remain exposed.",
            m->label, page_nodes(m->at, nodes, sizeof nodes),
            p->layout ? "messages of gradients and weights" : "all-reduces",
            html_time(m->buckets.sync, a, sizeof a),
            m->buckets.sync > 0 ? 100 * fmax(0, hidden) / m->buckets.sync : 0,
            html_time(m->buckets.exposed, b, sizeof b));
}

void page_overlap_write(const page *p, FILE *out)
{
    char name[PAGE_NAME], text[2 * PAGE_NAME];

    for (size_t k = 0; k < p->n_machines; k++)
        put_words(p, &p->machine[k], out);
    for (size_t k = 0; k < p->n_machines; k++)
        put_stages(&p->machine[k], out);
    fputs("<div class=\"charts\">\n", out);
    for (size_t k = 0; k < p->n_machines; k++)
        page_figure(p, page_chart_name(p, "timeline", &p->machine[k], name, sizeof name), out);
    fputs("</div>\n", out);
    for (size_t k = 0; k < p->n_machines; k++) {
        if (!p->machine[k].buckets.n || p->machine[k].tasks.n)
            continue;
        snprintf(text, sizeof text, "Buckets on %s, in the order they travel", p->machine[k].label);
        page_numbers(buckets_table(p, &p->machine[k]), text, out);
    }
}
