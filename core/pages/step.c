/* Contents of a step: parts over nodes, and classes of kernels. */
#include <math.h>
#include <string.h>

#include "pages/page_parts.h"

/* Seconds of a step by part of the picture. Parts that a model does not separate go to the wider
 * one. Returns true if exposed sync is separate from the update. */
static bool parts_of(const prediction *s, double seconds[N_CHART_PARTS])
{
    memset(seconds, 0, N_CHART_PARTS * sizeof *seconds);
    if (isnan(s->forward) || isnan(s->backward)) {
        seconds[CHART_SYNC]  = isnan(s->exposed) ? 0 : s->exposed;
        seconds[CHART_WHOLE] = s->step - seconds[CHART_SYNC];
        return !isnan(s->exposed);
    }
    seconds[CHART_FORWARD]  = s->forward;
    seconds[CHART_BACKWARD] = s->backward - s->bubble;
    seconds[CHART_BUBBLE]   = s->bubble;
    seconds[CHART_SYNC]     = isnan(s->exposed) ? s->grad : s->exposed;
    seconds[CHART_OTHER]    = isnan(s->exposed) ? 0 : s->copy + s->straggler;
    seconds[CHART_UPDATE]   = isnan(s->exposed) ? 0 : s->grad - s->exposed - seconds[CHART_OTHER];
    return !isnan(s->exposed);
}

/* ---- parts over nodes ---- */

/* Intervals far beyond the steps would flatten all bars. They are cut at this multiple of the
 * longest step; the table has their ends. */
#define HIGHEST_INTERVAL 2.0

static double longest_step(const page *p, const page_machine *m)
{
    double most = 0;

    for (size_t i = 0; i < p->n_nodes; i++)
        if (page_known(&m->point[i]))
            most = fmax(most, m->point[i].step.step);
    return most;
}

/* The end of the axis of bars and intervals. */
static double highest(const page *p, const page_machine *m)
{
    const double step = longest_step(p, m);
    double       most = step;

    for (size_t i = 0; i < p->n_nodes; i++)
        if (page_known(&m->point[i]))
            most = fmax(most, m->point[i].step.high[PHASE_STEP]); /* NAN does not count */
    return fmin(most, HIGHEST_INTERVAL * step);
}

static bool cut_off(const page *p, const page_machine *m)
{
    for (size_t i = 0; i < p->n_nodes; i++)
        if (page_known(&m->point[i]) && m->point[i].step.high[PHASE_STEP] > highest(p, m))
            return true;
    return false;
}

/* Machines of similar speed share a scale, so that bars can be compared. */
#define ONE_SCALE 3.0

static bool one_scale(const page *p, double *top)
{
    double least = INFINITY, most = 0;

    for (size_t k = 0; k < p->n_machines; k++) {
        const double top_of = highest(p, &p->machine[k]);

        least = top_of < least ? top_of : least;
        most  = top_of > most ? top_of : most;
    }
    *top = most;
    return most <= ONE_SCALE * least;
}

/* This many numbers of nodes fit below their bars. */
#define BARS_NAMED 10

/* nodes, milliseconds of each part, low, high */
static void put_row(FILE *out, const prediction *s, bool named, double top)
{
    double seconds[N_CHART_PARTS];

    parts_of(s, seconds);
    if (named)
        fprintf(out, "%lld", (long long)s->nodes);
    else
        fputs("\"\"", out);
    for (chart_part k = 0; k < N_CHART_PARTS; k++)
        fprintf(out, " %.9g", 1e3 * seconds[k]);
    if (isnan(s->low[PHASE_STEP]))
        fputs(" NaN NaN\n", out);
    else
        fprintf(out, " %.9g %.9g\n", 1e3 * s->low[PHASE_STEP],
                1e3 * fmin(s->high[PHASE_STEP], top));
}

/* The parts and intervals of a picture; is exposed sync separate from the update everywhere? */
typedef struct bars_seen {
    bool part[N_CHART_PARTS], range, told;
} bars_seen;

static bars_seen look_at(const page *p, const page_machine *m)
{
    bars_seen seen = { .told = true };

    for (size_t i = 0; i < p->n_nodes; i++) {
        double seconds[N_CHART_PARTS];

        if (!page_known(&m->point[i]))
            continue;
        seen.told &= parts_of(&m->point[i].step, seconds);
        seen.range |= !isnan(m->point[i].step.low[PHASE_STEP]);
        for (chart_part k = 0; k < N_CHART_PARTS; k++)
            seen.part[k] |= seconds[k] > 0;
    }
    return seen;
}

/* Each part at its middle, in the room of its bar. */
static void put_bar_hints(FILE *out, const page *p, const page_machine *m, double top)
{
    size_t at = 0;

    if (!p->hints)
        return;
    chart_hints_begin(out);
    for (size_t i = 0; i < p->n_nodes; i++) {
        double seconds[N_CHART_PARTS], below = 0;

        if (!page_known(&m->point[i]))
            continue;
        parts_of(&m->point[i].step, seconds);
        for (chart_part k = 0; k < N_CHART_PARTS; k++) {
            const double middle = below + seconds[k] / 2;

            below += seconds[k];
            if (!(seconds[k] > 0) || middle > top)
                continue;
            fprintf(out, "%zu %.9g ", at, 1e3 * middle);
            html_hint(out, "%s on %lld node%s: %.4g ms of %.4g ms", chart_part_name(k),
                      (long long)m->point[i].step.nodes, m->point[i].step.nodes == 1 ? "" : "s",
                      1e3 * seconds[k], 1e3 * m->point[i].step.step);
            putc('\n', out);
        }
        at++;
    }
    chart_hints_end(out);
}

static void put_bars(FILE *out, const void *what)
{
    const page_chart   *c    = what;
    const page_machine *m    = c->machine;
    const bars_seen     seen = look_at(c->page, m);
    double              top;

    if (!one_scale(c->page, &top))
        top = highest(c->page, m);
    chart_begin(out, c->title, c->size, 6, 2); /* three do not fit the width */
    fputs("$bars << EOD\n", out);
    for (size_t i = 0; i < c->page->n_nodes; i++)
        if (page_known(&m->point[i]))
            put_row(out, &m->point[i].step, i % (c->page->n_nodes / BARS_NAMED + 1) == 0, top);
    fputs("EOD\n", out);
    put_bar_hints(out, c->page, m, top);
    fputs("set style data histograms\nset style histogram rowstacked\nset boxwidth 0.8\n"
          "set style fill solid border rgb '#ffffff'\nset xlabel 'nodes'\n"
          "unset grid\nset grid y lc rgb '#dddddd' lt 1\n",
          out);
    chart_time_axis(out, 'y', 1.05e3 * top, "time of a step");
    fputs("plot ", out);
    for (chart_part k = 0; k < N_CHART_PARTS; k++)
        if (seen.part[k])
            fprintf(out, "$bars using %d:xtic(1) lc rgb '%s' title '%s', \\\n  ", (int)k + 2,
                    chart_part_colour(k),
                    k == CHART_SYNC && !seen.told ? "sync and update" : chart_part_name(k));
    if (seen.range)
        fprintf(
            out,
            "$bars using 0:%d:(0):($%d-$%d) with vectors heads size graph 0.012,90 lw 1.5 lc rgb "
            "'#000000' title 'interval', \\\n",
            N_CHART_PARTS + 2, N_CHART_PARTS + 3, N_CHART_PARTS + 2);
    page_end_plot(out, c->page);
}

/* ---- classes of kernels ---- */

#define ROWS 10 /* the longest classes; the rest is one */

/* Milliseconds of a class on a machine; 0: no such class. */
static double class_ms(const page_machine *m, const char *name)
{
    for (size_t i = 0; i < m->n_kernels; i++)
        if (!strcmp(m->kernels[i].name, name))
            return 1e3 * m->kernels[i].seconds;
    return 0;
}

/* Rows of the picture: the longest classes of the first machine. */
static size_t class_rows(const page *p)
{
    const size_t n = p->machine[0].n_kernels;

    return n < ROWS ? n : ROWS;
}

static double longest(const page *p)
{
    double most = 0;

    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < class_rows(p); i++)
            most = fmax(most, class_ms(&p->machine[k], p->machine[0].kernels[i].name));
    return most;
}

static void put_class_hints(FILE *out, const page *p, size_t rows, double wide)
{
    if (!p->hints)
        return;
    chart_hints_begin(out);
    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < rows; i++) {
            const double ms = class_ms(&p->machine[k], p->machine[0].kernels[i].name);

            fprintf(out, "%.9g %.9g ", ms / 2, (double)i - 0.4 + wide * ((double)k + 0.5));
            html_hint(out, "%s, %s: %.4g ms", p->machine[k].label, p->machine[0].kernels[i].name,
                      ms);
            putc('\n', out);
        }
    chart_hints_end(out);
}

static void put_classes(FILE *out, const void *what)
{
    const page_chart *c    = what;
    const page       *p    = c->page;
    const size_t      rows = class_rows(p);
    const double      wide = 0.8 / (double)p->n_machines;

    page_begin_chart(c, 0, out);
    for (size_t k = 0; k < p->n_machines; k++) {
        fprintf(out, "$m%zu << EOD\n", k);
        for (size_t i = 0; i < rows; i++)
            fprintf(out, "%.9g %.9g\n", class_ms(&p->machine[k], p->machine[0].kernels[i].name),
                    (double)i - 0.4 + wide * ((double)k + 0.5));
        fputs("EOD\n", out);
    }
    put_class_hints(out, p, rows, wide);
    fputs("set ytics scale 0 (", out);
    for (size_t i = 0; i < rows; i++) {
        fputs(i ? ", " : "", out);
        gnuplot_put_quoted(out, p->machine[0].kernels[i].name);
        fprintf(out, " %zu", i);
    }
    fprintf(out,
            ")\nset yrange [%g:-0.6]\nunset grid\n"
            "set grid x lc rgb '#dddddd' lt 1\nset style fill solid border rgb '#ffffff'\n",
            (double)rows - 0.4);
    chart_time_axis(out, 'x', 1.02 * longest(p), "of a step");
    fputs("plot ", out);
    for (size_t k = 0; k < p->n_machines; k++) {
        fprintf(out, "$m%zu using (0):2:(0):1:($2-%g):($2+%g) with boxxyerror lc rgb '%s' title ",
                k, wide / 2, wide / 2, chart_colour(k));
        gnuplot_put_quoted(out, p->machine[k].label);
        fputs(", \\\n  ", out);
    }
    page_end_plot(out, p);
}

/* Under a layout messages and waiting stand beside the kernels. */
static void put_layout_words(const page *p, page_chart *c)
{
    const explanation *e = p->machine[0].apart;
    char               nodes[32], rank[80] = "";

    if (e->ranks)
        snprintf(rank, sizeof rank, " of stage %lld of %lld, which ends last", (long long)e->rank + 1,
                 (long long)e->ranks);
    snprintf(c->title, sizeof c->title, "A step by kernels, messages and waiting");
    snprintf(c->text, sizeof c->text,
             "Time of a step that each class of kernels takes on a rank%s, on %s, what its messages add, and how "
             "long it waits%s. As 'predict --explain --by class' has them.",
             rank, page_nodes(p->machine[0].at, nodes, sizeof nodes),
             class_rows(p) < p->machine[0].n_kernels ? ": the longest" : "");
}

void page_step_charts(page *p)
{
    double top;
    char   nodes[32], name[PAGE_NAME];

    for (size_t k = 0; k < p->n_machines; k++) {
        const page_machine *m = &p->machine[k];
        page_chart *c = page_add_chart(p, page_chart_name(p, "step", m, name, sizeof name), m,
                                       (gnuplot_size){ 440, 320 }, put_bars);

        snprintf(c->title, sizeof c->title, "%s: a step by its parts", m->label);
        snprintf(c->text, sizeof c->text,
                 "Time of a step on %s by number of nodes. Parts run in the order from bottom to "
                 "top.%s%s%s",
                 m->label,
                 p->n_machines > 1 && !one_scale(p, &top) ? " Each machine has its own scale." : "",
                 cut_off(p, m) ? " Longer intervals are cut off at twice the longest step."
                               : "",
                 look_at(p, m).told || look_at(p, m).part[CHART_WHOLE]
                     ? ""
                     : " The model does not tell all-reduces from the update.");
    }
    page_chart *c = page_add_chart(
        p, "kernels", NULL,
        (gnuplot_size){ p->layout ? 620 : 440, 130 + (double)class_rows(p) * (10 + 12 * (double)p->n_machines) },
        put_classes);

    if (p->layout) {
        put_layout_words(p, c);
        return;
    }
    snprintf(c->title, sizeof c->title, "The device's work by %s",
             page_learned(p) ? "types of layers" : "classes of kernels");
    snprintf(c->text, sizeof c->text,
             "Time of a step that each %s takes, on %s%s: forward, backward and update, without "
             "all-reduces. 'predict --explain --by class' lists the %s.",
             page_learned(p) ? "type of layer" : "class of kernels",
             page_nodes(p->machine[0].at, nodes, sizeof nodes),
             class_rows(p) < p->machine[0].n_kernels ? ", the longest" : "",
             page_learned(p) ? "types" : "classes");
}

/* ---- words ---- */

/* A class or block, and its parts of a step. */
typedef struct work_row {
    const char *name;
    double      forward, backward, update, seconds, share;
} work_row;

/* Facts: a forward pass in evaluation mode, whose parts are in one column, or not. */
enum { PASS = 1, PARTS = 2 };

static const field work_fields[] = {
    { "%s", .page = "%s", FIELD_AT(work_row, name), .each = field_named },
    { "forward_ms", .page = "forward [ms]", FIELD_AT(work_row, forward), IN_MS, .when = PARTS },
    { "backward_ms", .page = "backward [ms]", FIELD_AT(work_row, backward), IN_MS, .when = PARTS },
    { "update_ms", .page = "update [ms]", FIELD_AT(work_row, update), IN_MS, .when = PARTS },
    { "all_ms", .page = "together [ms]", FIELD_AT(work_row, seconds), IN_MS, .when = PARTS },
    { "all_ms", .page = "time [ms]", FIELD_AT(work_row, seconds), IN_MS, .when = PASS },
    { "percent", .page = "%", FIELD_AT(work_row, share), IN_PERCENT },
    { 0 },
};

static void add_work(field_rows *rows, const page_machine *m, const char *name, const explained *x)
{
    const bool whole = m->apart->part[0] == PHASE_STEP; /* whose parts are unknown */

    field_row(
        rows,
        &(work_row){
            name, whole ? NAN : x->part[PHASE_FORWARD], whole ? NAN : x->part[PHASE_BACKWARD],
            whole ? NAN : x->part[PHASE_UPDATE] + x->part[PHASE_GRAD_ONE] + x->part[PHASE_GRAD],
            x->seconds, x->seconds / m->work });
}

static const char *bottleneck_words(bottleneck b)
{
    static const char *const words[N_BOTTLENECKS] = {
        [BOTTLENECK_ARITHMETIC] = "arithmetic",
        [BOTTLENECK_TRAFFIC]    = "traffic of the device's memory",
        [BOTTLENECK_LAUNCH]     = "starting kernels",
        [BOTTLENECK_INTRA_NODE] = "waiting for messages from devices of the same node",
        [BOTTLENECK_INTER_NODE] = "waiting for messages from other nodes",
        [BOTTLENECK_BUBBLE]     = "waiting for other stages of the pipeline",
        [BOTTLENECK_COMPUTE]    = "the device's own work",
    };

    return words[b];
}

/* The longest blocks: a network may have hundreds. */
#define ROWS_LISTED 20

static table *work_table(const page *p, const page_machine *m, const char *what,
                         const explained *row, size_t n, bool pass)
{
    field_rows rows = page_rows(p, work_fields, pass ? PASS : PARTS, what);
    explained  rest = { .coefficient = NAN };
    char       text[40];

    for (size_t i = 0; i < n && i < ROWS_LISTED; i++)
        add_work(&rows, m, row[i].name, &row[i]);
    for (size_t i = ROWS_LISTED; i < n; i++)
        explained_add(&rest, &row[i]);
    snprintf(text, sizeof text, "(%zu more)", n - ROWS_LISTED);
    if (n > ROWS_LISTED)
        add_work(&rows, m, text, &rest);
    return rows.t;
}

/* Classes of kernels, and blocks; `where`: the machine, and its batch. */
static void put_works(const page *p, const page_machine *m, const char *where, bool pass, FILE *out)
{
    const bool learned = page_learned(p);
    char       text[3 * PAGE_NAME];

    snprintf(text, sizeof text, "%s on %s", learned ? "Types of layers" : "Classes of kernels",
             where);
    page_numbers(work_table(p, m, learned ? "type" : "class", m->kernels, m->n_kernels, pass), text,
                 out);
    snprintf(text, sizeof text, "Blocks of the network on %s", where);
    page_numbers(work_table(p, m, "block", m->blocks, m->n_blocks, pass), text, out);
}

/* The largest part of a step, in one sentence. */
static void put_bound(const page *p, const page_machine *m, FILE *out)
{
    const scale_point *x = page_point(p, m, m->at);
    char               nodes[32];

    if (!x || isnan(x->bottleneck.share))
        return;
    html_paragraph(out, "%s on %s: the largest share of a step, %.0f %%, is %s.", m->label,
                   page_nodes(m->at, nodes, sizeof nodes), 100 * x->bottleneck.share,
                   bottleneck_words(x->bottleneck.most));
}

void page_step_write(const page *p, FILE *out)
{
    char name[PAGE_NAME];

    for (size_t k = 0; k < p->n_machines; k++)
        put_bound(p, &p->machine[k], out);
    fputs("<div class=\"charts\">\n", out);
    for (size_t k = 0; k < p->n_machines; k++)
        page_figure(p, page_chart_name(p, "step", &p->machine[k], name, sizeof name), out);
    page_figure(p, "kernels", out);
    fputs("</div>\n", out);
    if (page_learned(p))
        html_paragraph(out,
                       "%s learned layers as wholes: which kernels they are made of, and what "
                       "bounds these, it does not say.",
                       p->machine[0].who->model);
    page_numbers(page_points(p, step_parts_told), "The parts in numbers", out);
    for (size_t k = 0; k < p->n_machines; k++)
        put_works(p, &p->machine[k], p->machine[k].label, false, out);
}

void page_pass_write(const page *p, FILE *out)
{
    char where[2 * PAGE_NAME];

    for (size_t k = 0; k < p->n_machines; k++) {
        const page_machine *m = &p->machine[k];
        const scale_point  *x = &m->point[p->n_nodes - 1];

        if (!isnan(x->bottleneck.share))
            html_paragraph(out, "%s at batch %lld: the largest share of a pass, %.0f %%, is %s.",
                           m->label, (long long)x->step.batch, 100 * x->bottleneck.share,
                           bottleneck_words(x->bottleneck.most));
        snprintf(where, sizeof where, "%s, batch %lld", m->label, (long long)x->step.batch);
        put_works(p, m, where, true, out);
    }
}
