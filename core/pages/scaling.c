/* Throughput and efficiency over nodes; throughput and latency over batches. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "pages/page_parts.h"

/* ---- pictures ---- */

static bool is_beyond(const step_row *r)
{
    return r->point.step.grounds.n_beyond > 0;
}

REAL_OF(rate_within, step_row, is_beyond(r) ? NAN : r->point.samples_per_second)
REAL_OF(rate_beyond, step_row, is_beyond(r) ? r->point.samples_per_second : NAN)
REAL_OF(linear, step_row, r->point.samples_per_second / r->point.efficiency)
REAL_OF(percent_within, step_row, is_beyond(r) ? NAN : r->point.efficiency)
REAL_OF(percent_beyond, step_row, is_beyond(r) ? r->point.efficiency : NAN)

#define PERCENT_OF .unit = "%", .times = 100

static const field curve_fields[] = {
    { .key = "nodes" },
    { .key = "samples_per_s" },
    { "rate_within", .real = rate_within },
    { "rate_beyond", .real = rate_beyond },
    { .key = "samples_low_per_s" },
    { .key = "samples_high_per_s" },
    { "linear", .real = linear },
    { .key = "efficiency_percent" },
    { "percent_within", .real = percent_within, PERCENT_OF },
    { "percent_beyond", .real = percent_beyond, PERCENT_OF },
    { "percent_low", FIELD_AT(step_row, point.efficiencies.low), PERCENT_OF },
    { "percent_high", FIELD_AT(step_row, point.efficiencies.high), PERCENT_OF },
    { 0 },
};

/* The predicate of the sentence on bands. */
#define HOLD " hold 9 cases of 10."

/* Columns of samples a second, or of percent of linear scaling. */
typedef struct curve_columns {
    const char  *all, *within, *beyond, *low, *high;
    const field *of;
} curve_columns;

static const curve_columns rates    = { "samples_per_s",     "rate_within",        "rate_beyond",
                                        "samples_low_per_s", "samples_high_per_s", curve_fields };
static const curve_columns percents = { "efficiency_percent", "percent_within", "percent_beyond",
                                        "percent_low",        "percent_high",   curve_fields };

/* A drawn point: its value and the ends of its interval. */
static bounded drawn_of(const scale_point *x, const curve_columns *c)
{
    const prediction *s = &x->step;

    if (!strcmp(c->all, "samples_per_s"))
        return (bounded){ x->samples_per_second, x->samples.low, x->samples.high };
    if (!strcmp(c->all, "efficiency_percent"))
        return (bounded){ x->efficiency, x->efficiencies.low, x->efficiencies.high };
    return (bounded){ 1e3 * s->step, 1e3 * s->low[PHASE_STEP], 1e3 * s->high[PHASE_STEP] };
}

static void put_data(FILE *out, const page *p, const curve_columns *c)
{
    const field_view v = { .fields = c->of, .from = step_fields, .in = IN_DATA };

    for (size_t k = 0; k < p->n_machines; k++) {
        fprintf(out, "$m%zu << EOD\n", k);
        for (size_t i = 0; i < p->n_nodes; i++)
            if (page_known(&p->machine[k].point[i])) {
                const page_row r = page_row_of(p, &p->machine[k], &p->machine[k].point[i]);

                fields_data(&v, &r, out);
            }
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

/* Known intervals of a curve that can be seen: efficiency on one node has none. */
static size_t intervals_of(const page *p, size_t k, const curve_columns *c)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_nodes; i++) {
        const scale_point *x = &p->machine[k].point[i];

        if (page_known(x) && drawn_of(x, c).high > drawn_of(x, c).low)
            n++;
    }
    return n;
}

/* "Bands hold 9 cases of 10.", where there are any. */
static const char *band_words(const page *p, const curve_columns *c, const char *say, char *buffer,
                              size_t size)
{
    size_t known[PAGE_MACHINES];

    for (size_t k = 0; k < p->n_machines; k++)
        known[k] = intervals_of(p, k, c);
    return page_band_words(known, p->n_machines, say, buffer, size);
}

/* Bands of all machines come first: no curve may hide under one. */
static void plot_curves(FILE *out, const page *p, const curve_columns *c)
{
    const int all = fields_column(c->of, c->all);

    for (size_t k = 0; k < p->n_machines; k++)
        page_band(out, k, intervals_of(p, k, c), all, fields_column(c->of, c->low),
                  fields_column(c->of, c->high));
    for (size_t k = 0; k < p->n_machines; k++)
        if (drawn(p, k))
            chart_curve(out, k, p->machine[k].label, all, fields_column(c->of, c->within),
                        fields_column(c->of, c->beyond));
}

/* The fewest or the most samples a second in the picture. */
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

/* "1,234 samples/s (1,100 to 1,300)" */
static void tell_rate(const page_row *r, double *y, char *text, size_t size)
{
    const scale_point *x = &r->step.point;
    char               rate[32], low[32], high[32];

    *y = x->samples_per_second;
    text_grouped((uint64_t)(*y + 0.5), rate, sizeof rate);
    if (isnan(x->samples.low))
        snprintf(text, size, "%s %s/s", rate, page_samples(r->p));
    else
        snprintf(text, size, "%s %s/s (%s to %s)", rate, page_samples(r->p),
                 text_grouped((uint64_t)(x->samples.low + 0.5), low, sizeof low),
                 text_grouped((uint64_t)(x->samples.high + 0.5), high, sizeof high));
}

static void tell_efficiency(const page_row *r, double *y, char *text, size_t size)
{
    *y = 100 * r->step.point.efficiency;
    snprintf(text, size, "%.1f %% of linear scaling", *y);
}

static void tell_latency(const page_row *r, double *y, char *text, size_t size)
{
    const prediction *s = &r->step.point.step;

    *y = 1e3 * s->step;
    if (isnan(s->low[PHASE_STEP]))
        snprintf(text, size, "%.4g ms", *y);
    else
        snprintf(text, size, "%.4g ms (%.4g to %.4g)", *y, 1e3 * s->low[PHASE_STEP],
                 1e3 * s->high[PHASE_STEP]);
}

static void put_throughput(FILE *out, const void *what)
{
    const page_chart *c     = what;
    const page       *p     = c->page;
    bool              first = true;

    page_begin_chart(c, 1, out);
    put_data(out, p, &rates);
    page_point_hints(out, p, tell_rate);
    chart_node_axis(out, p->nodes, p->n_nodes, p->question.setup.devices);
    chart_log_axis(out, 'y', extreme(p, false), extreme(p, true));
    fputs("set ylabel 'samples per second'\nplot \\\n", out);
    plot_curves(out, p, &rates);
    for (size_t k = 0; k < p->n_machines; k++) {
        if (!drawn(p, k))
            continue;
        fprintf(out, "  $m%zu using 1:%d with lines lw 1.5 dt 3 lc rgb '#777777' %s, \\\n", k,
                fields_column(curve_fields, "linear"), first ? "title 'linear'" : "notitle");
        first = false;
    }
    page_end_plot(out, p);
}

static void put_efficiency(FILE *out, const void *what)
{
    const page_chart *c = what;
    const page       *p = c->page;

    page_begin_chart(c, 0, out);
    put_data(out, p, &percents);
    page_point_hints(out, p, tell_efficiency);
    chart_node_axis(out, p->nodes, p->n_nodes, p->question.setup.devices);
    fputs("set yrange [0:*<130]\nset ylabel 'percent of linear scaling'\nplot \\\n", out);
    plot_curves(out, p, &percents);
    page_end_plot(out, p);
}

/* Any that is known; NAN: none. */
static double found_efficiency(const page *p)
{
    double found = NAN;

    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < p->n_nodes && isnan(found); i++)
            found = page_known(&p->machine[k].point[i]) ? p->machine[k].point[i].efficiency : NAN;
    return found;
}

void page_scaling_charts(page *p)
{
    const gnuplot_size size   = { 440, 340 };
    const char *const  hollow = any_beyond(p) ? " Hollow marks lie beyond the calibration." : "";
    page_chart        *c      = page_add_chart(p, "throughput", NULL, size, put_throughput);
    char               band[100];

    snprintf(c->title, sizeof c->title, "Samples per second");
    snprintf(c->text, sizeof c->text,
             "Samples per second over nodes, both on logarithmic axes.%s The dotted line is linear "
             "scaling.%s",
             band_words(p, &rates, HOLD, band, sizeof band), hollow);
    if (isnan(found_efficiency(p)))
        return;
    c = page_add_chart(p, "efficiency", NULL, size, put_efficiency);
    snprintf(c->title, sizeof c->title, "Efficiency");
    snprintf(
        c->text, sizeof c->text, "Speed-up over %s, in percent of the number of nodes.%s%s",
        p->layout ? "the fewest nodes that hold the network" : "one node",
        band_words(p, &percents, ": all-reduces at the ends of their interval.", band, sizeof band),
        hollow);
}

/* ---- words ---- */

/* Is the turning point beyond the measured range? */
static bool extrapolated(const page *p, const page_machine *m)
{
    return m->turning.nodes * p->question.setup.devices > m->who->cal->max_ranks;
}

/* Warns of more devices than samples: the others are idle. */
static void put_idle(const page *p, FILE *out)
{
    char nodes[32];

    for (size_t i = 0; i < p->n_nodes; i++)
        for (size_t k = 0; k < p->n_machines; k++)
            if (page_known(&p->machine[k].point[i]) && p->machine[k].point[i].idle) {
                html_paragraph(
                    out,
                    "From %s on, a step has fewer samples than there are devices: %lld devices are idle.",
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

        if (*m->refused.text && p->layout)
            html_paragraph(out, "%s: numbers of nodes are left out: %s.", m->label,
                           m->refused.text);
        else if (*m->refused.text)
            html_paragraph(out, "%s is not drawn over several nodes: %s.", m->label,
                           m->refused.text);
        else if (!m->turning.nodes)
            html_paragraph(out,
                           "%s: doubling the nodes pays up to %s nodes and more (extrapolated).",
                           m->label, text_grouped(TURNING_LIMIT, turning, sizeof turning));
        else if (m->turning.nodes > 0)
            html_paragraph(out,
                           "%s: doubling the nodes pays up to %s%s. Beyond, it gains less than %s.",
                           m->label, page_turning(&m->turning, turning, sizeof turning),
                           extrapolated(p, m) ? " (extrapolated)" : "",
                           weak ? "10 % of throughput" : "5 % of the time of an epoch");
    }
    put_idle(p, out);
    fputs("<div class=\"charts\">\n", out);
    page_figure(p, "throughput", out);
    page_figure(p, "efficiency", out);
    fputs("</div>\n", out);
    page_numbers(page_points(p, step_fields), "The numbers", out);
}

/* ---- inference: over batches ---- */

REAL_OF(latency_within, step_row, is_beyond(r) ? NAN : r->point.step.step)
REAL_OF(latency_beyond, step_row, is_beyond(r) ? r->point.step.step : NAN)

static const field batch_fields[] = {
    { .key = "batch" },
    { .key = "samples_per_s" },
    { "rate_within", .real = rate_within },
    { "rate_beyond", .real = rate_beyond },
    { .key = "samples_low_per_s" },
    { .key = "samples_high_per_s" },
    { .key = "latency_ms" },
    { "latency_within", .real = latency_within, IN_MS },
    { "latency_beyond", .real = latency_beyond, IN_MS },
    { .key = "latency_low_ms" },
    { .key = "latency_high_ms" },
    { 0 },
};

static const curve_columns latencies   = { "latency_ms",     "latency_within",  "latency_beyond",
                                           "latency_low_ms", "latency_high_ms", batch_fields };
static const curve_columns batch_rates = {
    "samples_per_s",     "rate_within",        "rate_beyond",
    "samples_low_per_s", "samples_high_per_s", batch_fields
};

static void put_over_batches(FILE *out, const page_chart *chart, const curve_columns *c,
                             const char *label)
{
    const page *p   = chart->page;
    double      low = INFINITY, high = 0;

    page_begin_chart(chart, 0, out);
    put_data(out, p, c);
    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < p->n_nodes; i++) {
            const bounded y = drawn_of(&p->machine[k].point[i], c);

            low  = fmin(low, fmin(y.value, y.low)); /* NAN does not count */
            high = fmax(high, fmax(y.value, y.high));
        }
    page_point_hints(out, p, c == &latencies ? tell_latency : tell_rate);
    chart_log_axis(out, 'x', (double)p->batch[0], (double)p->batch[p->n_nodes - 1]);
    chart_log_axis(out, 'y', low, high);
    fprintf(out, "set xlabel 'batch'\nset ylabel '%s'\nplot \\\n", label);
    plot_curves(out, p, c);
    page_end_plot(out, p);
}

static void put_batch_rates(FILE *out, const void *what)
{
    char label[40];

    snprintf(label, sizeof label, "%s per second", page_samples(what));
    put_over_batches(out, what, &batch_rates, label);
}

static void put_latencies(FILE *out, const void *what)
{
    put_over_batches(out, what, &latencies, "latency [ms]");
}

void page_batches_charts(page *p)
{
    const gnuplot_size size   = { 440, 340 };
    const char *const  hollow = any_beyond(p) ? " Hollow marks lie beyond the calibration." : "";
    page_chart        *c      = page_add_chart(p, "latency", NULL, size, put_latencies);
    char               band[100];

    snprintf(c->title, sizeof c->title, "Latency");
    snprintf(
        c->text, sizeof c->text,
        "Milliseconds of a forward pass in evaluation mode over its batch, both on logarithmic "
        "axes.%s%s",
        band_words(p, &latencies, HOLD, band, sizeof band), hollow);
    c = page_add_chart(p, "throughput", NULL, size, put_batch_rates);
    snprintf(c->title, sizeof c->title, "%s per second", p->passes ? "Tokens" : "Samples");
    snprintf(c->text, sizeof c->text, "%s per second of %s, one batch after the other%s.%s",
             p->passes ? "Tokens" : "Samples", p->layout ? "all these devices" : "a device",
             p->question.setup.layout.pp > 1 ? " in each stage" : "", hollow);
}

static double million_of(const page_row *r)
{
    return 1e6 / r->step.point.samples_per_second;
}

static const char *million_text(const page_row *r, char *room)
{
    const money cost = money_of_run(&r->m->paid.hour[r->p->tier], 1, million_of(r));

    if (*r->m->paid.unpaid || isnan(cost.amount))
        return "-";
    return money_print(&cost, room);
}

TEXT_OF(million_time, page_row, html_time(million_of(r), room, FIELD_TEXT_MAX))
TEXT_OF(million_cost, page_row, million_text(r, room))

static const field batches_told[] = {
    { "machine", .page = "machine" },
    { "batch", .page = "batch" },
    { "latency_ms", .page = "latency [ms]" },
    { "latency_low_ms", .page = "low" },
    { "latency_high_ms", .page = "high" },
    { "latency_p95_ms", .page = "p95 [ms]", .when = STEP_SPREAD },
    { "latency_p95_low_ms", .page = "low", .when = STEP_SPREAD },
    { "latency_p95_high_ms", .page = "high", .when = STEP_SPREAD },
    { "samples_per_s", .page = "samples/s" },
    { "million", .page = "10^6 samples", .text = million_time },
    { "million_cost", .page = "and their cost", .text = million_cost },
    { "ledger_percent", .page = LEDGER_TITLE },
    { "beyond", .page = "beyond" },
    { 0 },
};

void page_batches_write(const page *p, FILE *out)
{
    html_paragraph(out,
                   "Replicas exchange nothing. n replicas process n times as many %s a "
                   "second; the time of a batch does not change.",
                   page_samples(p));
    fputs("<div class=\"charts\">\n", out);
    page_figure(p, "latency", out);
    page_figure(p, "throughput", out);
    fputs("</div>\n", out);
    page_numbers(page_points(p, batches_told), "The numbers", out);
}
