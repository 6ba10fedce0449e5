/* Summary of a page: each machine's answer, and the leading machine. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "pages/page_parts.h"

static void row(FILE *out, const char *term, const char *value)
{
    fputs("<dt>", out);
    html_text(out, term);
    fputs("</dt><dd>", out);
    html_text(out, value);
    fputs("</dd>\n", out);
}

/* "412": samples a second, with significant digits only. */
static const char *rate_text(double rate, char *buffer, size_t size)
{
    if (rate >= 100)
        return text_grouped((uint64_t)(rate + 0.5), buffer, size);
    snprintf(buffer, size, "%.3g", rate);
    return buffer;
}

/* "380 to 450"; false: not known. */
static bool rate_range(const scale_point *x, char *buffer, size_t size)
{
    char low[32], high[32];

    if (isnan(x->samples.low))
        return false;
    snprintf(buffer, size, "%s to %s", rate_text(x->samples.low, low, sizeof low),
             rate_text(x->samples.high, high, sizeof high));
    return true;
}

static void put_answer(const page *p, const page_machine *m, const scale_point *x, FILE *out)
{
    char nodes[32], rate[32], range[80];

    page_nodes(x->step.nodes, nodes, sizeof nodes);
    fputs("<p class=\"big\">", out);
    html_textf(out, "%s samples/s", rate_text(x->samples_per_second, rate, sizeof rate));
    fputs("</p>\n<p class=\"sub\">", out);
    if (rate_range(x, range, sizeof range))
        html_textf(out, "on %s; %s in 9 cases of 10", nodes, range);
    else
        html_textf(out, "on %s; the interval is not known", nodes);
    html_text(out, m->at < p->at ? ". Several nodes were not calibrated." : "");
    fputs("</p>\n", out);
}

static void put_turning(const page_machine *m, FILE *out)
{
    char text[80];

    row(out, "more nodes pay up to", page_turning(&m->turning, text, sizeof text));
}

static void put_cost(const page *p, const page_machine *m, const scale_point *x, FILE *out)
{
    const money cost = page_run_cost(p, m, x, x->step.step);
    char        name[40], text[MONEY_TEXT];

    if (isnan(cost.amount))
        return;
    snprintf(name, sizeof name, "%lld epoch%s", (long long)p->epochs,
             p->epochs == 1 ? " costs" : "s cost");
    row(out, name, money_print(&cost, text));
}

/* The lowest latency, and the highest throughput. */
static void put_inference(const page *p, const page_machine *m, FILE *out)
{
    const scale_point *quick = &m->point[0], *best = quick;
    char               name[60], text[80], rate[32], range[80];

    for (size_t i = 0; i < p->n_nodes; i++)
        if (m->point[i].samples_per_second > best->samples_per_second)
            best = &m->point[i];
    fputs("<p class=\"big\">", out);
    html_textf(out, "%s %s/s", rate_text(best->samples_per_second, rate, sizeof rate),
               page_samples(p));
    fputs("</p>\n<p class=\"sub\">", out);
    if (rate_range(best, range, sizeof range))
        html_textf(out, "at batch %lld; %s in 9 cases of 10", (long long)best->step.batch, range);
    else
        html_textf(out, "at batch %lld; the interval is not known", (long long)best->step.batch);
    fputs("</p>\n<dl>\n", out);
    for (size_t i = 0; i < (best == quick ? 1 : 2); i++) {
        const prediction *s = i ? &best->step : &quick->step;

        snprintf(name, sizeof name, "latency of batch %lld", (long long)s->batch);
        row(out, name, html_time(s->step, text, sizeof text));
        if (!isnan(s->p95))
            row(out, "95 of 100 within", html_time(s->p95, text, sizeof text));
    }
    fputs("</dl>\n", out);
}

static void put_card(const page *p, const page_machine *m, FILE *out)
{
    const scale_point *here = page_point(p, m, m->at), *last = NULL;
    char               name[60], text[80], rate[32];

    for (size_t i = 0; i < p->n_nodes; i++)
        if (page_known(&m->point[i]))
            last = &m->point[i];
    fprintf(out, "<div class=\"card\" style=\"border-left-color:%s\">\n<h3>",
            chart_colour((size_t)(m - p->machine)));
    html_text(out, m->label);
    fputs("</h3>\n", out);
    if (p->batch) {
        put_inference(p, m, out);
        fputs("</div>\n", out);
        return;
    }
    if (here) {
        put_answer(p, m, here, out);
        fputs("<dl>\n", out);
        if (p->tokens) {
            snprintf(text, sizeof text, "%s",
                     rate_text(here->samples_per_second * (double)p->tokens, rate, sizeof rate));
            row(out, "tokens a second", text);
        }
        row(out, "a step takes", html_time(here->step.step, text, sizeof text));
        if (p->question.dataset)
            row(out, "an epoch takes", html_time(here->epoch_seconds, text, sizeof text));
        snprintf(text, sizeof text, "%.0f %%", 100 * here->efficiency);
        if (!isnan(here->efficiency))
            row(out, "efficiency", text);
    } else {
        fputs("<dl>\n", out);
    }
    if (!p->layout)
        put_turning(m, out);
    if (here)
        put_cost(p, m, here, out);
    if (last && last != here) {
        snprintf(name, sizeof name, "on %lld nodes%s", (long long)last->step.nodes,
                 last->step.grounds.n_beyond ? " (extrapolated)" : "");
        snprintf(text, sizeof text, "%s samples/s",
                 rate_text(last->samples_per_second, rate, sizeof rate));
        row(out, name, text);
    }
    fputs("</dl>\n</div>\n", out);
}

/* The leading machine on so many nodes, its lead, and how certain that is. */
static void compare(const page *p, int64_t nodes, FILE *out)
{
    const page_machine *first = NULL, *second = NULL;
    const scale_point  *a = NULL, *b = NULL;
    char                text[32];
    double              lead;

    for (size_t k = 0; k < p->n_machines; k++) {
        const scale_point *x = page_point(p, &p->machine[k], nodes);

        if (x && (!a || x->samples_per_second > a->samples_per_second)) {
            second = first;
            b      = a;
            first  = &p->machine[k];
            a      = x;
        } else if (x && (!b || x->samples_per_second > b->samples_per_second)) {
            second = &p->machine[k];
            b      = x;
        }
    }
    if (!a || !b)
        return;
    page_nodes(nodes, text, sizeof text);
    lead = a->samples_per_second / b->samples_per_second;
    if (lead < 1.005)
        html_paragraph(out, "On %s %s and %s are equally fast.", text, first->label, second->label);
    else if (a->samples.low > b->samples.high)
        html_paragraph(out, "On %s %s is %.3g times as fast as %s; their intervals do not overlap.",
                       text, first->label, lead, second->label);
    else if (isnan(a->samples.low) || isnan(b->samples.high))
        html_paragraph(out, "On %s %s is %.3g times as fast as %s; the intervals are not known.",
                       text, first->label, lead, second->label);
    else
        html_paragraph(
            out,
            "On %s %s is %.3g times as fast as %s, but their intervals overlap: either may "
            "be faster.",
            text, first->label, lead, second->label);
}

/* Of "1 of V100: f32 15.7 -> 19.5 TFLOP/s": the device's name. */
static void put_source(const char *note, FILE *out)
{
    const char *name = strstr(note, " of ");

    name = name ? name + 4 : note;
    html_textf(out, "%.*s", (int)strcspn(name, ":"), name);
}

/* "A was not measured: its coefficients are carried over from B and C to D by datasheets." Or, where a
 * few runs of it were: "The coefficients of A are carried over ..., and corrected by runs of its own." */
static void put_transferred(const page_machine *m, FILE *out)
{
    const calibration *cal       = m->who->cal;
    const char        *to        = calibration_told(cal, "transferred_to");
    const bool         corrected = calibration_told(cal, "corrected_by") != NULL;
    size_t             names     = 0;

    if (!cal->transferred)
        return;
    fputs("<p>", out);
    html_textf(out,
               corrected ? "The coefficients of %s are carried over"
                         : "%s was not measured: its coefficients are carried over",
               m->label);
    for (size_t i = 0; i < cal->n_provenance; i++)
        if (!strncmp(cal->provenance[i].key, "transferred_from", 16)) {
            fputs(names++ ? " and " : " from ", out);
            put_source(cal->provenance[i].value, out);
        }
    if (to)
        html_textf(out, " to %.*s", (int)strcspn(to, ","), to);
    fputs(corrected ? " by datasheets, and corrected by runs of its own.</p>\n"
                    : " by datasheets.</p>\n",
          out);
}

static bool all_transferred(const page *p)
{
    for (size_t k = 0; k < p->n_machines; k++)
        if (!p->machine[k].who->cal->transferred)
            return false;
    return true;
}

void page_summary_write(const page *p, FILE *out)
{
    fputs("<div class=\"cards\">\n", out);
    for (size_t k = 0; k < p->n_machines; k++)
        put_card(p, &p->machine[k], out);
    fputs("</div>\n", out);
    if (!p->batch)
        compare(p, p->at, out);
    if (!p->batch && p->nodes[p->n_nodes - 1] != p->at)
        compare(p, p->nodes[p->n_nodes - 1], out);
    if (page_learned(p))
        html_paragraph(out,
                       "The figures are predictions. %s learned the time of single layers on each "
                       "machine; the prediction adds them up%s.",
                       p->machine[0].who->model, p->batch ? "" : ", and the machine's all-reduces");
    else
        html_paragraph(
            out, "The figures are predictions: the counts of the network times coefficients%s.",
            all_transferred(p) ? "" : " that were measured on each machine");
    for (size_t k = 0; k < p->n_machines; k++)
        put_transferred(&p->machine[k], out);
}
