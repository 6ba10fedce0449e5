/* Time and cost of a run, over nodes. */
#include <math.h>

#include "pages/page_parts.h"
#include "plan/training.h"

/* Seconds of the run if its steps take `step`; NAN: the number of steps is unknown. */
static double page_run_seconds(const page *p, const scale_point *x, double step)
{
    const training run = { .epochs = p->epochs, .dataset = p->question.dataset };

    return run.dataset ? training_seconds(&run, x->steps_per_epoch, step, 0, NAN) : NAN;
}

money page_run_cost(const page *p, const page_machine *m, const scale_point *x, double step)
{
    return money_of_run(&m->paid.hour[p->tier], x->step.nodes, page_run_seconds(p, x, step));
}

/* ---- picture ---- */

static bool is_paid(const page *p, const page_machine *m)
{
    return !*m->paid.unpaid && !isnan(m->paid.hour[p->tier].amount);
}

/* Intervals are drawn up to this multiple of the dearest run. */
#define HIGHEST_INTERVAL 2.0

/* The dearest point of machines with a price; with intervals the dearest end. */
static double dearest(const page *p)
{
    double most = 0, high = 0;

    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < p->n_nodes; i++) {
            const page_machine *m = &p->machine[k];
            const scale_point  *x = &m->point[i];

            if (!is_paid(p, m) || !page_known(x))
                continue;
            most = fmax(most, page_run_cost(p, m, x, x->step.step).amount);
            high = fmax(high, page_run_cost(p, m, x, x->step.high[PHASE_STEP]).amount);
        }
    return fmin(fmax(most, high), HIGHEST_INTERVAL * most);
}

/* nodes, within the calibration or NaN, beyond it, both, low, high */
static void put_points(FILE *out, const page *p, size_t k)
{
    const page_machine *m = &p->machine[k];

    fprintf(out, "$m%zu << EOD\n", k);
    for (size_t i = 0; i < p->n_nodes; i++) {
        const scale_point *x = &m->point[i];
        double             cost;

        if (!page_known(x))
            continue;
        cost = page_run_cost(p, m, x, x->step.step).amount;
        fprintf(out, "%lld %.9g %.9g %.9g %.9g %.9g\n", (long long)x->step.nodes,
                x->step.grounds.n_beyond ? NAN : cost, x->step.grounds.n_beyond ? cost : NAN, cost,
                page_run_cost(p, m, x, x->step.low[PHASE_STEP]).amount,
                page_run_cost(p, m, x, x->step.high[PHASE_STEP]).amount);
    }
    fputs("EOD\n", out);
}

static size_t intervals_of(const page *p, const page_machine *m)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_nodes && is_paid(p, m); i++)
        n += page_known(&m->point[i]) && m->point[i].step.low[PHASE_STEP] > 0;
    return n;
}

static void tell_cost(const page_row *r, double *y, char *text, size_t size)
{
    const scale_point *x    = &r->step.point;
    const money        cost = page_run_cost(r->p, r->m, x, x->step.step);
    char               words[MONEY_TEXT], hours[32];

    *y = is_paid(r->p, r->m) ? cost.amount : NAN;
    snprintf(text, size, "%s, %s", isnan(*y) ? "" : money_print(&cost, words),
             html_time(page_run_seconds(r->p, x, x->step.step), hours, sizeof hours));
}

static void put_cost(FILE *out, const void *what)
{
    const page_chart *c = what;
    const page       *p = c->page;

    page_begin_chart(c, 0, out);
    for (size_t k = 0; k < p->n_machines; k++)
        put_points(out, p, k);
    page_point_hints(out, p, tell_cost);
    chart_node_axis(out, p->nodes, p->n_nodes, p->question.setup.devices);
    chart_linear_axis(out, 'y', 1.05 * dearest(p));
    fprintf(out, "set ylabel 'cost of the run [%s]'\nplot \\\n",
            c->machine->paid.hour[c->page->tier].currency);
    for (size_t k = 0; k < p->n_machines; k++)
        page_band(out, k, intervals_of(p, &p->machine[k]), 4, 5, 6);
    for (size_t k = 0; k < p->n_machines; k++)
        if (is_paid(p, &p->machine[k]))
            chart_curve(out, k, p->machine[k].label, 4, 2, 3);
    page_end_plot(out, p);
}

static bool any_beyond(const page *p)
{
    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < p->n_nodes; i++)
            if (is_paid(p, &p->machine[k]) && page_known(&p->machine[k].point[i]) &&
                p->machine[k].point[i].step.grounds.n_beyond)
                return true;
    return false;
}

void page_cost_charts(page *p)
{
    const page_machine *first = NULL;
    page_chart         *c;
    size_t              known[PAGE_MACHINES];
    char                band[100];

    for (size_t k = p->n_machines; k-- > 0;)
        if (is_paid(p, &p->machine[k]))
            first = &p->machine[k];
    if (!first || !p->question.dataset)
        return;
    for (size_t k = 0; k < p->n_machines; k++)
        known[k] = intervals_of(p, &p->machine[k]);
    c = page_add_chart(p, "cost", first, (gnuplot_size){ 440, 340 }, put_cost);
    snprintf(c->title, sizeof c->title, "Cost of %lld epoch%s", (long long)p->epochs,
             p->epochs == 1 ? "" : "s");
    snprintf(
        c->text, sizeof c->text,
        "Cost of a run of %lld epoch%s in %s, by number of nodes. All nodes are paid for from its start to "
        "its end.%s%s",
        (long long)p->epochs, p->epochs == 1 ? "" : "s", first->paid.hour[p->tier].currency,
        page_band_words(known, p->n_machines, ": the interval, drawn up to twice the highest cost.", band,
                        sizeof band),
        any_beyond(p) ? " Hollow marks lie beyond the calibration." : "");
}

/* ---- words ---- */

/* "1,040 USD (920 USD to 1,170 USD)" */
static void cost_words(const page *p, const page_machine *m, const scale_point *x, char *buffer,
                       size_t size)
{
    const money cost = page_run_cost(p, m, x, x->step.step),
                low  = page_run_cost(p, m, x, x->step.low[PHASE_STEP]),
                high = page_run_cost(p, m, x, x->step.high[PHASE_STEP]);
    char text[3][MONEY_TEXT];

    if (isnan(low.amount))
        snprintf(buffer, size, "%s", money_print(&cost, text[0]));
    else
        snprintf(buffer, size, "%s (%s to %s)", money_print(&cost, text[0]),
                 money_print(&low, text[1]), money_print(&high, text[2]));
}

static const scale_point *cheapest(const page *p, const page_machine *m)
{
    const scale_point *best = NULL;

    for (size_t i = 0; i < p->n_nodes; i++) {
        const scale_point *x = &m->point[i];

        if (page_known(x) && (!best || page_run_cost(p, m, x, x->step.step).amount <
                                           page_run_cost(p, m, best, best->step.step).amount))
            best = x;
    }
    return best;
}

/* "A is paid by the list price of [p5.48xlarge], 55.04 USD/h a node, 2026-11-09." */
static void put_price(const page *p, const page_machine *m, FILE *out)
{
    const price *by      = m->paid.price;
    const bool   dated   = by->date != NULL;
    const char  *checked = by->check == PRICE_CHECK_UNKNOWN ? ""
                           : by->check == PRICE_CHECKED     ? ", checked with its source"
                                                            : ", not checked with its source";
    char         hour[MONEY_TEXT];

    html_paragraph(out, "%s is paid by the %s price of [%s], %s/h a %s%s%s%s.", m->label,
                   price_tier_name(p->tier), by->name, money_print(&by->hour[p->tier], hour),
                   by->per == PRICE_PER_NODE ? "node" : "device", dated ? ", " : "",
                   dated ? by->date : "", checked);
}

static void put_machine(const page *p, const page_machine *m, FILE *out)
{
    const scale_point *here = page_point(p, m, m->at), *best = cheapest(p, m);
    char               nodes[32], cost[200], hours[32];

    if (!is_paid(p, m)) {
        html_paragraph(out, "%s has no price: %s.", m->label, m->paid.unpaid);
        return;
    }
    if (here) {
        cost_words(p, m, here, cost, sizeof cost);
        html_paragraph(
            out, "%s: a run of %lld epoch%s on %s takes %s and costs %s.", m->label,
            (long long)p->epochs, p->epochs == 1 ? "" : "s", page_nodes(m->at, nodes, sizeof nodes),
            html_time(page_run_seconds(p, here, here->step.step), hours, sizeof hours), cost);
    }
    if (best && best != here) {
        cost_words(p, m, best, cost, sizeof cost);
        html_paragraph(out, "%s is cheapest on %s: %s in %s.", m->label,
                       page_nodes(best->step.nodes, nodes, sizeof nodes), cost,
                       html_time(page_run_seconds(p, best, best->step.step), hours, sizeof hours));
    }
    if (m->paid.price)
        put_price(p, m, out);
}

static double run_seconds(const page_row *r)
{
    return page_run_seconds(r->p, &r->step.point, r->step.point.step.step);
}

static const char *run_cost(const page_row *r, char *room)
{
    if (!is_paid(r->p, r->m))
        return "-";
    cost_words(r->p, r->m, &r->step.point, room, FIELD_TEXT_MAX);
    return room;
}

TEXT_OF(run_text, page_row, html_time(run_seconds(r), room, FIELD_TEXT_MAX))
REAL_OF(device_hours, page_row,
        run_seconds(r) / 3600 * (double)r->step.point.step.nodes *
            (double)r->step.point.step.devices)
TEXT_OF(cost_text, page_row, run_cost(r, room))

static const field run_fields[] = {
    { "machine", .page = "machine" },
    { "nodes", .page = "nodes" },
    { "run", .page = "the run takes", .text = run_text },
    { "device_hours", .page = "device-hours", .real = device_hours, IN_UNIT("h", -1) },
    { "cost", .page = "cost", .text = cost_text },
    { 0 },
};

void page_cost_write(const page *p, FILE *out)
{
    if (!p->question.dataset) {
        html_paragraph(out, "Nothing says how many samples the run has (--tokens, --dataset): its "
                            "time and its cost are not known.");
        return;
    }
    for (size_t k = 0; k < p->n_machines; k++)
        put_machine(p, &p->machine[k], out);
    fputs("<div class=\"charts\">\n", out);
    page_figure(p, "cost", out);
    fputs("</div>\n", out);
    page_numbers(page_points(p, run_fields), "Runs in numbers", out);
    html_paragraph(
        out,
        "A run counts its steps alone, without evaluation, start-up, storage, data traffic and failures. "
        "'layermeter plan' adds some of these.");
}
