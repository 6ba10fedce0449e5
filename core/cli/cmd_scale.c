/* layermeter scale: throughput over nodes, devices, batches and buckets, and where more nodes stop
 * paying. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "cli/layout_options.h"
#include "cli/sides.h"
#include "predict/dataset.h"
#include "report/plot.h"
#include "report/scale_view.h"

typedef struct scale_options {
    fleet_options   fleet;
    setup_choice    how;
    power_choice    power;
    limit_choice    limit;
    layout_choice   layout;
    scaling_options scaling;
    option_counts   nodes, devices, gpus, batch;
    dataset_told    dataset;
    int64_t         samples; /* of it; 0: not known */
    table_look      look;
    const char     *plot, *measured; /* picture; observations drawn into it; NULL: none */
    bool            keep_script;
    bool            doubled; /* nodes follow from the layout */
} scale_options;

#define AT(member) OPTION_AT(scale_options, member)

static const option_row option_rows[] = {
    { "batch", AT(batch), .fallback = "32",
      .help =
          "samples per device; strong: on all devices together; global: the most per device and "
          "micro-step" },
    OPTION_GROUP(scale_options, scaling, scaling_option_rows),
    OPTION_GROUP(scale_options, fleet, compare_option_rows),
    { "dataset", AT(dataset.samples) },
    { "tokens", AT(dataset.tokens) },
    { "nodes", AT(nodes), &type_ascending, "LIST", "1..64*2" },
    { "devices-per-node", AT(devices), &type_counts, "LIST", "1" },
    { "gpus", AT(gpus), &type_ascending, "LIST", NULL, HELP_WHERE,
      "devices in all, 8..64*2: on nodes of 8 or of --devices-per-node; fewer devices share one node" },
    OPTION_GROUP(scale_options, power, power_option_rows),
    OPTION_GROUP(scale_options, power, grid_option_rows),
    OPTION_GROUP(scale_options, how, phase_option_rows),
    OPTION_GROUP(scale_options, how, setup_option_rows),
    OPTION_GROUP(scale_options, limit, limit_option_rows),
    OPTION_GROUP(scale_options, layout, layout_option_rows),
    OPTION_GROUP(scale_options, look, look_option_rows),
    { "plot", AT(plot),
      .help =
          "plot curves over nodes, or for one number of nodes over batches: FILE.svg, .png or .pdf "
          "(needs gnuplot)" },
    { "measured", AT(measured), &type_text, "FILE", .heading = HELP_OUTPUT,
      .help  = "with --plot: also plot the measured steps of this network in these observations",
      .needs = "plot", .refusal = "is for --plot" },
    { "keep-script", AT(keep_script) },
    { .name = NULL },
};

static const char details[] =
    "Each number of nodes, devices per node, batch and bucket has a row. Several --machine and --device\n"
    "are compared; a plot has one curve for each. --scaling chooses what stays the same:\n"
    "  weak: the batch of each device\n"
    "  strong: the batch of all devices (--global-batch, or --batch); each device takes ceil(batch /\n"
    "    devices) samples at once\n"
    "  global: the batch of all devices, in micro-steps of at most --batch samples per device, whose\n"
    "    gradients are added\n"
    "\n"
    "If the batch has fewer samples than there are devices, the other devices are idle.\n"
    "\n"
    "Speed-up is samples per second divided by those of one node with as many devices. For a layout, the\n"
    "reference is the smallest number of nodes that holds it. Efficiency is speed-up divided by the\n"
    "number of nodes. Their low and high (CSV, JSON) come from the interval of the all-reduces alone: an\n"
    "error in a device's own work is the same on one node. 'exposed' is the part of the all-reduces that\n"
    "does not overlap with the backward pass. 'bottleneck' is the largest share of the step: arithmetic,\n"
    "traffic (bytes of a device's memory) or launches of a pass or of the update, or exposed all-reduces\n"
    "(inter-node on several nodes, intra-node on one). Learned models print 'compute' for a device's own\n"
    "work. 'sync_bound' is latency if the same number of messages of one byte would take more than half\n"
    "of the all-reduce time.\n"
    "\n"
    "'tokens/s' counts tokens if a sample is a row of integers. With an encoder and a decoder, it counts\n"
    "the tokens of the encoder. An epoch of --tokens has ceil(tokens / length of a sample) samples.\n"
    "Without a data set the epoch time of a language model is unknown.\n"
    "\n"
    "The turning point is the smallest number of nodes, up to 65536, whose doubling hardly helps. With\n"
    "weak scaling the doubling adds less than 10 % throughput; with strong and global it shortens the\n"
    "epoch by less than 5 %. Brackets show the turning points for both ends of the interval of the\n"
    "all-reduces: '22 nodes (16 to 31)'. 'layermeter predict --help' explains 'beyond', 'basis' and\n"
    "power.\n";

static const char examples[] =
    "  layermeter scale resnet50 --machine machine.ini --batch 32 --plot resnet50.svg\n"
    "  layermeter scale vgg16 --machine machine.ini --scaling strong --batch 256 --nodes 1..32*2\n"
    "  layermeter scale bert_base --machine machine.ini --scaling global --global-batch 4096 --batch 8\n"
    "  layermeter scale resnet50 --machine machine.ini --devices-per-node 4,8 --batch 16..64*2\n"
    "  layermeter scale resnet50 --device A100 --device H100 --nodes 1..64*2\n"
    "  layermeter scale resnet50 --machine machine.ini --nodes 8 --bucket 1MiB..128MiB*2 --format csv\n";

/* Limit of rows: nobody reads more, and memory is limited. */
#define POINTS_MAX 200000

/* Number of policies; with --bucket auto only the best remains. */
static size_t policies(const scale_options *q)
{
    return q->how.buckets.automatic ? 1 : q->how.n;
}

static lm_status check_sizes(const options *o, const scale_options *q, lm_error *err)
{
    const double curves = (double)q->devices.n * (double)q->batch.n * (double)policies(q) *
                          (double)fleet_size(&q->fleet);
    const double points = curves * (double)q->nodes.n;
    const double drawn  = q->nodes.n == 1 ? curves / (double)q->batch.n : curves;

    if (points > POINTS_MAX)
        return misused(o, &q->nodes, err,
                       "%.0f points, nodes x devices x batches x buckets: give fewer, at most %d",
                       points, POINTS_MAX);
    if (q->plot && drawn > PLOT_CURVES_MAX)
        return misused(
            o, &q->plot, err,
            "%.0f curves, devices x batches x buckets: give fewer: a plot shows at most %d", drawn,
            PLOT_CURVES_MAX);
    return q->measured && fleet_size(&q->fleet) > 1
               ? misused(o, &q->measured, err, "takes one machine, on which it was measured")
               : LM_OK;
}

/* Numbers of devices in all: on one node, or on whole nodes. */
static lm_status settle_gpus(const options *o, scale_options *q, lm_error *err)
{
    const int64_t each = option_given(o, &q->devices) ? q->devices.at[0] : USUAL_NODE;
    int64_t      *at   = arena_array(o->room, q->gpus.n + 1, sizeof *at);

    if (!q->gpus.n)
        return LM_OK;
    if (!at)
        return no_memory(err);
    if (q->gpus.at[q->gpus.n - 1] <= each) {
        at[0]      = 1;
        q->devices = q->gpus;
        q->nodes   = (option_counts){ .at = at, .n = 1 };
        return LM_OK;
    }
    for (size_t i = 0; i < q->gpus.n; i++) {
        if (q->gpus.at[i] % each || q->devices.n > 1)
            return misused(o, &q->gpus, err,
                           "%lld devices do not fill nodes of %lld: give --nodes and "
                           "--devices-per-node",
                           (long long)q->gpus.at[i], (long long)each);
        at[i] = q->gpus.at[i] / each;
    }
    at[q->gpus.n] = each;
    q->devices    = (option_counts){ .at = &at[q->gpus.n], .n = 1 };
    q->nodes      = (option_counts){ .at = at, .n = q->gpus.n };
    return LM_OK;
}

#define DOUBLINGS 5

/* Nodes of a layout where none are given: those that one replica takes, and doubled with more
 * replicas, which divide_batch() limits; all that are told with dp. */
static lm_status place(const options *o, scale_options *q, lm_error *err)
{
    const layout *l       = &q->layout.layout;
    const size_t  n       = l->dp ? 1 : DOUBLINGS + 1;
    int64_t       devices = q->devices.at[0], gpus = 0;
    int64_t      *at = arena_array(o->room, DOUBLINGS + 2, sizeof *at);
    lm_status     status;

    if (!q->layout.given || q->gpus.n || option_given(o, &q->nodes) ||
        option_given(o, &q->devices) || (!l->dp && layout_replica(l) == 1))
        return LM_OK;
    if (!at)
        return no_memory(err);
    if ((status = layout_choice_place(o, &q->layout, &gpus, &q->nodes, &devices, err)))
        return status;
    for (size_t i = 0; i < n; i++)
        at[i] = q->nodes.at[0] << i;
    at[n]      = devices;
    q->nodes   = (option_counts){ .at = at, .n = n };
    q->devices = (option_counts){ .at = at + n, .n = 1 };
    q->doubled = true;
    return LM_OK;
}

/* Leaves out numbers of replicas that do not divide the global batch. */
static void divide_batch(scale_options *q)
{
    const layout *l     = &q->layout.layout;
    const int64_t micro = l->micro_batch ? l->micro_batch : 1;

    while (q->doubled && q->nodes.n > 1 && l->global_batch % (micro << (q->nodes.n - 1)))
        q->nodes.n--;
}

static lm_status check(options *o, lm_error *err)
{
    scale_options *q = o->filled;
    lm_status      status =
        layout_choice_check(o, &q->layout,
                            &(layout_beside){ .batch      = &q->batch,
                                              .accumulate = &q->how.accumulate,
                                              .recompute  = &q->limit.recompute,
                                              .taken      = taken_by_layout(&q->scaling) },
                            err);

    power_choice_begin(o, &q->power, false);
    if (!status && !(status = settle_gpus(o, q, err)))
        status = place(o, q, err);
    if (!status)
        status = setup_check(o, &q->how, &q->fleet.session, false, err);
    q->how.setup.layout   = q->layout.layout;
    q->how.setup.laid_out = q->layout.given;
    if (status || (status = scaling_check(o, &q->scaling, &q->batch, &q->how, err)) ||
        (status = check_sizes(o, q, err)))
        return status;
    if ((status = look_check(o, &q->look, step_fields, NULL, err)) ||
        (status = compare_check(o, &q->fleet, power_asks_device(o, &q->power), err)))
        return status;
    return check_sizes(o, q, err); /* now with the devices for which machine files ship */
}

static scale_question question_at(const scale_options *q, const side *m, size_t setting)
{
    const int64_t  batch = q->batch.at[setting / policies(q) % q->batch.n];
    scale_question one   = { .kind = q->scaling.kind,
                             .global_batch =
                               q->scaling.kind == SCALING_STRONG ? batch : q->scaling.whole.n,
                             .dataset = q->samples,
                             .setup   = m->setup };

    one.setup.batch   = batch;
    one.setup.devices = q->devices.at[setting / policies(q) / q->batch.n];
    one.setup.sync    = q->how.policy[setting % policies(q)];
    return one;
}

static lm_status predict_line(scale_options *q, side *m, size_t setting, scale_line *l,
                              lm_error *err)
{
    const predictor *who    = l->on->who;
    scale_question   one    = question_at(q, m, setting);
    lm_status        status = scale_fits_dataset(&one, q->nodes.at[q->nodes.n - 1], err);

    if (!status && q->how.buckets.automatic)
        status = scale_best_policy(&who, 1, &one, q->nodes.at[q->nodes.n - 1], q->how.policy,
                                   q->how.n, &one.setup.sync, err);
    if (!status)
        status = scale_curve_begin(who, &one, &l->curve, err);
    for (size_t i = 0; i < q->nodes.n && !status; i++)
        if (!(status = scale_curve_at(&l->curve, q->nodes.at[i], &l->point[i], err)))
            limits_meet(&m->limit.met, &l->point[i]);
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

static lm_status predict_grid(scale_options *q, sides *all, scale_grid *g, lm_error *err)
{
    lm_status status = LM_OK;

    g->line = calloc(g->n_lines, sizeof *g->line);
    if (!g->line)
        return no_memory(err);
    for (size_t i = 0; i < g->n_lines && !status; i++) {
        side *m = &all->of[i % all->n];

        g->line[i].on = &g->machine[i % all->n];
        if (!(g->line[i].point = calloc(g->n_nodes, sizeof *g->line[i].point)))
            return no_memory(err);
        status = side_blame(m, predict_line(q, m, i / all->n, &g->line[i], err), err);
    }
    return status;
}

static lm_status draw(const scale_grid *g, const options *o, lm_error *err)
{
    const scale_options *q     = o->filled;
    const void          *batch = q->scaling.whole.n ? (const void *)&q->scaling.whole : &q->batch;

    return q->plot ? scale_draw(g, q->plot, option_text(o, batch), q->measured, q->keep_script, err)
                   : LM_OK;
}

/* Machines, and what all of them are asked. */
static lm_status open_sides(const options *o, scale_options *q, sides *all, int64_t *tokens,
                            lm_error *err)
{
    sides_options asked = { &q->fleet, &q->how, &q->power, &q->limit, q->batch.at[q->batch.n - 1] };
    lm_status     status = sides_open(o, &asked, all, err);
    const predictor *who;

    for (size_t i = 0; i < all->n && !status; i++)
        status = predictor_handle_scan(all->one[i].by, err);
    if (status ||
        (status = layout_choice_settle(&q->layout, all->one[0].who, &q->how.setup, err)) ||
        (status = batch_in_samples(&q->scaling.whole, all->one[0].who, err)))
        return status;
    divide_batch(q);
    if (q->scaling.kind == SCALING_STRONG && q->scaling.whole.n)
        q->batch = (option_counts){ .at = &q->scaling.whole.n, .n = 1 };
    asked.batch = q->batch.at[q->batch.n - 1];
    if ((status = sides_begin(&asked, all, err)))
        return status;
    who              = decoding_who(all->of[0].decode, all->of[0].s);
    q->dataset.given = option_given(o, &q->dataset.samples);
    if ((status = scale_tokens(who, tokens, err)) ||
        (*tokens && q->how.program == PROGRAM_TRAINING && (status = sides_utilization(all, err))))
        return status;
    return dataset_samples(who, &q->dataset, &q->samples, err);
}

static void print_notes(const scale_options *q, const sides *all, const scale_grid *g)
{
    FILE *out = q->look.format == FORMAT_TABLE ? stdout : stderr;

    decoding_explain(all->of[0].decode, out);
    for (size_t i = 0; i < all->n; i++) {
        const predictor *who = all->of[i].s->who;

        limit_print(&all->of[i].notes, all->of[i].label, out);
        if (scale_lacks_power(g, &g->machine[i]))
            step_watts_explain(&g->machine[i].power, who->model, who->machine);
    }
}

static lm_status answer(const options *o, scale_options *q, sides *all, lm_error *err)
{
    scale_machine machine[FLEET_MAX];
    scale_grid    g      = { .machine = machine };
    lm_status     status = open_sides(o, q, all, &g.tokens, err);

    if (status)
        return status;
    for (size_t i = 0; i < all->n; i++) {
        const side *m = &all->of[i];

        machine[i] = (scale_machine){ .who     = decoding_who(m->decode, m->s),
                                      .label   = m->label,
                                      .device  = m->source.device,
                                      .at_peak = m->at_peak,
                                      .again   = m->again,
                                      .power   = power_choice_watts(&m->power) };
    }
    g.n_machines = all->n;
    g.network    = all->one[0].who->network;
    g.net        = all->one[0].net;
    g.span       = decoding_span(all->of[0].decode);
    g.layout     = q->layout.given ? q->layout.words : NULL;
    g.n_lines    = q->devices.n * q->batch.n * policies(q) * all->n;
    g.n_nodes    = q->nodes.n;
    if (!(status = predict_grid(q, all, &g, err)) && !(status = sides_judge(all, err)) &&
        !(status = draw(&g, o, err)) && !(status = scale_print(&g, &q->look, err)))
        print_notes(q, all, &g);
    grid_free(&g);
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    sides    *all    = calloc(1, sizeof *all);
    lm_status status = all ? answer(o, o->filled, all, err) : no_memory(err);

    if (all)
        sides_close(all);
    free(all);
    return status;
}

const command cmd_scale =
    COMMAND("scale", "NETWORK", "Predict throughput over nodes, and when more nodes hardly help",
            scale_options, 1, 1, check, run);
