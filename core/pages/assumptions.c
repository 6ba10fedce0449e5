/* Assumptions of a page, extrapolations, and the basis of the figures. */
#include <math.h>

#include "base/text.h"
#include "pages/page_parts.h"
#include "predict/predict.h"

static void put_step(const page *p, FILE *out)
{
    const step_setup *s      = &p->question.setup;
    const predictor  *who    = p->machine[0].who;
    const bool        narrow = who->cal && who->dtype == LM_F32 && !who->mixed &&
                        calibration_product_dtype(who->cal) != LM_F32;
    char sync[SYNC_POLICY_TEXT], dataset[32], types[TYPES_TEXT];

    html_item(
        out,
        "A step is the sum of forward pass, backward pass, exposed all-reduces and update. The time to read and prepare "
        "data, to save checkpoints and to write logs is not counted.");
    if (p->layout)
        html_item(out,
                  "Ranks share network, batch and states by the layout %s. Messages count where no "
                  "kernel runs beside them.",
                  p->layout);
    switch (s->sync.rule) {
    case SYNC_ONCE:
        if (s->layout.zero || s->layout.fsdp)
            break;
        html_item(
            out,
            "Gradients are all-reduced in one message when the backward pass has ended (%s). None of it is "
            "hidden.",
            sync_policy_print(&s->sync, sync));
        break;
    case SYNC_DDP:
    case SYNC_FUSION:
    case SYNC_TENSOR:
        html_item(out, "Gradients are all-reduced while the backward pass runs (%s).",
                  sync_policy_print(&s->sync, sync));
    }
    html_item(out, "Optimizer %s, element type %s%s%s%s%s.", optimizer_name(s->optimizer),
              types_print(who->dtype, who->mixed, types), narrow ? ", products in " : "",
              narrow ? text_dtype_name(calibration_product_dtype(who->cal)) : "",
              s->sync.dtype ? ", gradients travel as " : "",
              s->sync.dtype ? text_dtype_name(s->sync.dtype) : "");
    if (s->sync.accumulation > 1)
        html_item(out, "A step has %lld micro-steps, whose gradients are added up.",
                  (long long)s->sync.accumulation);
    if (p->question.dataset)
        html_item(out, "An epoch has %s samples.",
                  text_grouped((uint64_t)p->question.dataset, dataset, sizeof dataset));
    else
        html_item(out, "The number of samples of an epoch was not given.");
    html_item(
        out,
        "All nodes are equal. Their network is the measured one, or the one that --bandwidth describes.");
}

static void put_pass(const page *p, FILE *out)
{
    char types[TYPES_TEXT];

    html_item(out,
              "Inference is a forward pass in evaluation mode. The time to read and prepare data, "
              "and to wait in a queue of requests, is not counted.");
    if (p->passes)
        html_item(out, "Tokens are generated: %s.", p->passes);
    html_item(out, "Element type %s%s%s.",
              types_print(p->machine[0].who->dtype, p->machine[0].who->mixed, types),
              p->machine[0].who->weights ? ", weights in " : "",
              p->machine[0].who->weights ? text_dtype_name(p->machine[0].who->weights) : "");
    for (size_t k = 0; k < p->n_machines; k++)
        if (p->machine[k].point[0].step.stands_in)
            html_item(out,
                      "%s: nothing was measured in evaluation mode. The forward pass of training "
                      "is taken instead; for that the low end is x %.2g, the high end x %.3g.",
                      p->machine[k].label, EVALUATION_LEAST, EVALUATION_MOST);
}

static void put_definitions(const page *p, FILE *out)
{
    if (!p->batch)
        html_item(out, "More nodes pay as long as doubling them gains %s or more.",
                  p->question.kind == SCALING_WEAK ? "10 % of throughput"
                                                   : "5 % of the time of an epoch");
    if (page_learned(p))
        html_item(
            out,
            "An interval holds the central 90 %% of measured / predicted of groups of layers that were left out while "
            "%s was taught. All layers of a network are taken to have the same error. The interval widens with each "
            "doubling by which a layer leaves the measured range.",
            p->machine[0].who->model);
    else
        html_item(
            out,
            "An interval holds the central 90 %% of measured / predicted of networks that were left out of the fit. It "
            "widens with each doubling beyond the measured range.");
    html_item(out, "Model '%s' on all machines.", p->machine[0].who->model);
    if (page_learned(p))
        html_item(out,
                  "It learned single layers. A layer is assumed to take as long in the network as "
                  "alone.");
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
            "%s was carried over from other machines by datasheets. Its figures are estimates.",
            m->label);
    if (first)
        html_item(out, "%s: beyond the calibration from %s on. At %lld: %s.", m->label,
                  page_nodes(first->step.nodes, from, sizeof from), (long long)last->step.nodes,
                  grounds_beyond(&last->step.grounds, beyond, sizeof beyond));
    else
        html_item(out, "%s: all questions are within the calibration.", m->label);
    if (cal->max_ranks > 1 && cal->max_hosts == 1 && p->nodes[p->n_nodes - 1] > 1)
        html_item(
            out,
            "%s: its %lld ranks were measured on one host. That tells nothing about a network between hosts.",
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
            "%s: all-reduces between nodes were not measured. A bandwidth of %sB/s and a latency of %s are "
            "assumed.",
            m->label, text_si(m->who->link.bytes_per_second, rate, sizeof rate),
            html_time(m->who->link.latency, latency, sizeof latency));
    if (r != SYNC_ONCE && m->buckets.n && !c->rows)
        html_item(
            out,
            "%s: no steps in buckets were measured. Copies into buckets are taken to cost no time, and messages and "
            "the backward pass not to slow each other.",
            m->label);
    if (m->buckets.n && !c->spreads)
        html_item(
            out,
            "%s: differences between its devices were not measured. No device waits for a slower one.",
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
    fputs("</ul>\n<h3>What the times are based on</h3>\n", out);
    html_paragraph(out,
                   "Measured: this network at this batch. Interpolated: within the measured range. "
                   "Extrapolated: outside of it. Assumed: coefficients without a measurement.");
    page_numbers(page_points(p, ledger_fields), "Shares of a step", out);
}
