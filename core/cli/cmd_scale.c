/* layermeter scale: throughput over nodes, devices, batches and buckets, and where more nodes stop
 * paying. */
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "cli/decoding.h"
#include "cli/layout_options.h"
#include "cli/limit_options.h"
#include "cli/power_options.h"
#include "predict/dataset.h"
#include "predict/utilization.h"
#include "report/plot.h"
#include "report/scale_view.h"

typedef struct scale_options {
    session_options session;
    setup_choice    how;
    power_choice    power;
    limit_choice    limit;
    layout_choice   layout;
    scaling_options scaling;
    option_counts   nodes, devices, batch;
    dataset_told    dataset;
    int64_t         samples; /* of it; 0: not known */
    table_look      look;
    const char     *plot, *measured; /* picture; observations drawn into it; NULL: none */
    bool            keep_script;
} scale_options;

#define AT(member) OPTION_AT(scale_options, member)

static const option_row option_rows[] = {
    { "batch", AT(batch), .fallback = "32",
      .help = "samples of each device; strong: of all together; global: of a device at once, at "
              "most" },
    OPTION_GROUP(scale_options, scaling, scaling_option_rows),
    OPTION_GROUP(scale_options, session, session_option_rows),
    { "dataset", AT(dataset.samples) },
    { "tokens", AT(dataset.tokens) },
    { "nodes", AT(nodes), &type_ascending, "LIST", "1..64*2" },
    { "devices-per-node", AT(devices), &type_counts, "LIST", "1" },
    OPTION_GROUP(scale_options, power, power_option_rows),
    OPTION_GROUP(scale_options, power, grid_option_rows),
    OPTION_GROUP(scale_options, how, phase_option_rows),
    OPTION_GROUP(scale_options, how, setup_option_rows),
    OPTION_GROUP(scale_options, limit, limit_option_rows),
    OPTION_GROUP(scale_options, layout, layout_option_rows),
    OPTION_GROUP(scale_options, look, look_option_rows),
    { "plot", AT(plot),
      .help =
          "draw the curves over nodes, of one number of nodes over batches: FILE.svg, .png or .pdf "
          "(needs gnuplot)" },
    { "measured", AT(measured), &type_text, "FILE", .heading = HELP_OUTPUT,
      .help  = "with --plot: observations whose steps of this network are drawn beside the curves",
      .needs = "plot", .refusal = "is for --plot" },
    { "keep-script", AT(keep_script) },
    { .name = NULL },
};

static const char details[] =
    "One row for each number of nodes, devices per node, batch and bucket. --scaling says what stays the\n"
    "same:\n"
    "  weak: the batch of each device\n"
    "  strong: the whole batch (--global-batch, or --batch); each device takes ceil(whole / devices) at\n"
    "    once\n"
    "  global: the whole batch, in micro-steps of at most --batch samples, whose gradients add up\n"
    "\n"
    "Only the whole batch counts as work; devices beyond it are idle.\n"
    "\n"
    "Speed-up compares samples per second with one node of as many devices; efficiency is speed-up over\n"
    "nodes. Their low and high (CSV, JSON) come from the interval of all-reduces alone, because an error\n"
    "of a device's own work is the same on one node. 'exposed' is the part of the all-reduces that the\n"
    "backward pass does not hide. 'bottleneck' is the largest share of the step: arithmetic, traffic\n"
    "(bytes of a device's memory) or launches of forward, backward or update, or exposed all-reduces,\n"
    "inter-node if there are several nodes, else intra-node. 'sync_bound' is latency if as many messages\n"
    "of one byte would take more than half as long. Learned models say 'compute' for a device's own work.\n"
    "\n"
    "'tokens/s' counts the length of a sample that is a row of integers; of an encoder and a decoder, the\n"
    "encoder's. An epoch of --tokens has ceil(tokens / that length) samples. Without a data set the\n"
    "epochs of a language model are unknown.\n"
    "\n"
    "The turning point is the smallest number of nodes whose doubling gains less than 10 % of throughput\n"
    "(weak) or shortens the epoch by less than 5 % (strong, global), up to 65536. In brackets stand the\n"
    "turning points at both ends of the interval of all-reduces: '22 nodes (16 to 31)'. For 'beyond',\n"
    "'basis' and power see 'layermeter predict --help'.\n";

static const char examples[] =
    "  layermeter scale resnet50 --machine machine.ini --batch 32 --plot resnet50.svg\n"
    "  layermeter scale vgg16 --machine machine.ini --scaling strong --batch 256 --nodes 1..32*2\n"
    "  layermeter scale bert_base --machine machine.ini --scaling global --global-batch 4096 --batch 8\n"
    "  layermeter scale resnet50 --machine machine.ini --devices-per-node 4,8 --batch 16..64*2\n"
    "  layermeter scale resnet50 --machine machine.ini --nodes 8 --bucket 1MiB..128MiB*2 --format csv\n";

/* Limit of rows: nobody reads more, and memory is limited. */
#define POINTS_MAX 200000

/* Number of policies; with --bucket auto only the best remains. */
static size_t policies(const scale_options *q)
{
    return q->how.buckets.automatic ? 1 : q->how.n;
}

static lm_status check(options *o, lm_error *err)
{
    scale_options *q      = o->filled;
    lm_status      status = setup_check(o, &q->how, &q->session, false, err);
    const double   curves = (double)q->devices.n * (double)q->batch.n * (double)policies(q);
    const double   points = curves * (double)q->nodes.n;
    const double   drawn  = q->nodes.n == 1 ? curves / (double)q->batch.n : curves;

    power_choice_begin(o, &q->power, false);
    if (!status)
        status = layout_choice_check_step(o, &q->layout, err);
    q->how.setup.layout   = q->layout.layout;
    q->how.setup.laid_out = q->layout.given;
    if (status || (status = scaling_check(o, &q->scaling, &q->batch, &q->how, err)))
        return status;
    if (points > POINTS_MAX)
        return misused(o, &q->nodes, err,
                       "%.0f points, nodes x devices x batches x buckets: give fewer, at most %d",
                       points, POINTS_MAX);
    if (q->plot && drawn > PLOT_CURVES_MAX)
        return misused(
            o, &q->plot, err,
            "%.0f curves, devices x batches x buckets: give fewer, at most %d can be told apart",
            drawn, PLOT_CURVES_MAX);
    if (q->scaling.kind == SCALING_STRONG && q->scaling.whole)
        q->batch = (option_counts){ .at = &q->scaling.whole, .n = 1 };
    if ((status = look_check(o, &q->look, step_fields, NULL, err)))
        return status;
    return session_check(o, &q->session, power_asks_device(o, &q->power), err);
}

static scale_question question_at(const scale_options *q, size_t line)
{
    const int64_t  batch = q->batch.at[line / policies(q) % q->batch.n];
    scale_question one   = { .kind = q->scaling.kind,
                             .global_batch =
                               q->scaling.kind == SCALING_STRONG ? batch : q->scaling.whole,
                             .dataset = q->samples,
                             .setup   = q->how.setup };

    one.setup.batch   = batch;
    one.setup.devices = q->devices.at[line / policies(q) / q->batch.n];
    one.setup.sync    = q->how.policy[line % policies(q)];
    return one;
}

static lm_status predict_line(const predictor *who, scale_options *q, scale_line *l, size_t at,
                              lm_error *err)
{
    scale_question one    = question_at(q, at);
    lm_status      status = scale_fits_dataset(&one, q->nodes.at[q->nodes.n - 1], err);

    if (!status && q->how.buckets.automatic)
        status = scale_best_policy(&who, 1, &one, q->nodes.at[q->nodes.n - 1], q->how.policy,
                                   q->how.n, &one.setup.sync, err);
    if (!status)
        status = scale_curve_begin(who, &one, &l->curve, err);
    for (size_t i = 0; i < q->nodes.n && !status; i++)
        if (!(status = scale_curve_at(&l->curve, q->nodes.at[i], &l->point[i], err)))
            limits_meet(&q->limit.met, &l->point[i]);
    if (status)
        return status;
    if (one.setup.program == PROGRAM_INFERENCE /* replicas never stop to pay */ ||
        one.setup.laid_out)
        return LM_OK;
    status   = scale_curve_turning(&l->curve, &l->turning, err);
    l->turns = !status;
    return status == LM_E_NOTFOUND ? LM_OK : status; /* predictions of one node are still known */
}

static void grid_free(scale_grid *g)
{
    for (size_t i = 0; g->line && i < g->n_lines; i++)
        free(g->line[i].point);
    free(g->line);
}

static lm_status predict_grid(const session *s, const decoding *d, scale_options *q, scale_grid *g,
                              lm_error *err)
{
    const predictor *who    = decoding_who(d, s);
    lm_status        status = LM_OK;

    *g = (scale_grid){ .who     = who,
                       .network = s->who->network,
                       .net     = s->net,
                       .span    = decoding_span(d),
                       .device  = q->session.source.device,
                       .layout  = q->layout.given ? q->layout.words : NULL,
                       .n_lines = q->devices.n * q->batch.n * policies(q),
                       .n_nodes = q->nodes.n,
                       .power   = power_choice_watts(&q->power) };
    if ((status = scale_tokens(who, &g->tokens, err)) ||
        (g->tokens && q->how.program == PROGRAM_TRAINING &&
         ((status =
               utilization_at_peak(who, PROGRAM_TRAINING, &q->session.source, &g->at_peak, err)) ||
          (status = utilization_again(who, q->limit.recompute, &g->again, err)))) ||
        (status = dataset_samples(who, &q->dataset, &q->samples, err)))
        return status;
    g->line = calloc(g->n_lines, sizeof *g->line);
    if (!g->line)
        return no_memory(err);
    for (size_t i = 0; i < g->n_lines && !status; i++) {
        if (!(g->line[i].point = calloc(g->n_nodes, sizeof *g->line[i].point)))
            return no_memory(err);
        status = predict_line(who, q, &g->line[i], i, err);
    }
    return status;
}

static lm_status draw(const scale_grid *g, const options *o, lm_error *err)
{
    const scale_options *q     = o->filled;
    const void          *batch = q->scaling.whole ? (const void *)&q->scaling.whole : &q->batch;

    return q->plot ? scale_draw(g, q->plot, option_text(o, batch), q->measured, q->keep_script, err)
                   : LM_OK;
}

/* Memory is that of the network and the predictor that steps are asked of. */
static lm_status begin_limits(scale_options *q, const session *s, decoding *d, lm_error *err)
{
    session         asked  = *s;
    const lm_status status = decoding_network(d, s, &asked.net, err);

    asked.who = decoding_who(d, s);
    return status ? status
                  : limit_begin(&q->limit, &asked, &q->session, &q->how.setup,
                                q->batch.at[q->batch.n - 1], err);
}

static lm_status run(const options *o, lm_error *err)
{
    scale_options *q = o->filled;
    session        s;
    decoding      *d      = NULL;
    scale_grid     g      = { .line = NULL };
    limit_notes    notes  = { .memory = "" };
    lm_status      status = session_open(o, &q->session, &s, err);

    if (!status) {
        q->dataset.given = option_given(o, &q->dataset.samples);
        setup_settle(&q->how, predict_in_buckets(s.who));
        if (!(status = power_choice_open(&q->power, s.who, &q->session.source, err)) &&
            !(status = predictor_handle_scan(s.by, err)) &&
            !(status = decoding_open(&s, &q->session, &q->how, &d, err)) &&
            !(status = begin_limits(q, &s, d, err)) &&
            !(status = predict_grid(&s, d, q, &g, err)) &&
            !(status = limit_judge(&q->limit, &notes, err)) && !(status = draw(&g, o, err)))
            status = scale_print(&g, &q->look, err);
    }
    if (!status)
        decoding_explain(d, q->look.format == FORMAT_TABLE ? stdout : stderr);
    if (!status)
        limit_print(&notes, NULL, q->look.format == FORMAT_TABLE ? stdout : stderr);
    if (!status && scale_lacks_power(&g))
        step_watts_explain(&g.power, s.who->model, s.who->machine);
    grid_free(&g);
    decoding_close(d);
    session_close(&s);
    return status;
}

const command cmd_scale =
    COMMAND("scale", "NETWORK", "Predict throughput over nodes, and where more stop paying",
            scale_options, 1, 1, check, run);
