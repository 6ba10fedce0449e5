/* Assumptions of a page, extrapolations, and the basis of the figures. */
#include <math.h>

#include "base/text.h"
#include "pages/page_parts.h"
#include "predict/predict.h"

static void put_step(const page *p, FILE *out)
{
    const step_setup *s = &p->question.setup;
    char              sync[SYNC_POLICY_TEXT], dataset[32], types[TYPES_TEXT];

    html_item(
        out,
        "A step is forward, backward, what is left of the all-reduces, and update, nothing else: reading and preparing "
        "data is taken to be hidden, and so are checkpoints and logs.");
    switch (s->sync.rule) {
    case SYNC_ONCE:
        html_item(
            out,
            "Gradients are all-reduced in one message when the backward pass has ended (%s): nothing of it is "
            "hidden.",
            sync_policy_print(&s->sync, sync));
        break;
    case SYNC_DDP:
    case SYNC_FUSION:
    case SYNC_TENSOR:
        html_item(out, "Gradients are all-reduced while the backward pass goes on (%s).",
                  sync_policy_print(&s->sync, sync));
    }
    html_item(out, "Optimizer %s, element type %s%s%s.", optimizer_name(s->optimizer),
              types_print(p->machine[0].who->dtype, p->machine[0].who->mixed, types),
              s->sync.dtype ? ", gradients travel as " : "",
              s->sync.dtype ? text_dtype_name(s->sync.dtype) : "");
    if (s->sync.accumulation > 1)
        html_item(out, "%lld micro-steps a step, whose gradients add up.",
                  (long long)s->sync.accumulation);
    if (p->question.dataset)
        html_item(out, "An epoch has %s samples.",
                  text_grouped((uint64_t)p->question.dataset, dataset, sizeof dataset));
    else
        html_item(out, "How many samples an epoch has was not told.");
    html_item(
        out,
        "All nodes are alike, and linked as those that were measured, or as --bandwidth tells.");
}

static void put_pass(const page *p, FILE *out)
{
    char types[TYPES_TEXT];

    html_item(out, "Inference is a forward pass in evaluation mode, nothing else: reading and "
                   "preparing data, and queues of requests, are not counted.");
    if (p->passes)
        html_item(out, "Tokens are generated: %s.", p->passes);
    html_item(out, "Element type %s.",
              types_print(p->machine[0].who->dtype, p->machine[0].who->mixed, types));
    for (size_t k = 0; k < p->n_machines; k++)
        if (p->machine[k].point[0].step.stands_in)
            html_item(out,
                      "%s: nothing was measured in evaluation mode: the forward pass of training "
                      "stands in, and the low end is x %.2g, the high end x %.3g for it.",
                      p->machine[k].label, EVALUATION_LEAST, EVALUATION_MOST);
}

static void put_definitions(const page *p, FILE *out)
{
    if (!p->batch)
        html_item(out, "Doubling stops paying where it gains less than %s.",
                  p->question.kind == SCALING_WEAK ? "10 % of throughput"
                                                   : "5 % of the time of an epoch");
    if (page_learned(p))
        html_item(
            out,
            "Intervals hold the central 90 %% of measured / predicted of groups of layers that were left out while "
            "%s was taught, as if all layers of the network were off alike; they widen with each octave by which a "
            "layer leaves what was learned from.",
            p->machine[0].who->model);
    else
        html_item(
            out,
            "Intervals hold the central 90 %% of measured / predicted of networks left out of the fit; beyond what was "
            "measured they widen with each octave.");
    html_item(out, "Model '%s' on all machines.", p->machine[0].who->model);
    if (page_learned(p))
        html_item(out,
                  "It learned layers by themselves: that they take in the network what they take "
                  "alone is assumed.");
}

static void put_machine(const page *p, const page_machine *m, FILE *out)
{
    const calibration *cal   = m->who->cal;
    const scale_point *first = NULL, *last = NULL;
    char               beyond[300], from[32];

    for (size_t i = 0; i < p->n_nodes; i++)
        if (page_known(&m->point[i])) {
            first = !first && m->point[i].step.grounds.n_beyond ? &m->point[i] : first;
            last  = &m->point[i];
        }
    if (cal->transferred)
        html_item(
            out,
            "%s was carried over from other machines by datasheets: its figures are estimates.",
            m->label);
    if (first)
        html_item(out, "%s: beyond the calibration from %s on. At %lld: %s.", m->label,
                  page_nodes(first->step.nodes, from, sizeof from), (long long)last->step.nodes,
                  grounds_beyond(&last->step.grounds, beyond, sizeof beyond));
    else
        html_item(out, "%s: nothing asked for lies beyond the calibration.", m->label);
    if (cal->max_ranks > 1 && cal->max_hosts == 1 && p->nodes[p->n_nodes - 1] > 1)
        html_item(
            out,
            "%s: its %lld ranks were measured on one host, which says nothing of a network between hosts.",
            m->label, (long long)cal->max_ranks);
    if (cal->max_ranks == 1 && p->nodes[p->n_nodes - 1] > 1 && !*m->refused.text)
        html_item(out, "%s: all-reduces were not measured on it.", m->label);
}

/* Assumptions on how the gradients of a machine travel. */
static void put_travel(const page *p, const page_machine *m, FILE *out)
{
    const calibration       *cal = m->who->cal;
    const overlap_constants *c   = &cal->overlapping;
    const sync_rule          r   = p->question.setup.sync.rule;
    char                     rate[32], latency[32];

    if (m->who->link.bytes_per_second > 0)
        html_item(
            out,
            "%s: where no all-reduce between nodes was measured, %sB/s between nodes and %s a message are "
            "assumed, as told.",
            m->label, text_si(m->who->link.bytes_per_second, rate, sizeof rate),
            html_time(m->who->link.latency, latency, sizeof latency));
    if (r != SYNC_ONCE && m->buckets.n && !c->rows)
        html_item(
            out,
            "%s: no steps in buckets were measured: copies into buckets, and what messages and the backward pass "
            "cost each other, are taken to take no time.",
            m->label);
    if (m->buckets.n && !c->spreads)
        html_item(out, "%s: how unlike its devices are was not measured: none is waited for.",
                  m->label);
}

REAL_OF(founded, step_row, ledger_share(&r->point.step.grounds.ledger, (certainty)i))

static const field ledger_fields[] = {
    { "machine", .page = "machine" },
    { "nodes", .page = "nodes", .when = STEP_TRAINING },
    { "batch", .page = "batch", .when = STEP_INFERENCE },
    { "%s", .page = "%s [%]", .each = certainty_each, .real = founded, .unit = "%", .times = 100 },
    { 0 },
};

void page_assumptions_write(const page *p, FILE *out)
{
    fputs("<ul>\n", out);
    if (p->batch)
        put_pass(p, out);
    else
        put_step(p, out);
    put_definitions(p, out);
    if (p->net->note)
        html_item(out, "%s: %s.", p->network, p->net->note);
    fputs("</ul>\n<h3>Beyond the calibration</h3>\n<ul>\n", out);
    for (size_t k = 0; k < p->n_machines; k++)
        put_machine(p, &p->machine[k], out);
    for (size_t k = 0; k < p->n_machines && !p->batch; k++)
        put_travel(p, &p->machine[k], out);
    fputs("</ul>\n<h3>What the seconds stand on</h3>\n", out);
    html_paragraph(
        out,
        "Measured: this network itself, at this batch. Interpolated: within what was measured. "
        "Extrapolated: outside of it. Assumed: by coefficients that no "
        "measurement tells.");
    page_numbers(page_points(p, ledger_fields), "Shares of a step", out);
}
