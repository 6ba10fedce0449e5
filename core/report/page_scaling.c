/* Throughput and efficiency over nodes. */
#include <math.h>

#include "base/text.h"
#include "report/page_parts.h"

/* ---- pictures -----------------------------------------------------------------------------------
 */

/* Columns of the data of a machine. */
enum {
    NODES = 1,
    RATE,        /* samples a second */
    RATE_WITHIN, /* the same within the calibration, NaN beyond */
    RATE_BEYOND,
    RATE_LOW,
    RATE_HIGH,
    LINEAR,
    PERCENT, /* of linear scaling */
    PERCENT_WITHIN,
    PERCENT_BEYOND,
    PERCENT_LOW,
    PERCENT_HIGH
};

static void put_point(FILE *out, const scale_point *x)
{
    const bool   beyond  = x->step.grounds.n_beyond > 0;
    const double percent = 100 * x->efficiency, rate = x->samples_per_second;

    fprintf(out, "%lld %.9g %.9g %.9g %.9g %.9g %.9g ", (long long)x->step.nodes, rate,
            beyond ? NAN : rate, beyond ? rate : NAN, x->samples.low, x->samples.high,
            rate / x->efficiency);
    fprintf(out, "%.9g %.9g %.9g %.9g %.9g\n", percent, beyond ? NAN : percent,
            beyond ? percent : NAN, 100 * x->efficiencies.low, 100 * x->efficiencies.high);
}

static void put_data(FILE *out, const page *p)
{
    for (size_t k = 0; k < p->n_machines; k++) {
        fprintf(out, "$m%zu << EOD\n", k);
        for (size_t i = 0; i < p->n_nodes; i++)
            if (page_known(&p->machine[k].point[i]))
                put_point(out, &p->machine[k].point[i]);
        fputs("EOD\n", out);
    }
}

static bool drawn(const page *p, size_t k)
{
    for (size_t i = 0; i < p->n_nodes; i++)
        if (page_known(&p->machine[k].point[i]))
            return true;
    return false;
}

static bool any_beyond(const page *p)
{
    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < p->n_nodes; i++)
            if (page_known(&p->machine[k].point[i]) && p->machine[k].point[i].step.grounds.n_beyond)
                return true;
    return false;
}

/* Is a band known anywhere? Gnuplot warns of one that is not. */
static bool has_band(const page *p, size_t k, bool rate)
{
    for (size_t i = 0; i < p->n_nodes; i++) {
        const scale_point *x = &p->machine[k].point[i];

        if (page_known(x) && !isnan(rate ? x->samples.low : x->efficiencies.low))
            return true;
    }
    return false;
}

/* Bands of all machines come first: no curve hides below one. */
static void plot_bands(FILE *out, const page *p, bool rate)
{
    for (size_t k = 0; k < p->n_machines; k++)
        if (has_band(p, k, rate))
            page_band(out, p, k, rate ? RATE : PERCENT, rate ? RATE_LOW : PERCENT_LOW,
                      rate ? RATE_HIGH : PERCENT_HIGH);
}

/* The least or the most samples a second that are drawn. */
static double extreme(const page *p, bool most)
{
    double found = NAN;

    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < p->n_nodes; i++) {
            const scale_point *x = &p->machine[k].point[i];

            if (!page_known(x))
                continue;
            found = most ? fmax(found, x->samples_per_second / fmin(1, x->efficiency))
                         : fmin(found, x->samples_per_second);
            found = most ? fmax(found, x->samples.high) : fmin(found, x->samples.low);
        }
    return found;
}

static void put_throughput(FILE *out, const void *what)
{
    const page_chart *c     = what;
    const page       *p     = c->page;
    bool              first = true;

    page_begin_chart(c, 1, out);
    put_data(out, p);
    chart_node_axis(out, p->nodes, p->n_nodes, p->question.setup.devices);
    chart_log_axis(out, 'y', extreme(p, false), extreme(p, true));
    fputs("set ylabel 'samples per second'\nplot \\\n", out);
    plot_bands(out, p, true);
    for (size_t k = 0; k < p->n_machines; k++)
        if (drawn(p, k))
            chart_curve(out, k, p->machine[k].label, RATE, RATE_WITHIN, RATE_BEYOND);
    for (size_t k = 0; k < p->n_machines; k++) {
        if (!drawn(p, k))
            continue;
        fprintf(out, "  $m%zu using 1:%d with lines lw 1.5 dt 3 lc rgb '#777777' %s, \\\n", k,
                LINEAR, first ? "title 'linear'" : "notitle");
        first = false;
    }
    fputs("  NaN notitle\n", out);
}

static void put_efficiency(FILE *out, const void *what)
{
    const page_chart *c = what;
    const page       *p = c->page;

    page_begin_chart(c, 0, out);
    put_data(out, p);
    chart_node_axis(out, p->nodes, p->n_nodes, p->question.setup.devices);
    fputs("set yrange [0:*<130]\nset ylabel 'percent of linear scaling'\nplot \\\n", out);
    plot_bands(out, p, false);
    for (size_t k = 0; k < p->n_machines; k++)
        if (drawn(p, k))
            chart_curve(out, k, p->machine[k].label, PERCENT, PERCENT_WITHIN, PERCENT_BEYOND);
    fputs("  NaN notitle\n", out);
}

void page_scaling_charts(page *p)
{
    const gnuplot_size size   = { 440, 340 };
    const char *const  hollow = any_beyond(p) ? " Hollow marks lie beyond the calibration." : "";
    page_chart        *c      = page_add_chart(p, "throughput", NULL, size, put_throughput);

    snprintf(c->title, sizeof c->title, "Samples per second");
    snprintf(c->text, sizeof c->text,
             "Samples per second over nodes, both on logarithmic axes. Bands hold 9 cases of 10; "
             "the dotted line is linear scaling.%s",
             hollow);
    c = page_add_chart(p, "efficiency", NULL, size, put_efficiency);
    snprintf(c->title, sizeof c->title, "Efficiency");
    snprintf(c->text, sizeof c->text,
             "Speed-up against one node, as percent of the number of nodes. Bands: all-reduces as "
             "long as the ends of their interval.%s",
             hollow);
}

/* ---- words --------------------------------------------------------------------------------------
 */

static void add_row(table *t, const page *p, const page_machine *m, const scale_point *x)
{
    char beyond[200], epoch[32];

    table_text(t, m->label);
    table_count(t, (uint64_t)x->step.nodes);
    table_count(t, (uint64_t)x->step.batch);
    table_count(t, (uint64_t)x->global_batch);
    table_real(t, 1e3 * x->step.step);
    table_real(t, x->samples_per_second);
    table_real(t, x->samples.low);
    table_real(t, x->samples.high);
    if (p->tokens)
        table_real(t, x->samples_per_second * (double)p->tokens);
    table_real(t, x->speedup);
    table_real(t, 100 * x->efficiency);
    table_text(t, page_time(x->epoch_seconds, epoch, sizeof epoch));
    table_text(t, bottleneck_name(x->bottleneck.most));
    table_text(t, grounds_beyond(&x->step.grounds, beyond, sizeof beyond));
}

static table *points_table(const page *p)
{
    table *t = table_new();

    table_column(t, "machine", "machine", 0);
    table_column(t, "nodes", "nodes", 0);
    table_column(t, "batch", "batch", 0);
    table_column(t, "global_batch", "of all", 0);
    table_column(t, "step_ms", "step [ms]", page_decimals(p));
    table_column(t, "samples_per_s", "samples/s", TABLE_POSITIVE(1));
    table_column(t, "low", "low", TABLE_POSITIVE(1));
    table_column(t, "high", "high", TABLE_POSITIVE(1));
    if (p->tokens)
        table_column(t, "tokens_per_s", "tokens/s", TABLE_POSITIVE(0));
    table_column(t, "speedup", "speed-up", 2);
    table_column(t, "efficiency", "efficiency [%]", 1);
    table_column(t, "epoch", "an epoch takes", 0);
    table_column(t, "bottleneck", "most of a step", 0);
    table_column(t, "beyond", "beyond the calibration", 0);
    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < p->n_nodes; i++)
            if (page_known(&p->machine[k].point[i]))
                add_row(t, p, &p->machine[k], &p->machine[k].point[i]);
    return t;
}

/* Does the turning point lie beyond what was measured? */
static bool extrapolated(const page *p, const page_machine *m)
{
    return m->turning.nodes * p->question.setup.devices > m->who->cal->max_ranks;
}

/* More devices than samples: the rest of them waits. */
static void put_idle(const page *p, FILE *out)
{
    char nodes[32];

    for (size_t i = 0; i < p->n_nodes; i++)
        for (size_t k = 0; k < p->n_machines; k++)
            if (page_known(&p->machine[k].point[i]) && p->machine[k].point[i].idle) {
                html_paragraph(
                    out,
                    "From %s on there are more devices than samples of a step: %lld are idle there.",
                    page_nodes(p->nodes[i], nodes, sizeof nodes),
                    (long long)p->machine[k].point[i].idle);
                return;
            }
}

void page_scaling_write(const page *p, FILE *out)
{
    const bool weak = p->question.kind == SCALING_WEAK;
    char       turning[80];

    for (size_t k = 0; k < p->n_machines; k++) {
        const page_machine *m = &p->machine[k];

        if (*m->refused.text)
            html_paragraph(out, "%s is not drawn over several nodes: %s.", m->label,
                           m->refused.text);
        else if (!m->turning.nodes)
            html_paragraph(out,
                           "%s: doubling pays on all numbers of nodes up to %s, an extrapolation.",
                           m->label, text_grouped(TURNING_LIMIT, turning, sizeof turning));
        else if (m->turning.nodes > 0)
            html_paragraph(out, "%s: doubling pays up to %s%s: beyond, it gains less than %s.",
                           m->label, page_turning(&m->turning, turning, sizeof turning),
                           extrapolated(p, m) ? ", an extrapolation" : "",
                           weak ? "10 % of throughput" : "5 % of the time of an epoch");
    }
    put_idle(p, out);
    fputs("<div class=\"charts\">\n", out);
    page_figure(p, "throughput", out);
    page_figure(p, "efficiency", out);
    fputs("</div>\n", out);
    page_numbers(points_table(p), "The numbers", out);
}
