/* layermeter scale: throughput over nodes, devices, batches and buckets, and where more nodes stop
 * paying. */
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "cli/scale_print.h"
#include "cli/setup_options.h"
#include "network/metrics.h"
#include "predict/layerwise_step.h"
#include "report/plot.h"

enum {
    MACHINE,
    MODEL,
    NODES,
    DEVICES_PER_NODE,
    BATCH,
    SCALING,
    GLOBAL_BATCH,
    DATASET,
    SETUP_OPTIONS,
    SESSION_OPTIONS,
    IDLE_POWER,
    POWER_CAP,
    GRID,
    FORMAT,
    PLOT,
    KEEP_SCRIPT,
    NETWORK_OPTIONS
};

static const option_spec specs[] = {
    [MACHINE]          = { "machine", "FILE", NULL,
                           "machine file, written by 'layermeter fit' (needed but for paleo)" },
    [MODEL]            = { "model", "NAME", "layermeter",
                           "formulas: layermeter, convmeter or nnls; paleo; or justus, prenet (fit --model)" },
    [NODES]            = { "nodes", "LIST", "1..64*2", "nodes: what a network connects" },
    [DEVICES_PER_NODE] = { "devices-per-node", "LIST", "1", "devices a node" },
    [BATCH]            = { "batch", "LIST", "32",
                           "samples of each device; strong: of all together; global: a device's most at once" },
    [SCALING]          = { "scaling", "KIND", "weak",
                           "what stays: weak, a device's batch; strong and global, the whole batch" },
    [GLOBAL_BATCH]     = { "global-batch", "N", NULL,
                           "strong, global: samples of all devices together" },
    [DATASET]          = OPTION_DATASET,
    SETUP_ROWS,
    SESSION_ROWS,
    [IDLE_POWER] = OPTION_IDLE_POWER,
    [POWER_CAP]  = OPTION_POWER_CAP,
    [GRID]       = OPTION_GRID,
    [FORMAT] = { "format", "FORMAT", "table", "table, csv or json: these two have every column" },
    [PLOT]   = { "plot", "FILE", NULL, "draw the curves: FILE.svg, .png or .pdf (needs gnuplot)" },
    [KEEP_SCRIPT] = OPTION_KEEP_SCRIPT,
    NETWORK_ROWS,
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "A row for each number of nodes, devices per node, batch and bucket. Weak scaling: each device keeps\n"
    "its batch. Strong: the whole batch stays (--global-batch, or --batch), each device takes\n"
    "ceil(whole / devices) at once. Global: the same in micro-steps of at most --batch samples, whose\n"
    "gradients add up. Only the whole batch itself counts as work; devices beyond it are idle.\n"
    "\n"
    "Speed-up compares samples per second with one node of as many devices, efficiency is speed-up over\n"
    "nodes; its low and high (CSV, JSON) are by the interval of all-reduces alone, as what is wrong about\n"
    "a device's own work is wrong on one node, too. 'exposed' is what the backward pass does not hide of\n"
    "the all-reduces. 'bottleneck' is the largest share of the step: arithmetic, traffic (bytes of a\n"
    "device's memory) or launch, each of forward, backward and update; or exposed all-reduces, inter-node\n"
    "where there are several nodes, else intra-node ('sync_bound': latency, if as many\n"
    "messages of a single byte would take more than half as long). Learned models do not say what bounds a\n"
    "device's own work: 'compute'. 'tokens/s', where a sample is a row of integers, counts the length of that\n"
    "row: with encoder and decoder the encoder's, not the decoder's too, as some count.\n"
    "\n"
    "The turning point is the smallest number of nodes whose doubling gains less than 10 % of throughput\n"
    "(weak) or shortens the epoch by less than 5 % (strong, global), up to 65536. It is given with those\n"
    "of the curves whose all-reduces take as long as the ends of their interval: '22 nodes (16 to 31)'.\n"
    "'beyond' names what leaves the calibrated range; me/in/ex/as is the share of the step that\n"
    "is measured, interpolated, extrapolated and assumed, see predict. Power is a device's, energy that of\n"
    "all devices, which wait for each other in exposed all-reduces; see predict for what it is by.\n";

static const char examples[] =
    "  layermeter scale resnet50 --machine machine.ini --batch 32 --plot resnet50.svg\n"
    "  layermeter scale vgg16 --machine machine.ini --scaling strong --batch 256 --nodes 1..32*2\n"
    "  layermeter scale bert_base --machine machine.ini --scaling global --global-batch 4096 --batch 8\n"
    "  layermeter scale resnet50 --machine machine.ini --devices-per-node 4,8 --batch 16..64*2\n"
    "  layermeter scale resnet50 --machine machine.ini --nodes 8 --bucket 1MiB..128MiB*2 --format csv\n";

/* More rows than this nobody reads, and no memory holds. */
#define POINTS_MAX 200000

/* What the command line asks for. */
typedef struct question {
    scaling_kind kind;
    int64_t     *nodes, *devices, *batch;
    size_t       n_nodes, n_devices, n_batch;
    int64_t      whole, dataset; /* whole: 0: not given */
    setup_choice how;
    power_choice power;
} question;

/* Of --bucket auto one policy remains. */
static size_t policies(const question *q)
{
    return q->how.automatic ? 1 : q->how.n;
}

/* What goes with what. */
static bool check_question(const options *o, const question *q, int *code)
{
    lm_error     err    = { 0 };
    const double curves = (double)q->n_devices * (double)q->n_batch * (double)policies(q);
    const double points = curves * (double)q->n_nodes;

    if (q->kind == SCALING_WEAK && q->whole) {
        lm_error_set(&err, LM_E_ARG, "goes with --scaling strong or global");
        return option_misuse(o, GLOBAL_BATCH, &err, code);
    }
    if (q->kind == SCALING_GLOBAL && !q->whole) {
        lm_error_set(&err, LM_E_ARG,
                     "global needs --global-batch, the samples of a step on all devices");
        return option_misuse(o, SCALING, &err, code);
    }
    if (q->kind == SCALING_STRONG && q->whole && o->given[BATCH]) {
        lm_error_set(&err, LM_E_ARG, "is --batch of strong scaling: give one of the two");
        return option_misuse(o, GLOBAL_BATCH, &err, code);
    }
    if (q->kind != SCALING_WEAK && o->given[ACCUMULATE]) {
        lm_error_set(&err, LM_E_ARG,
                     "goes with --scaling weak: global finds the micro-steps itself");
        return option_misuse(o, ACCUMULATE, &err, code);
    }
    if (points > POINTS_MAX) {
        lm_error_set(&err, LM_E_ARG,
                     "%.0f points, nodes x devices x batches x buckets: give fewer, at most %d",
                     points, POINTS_MAX);
        return option_misuse(o, NODES, &err, code);
    }
    if (o->value[PLOT] && curves > PLOT_CURVES_MAX) {
        lm_error_set(&err, LM_E_ARG,
                     "%.0f curves, devices x batches x buckets: give fewer, at most %d can be told "
                     "apart",
                     curves, PLOT_CURVES_MAX);
        return option_misuse(o, PLOT, &err, code);
    }
    return true;
}

static bool read_question(const options *o, question *q, int *code)
{
    static const setup_options at    = { SYNC, BUCKET, GRAD_DTYPE, ACCUMULATE, OPTIMIZER, -1 };
    static const power_options power = { IDLE_POWER, POWER_CAP, -1, GRID, false };
    lm_error                   err   = { 0 };

    if (scaling_kind_parse(o->value[SCALING], &q->kind, &err))
        return option_misuse(o, SCALING, &err, code);
    if (!option_list(o, NODES, &q->nodes, &q->n_nodes, code) ||
        !option_list(o, DEVICES_PER_NODE, &q->devices, &q->n_devices, code) ||
        !option_list(o, BATCH, &q->batch, &q->n_batch, code) ||
        (o->value[GLOBAL_BATCH] && !option_count(o, GLOBAL_BATCH, &q->whole, code)) ||
        !option_count(o, DATASET, &q->dataset, code) ||
        !setup_options_read_of(o, o->value[MODEL], &at, &q->how, code) ||
        !power_options_read(o, &power, &q->power, code) || !check_question(o, q, code))
        return false;
    if (q->kind == SCALING_STRONG && q->whole) {
        q->batch[0] = q->whole;
        q->n_batch  = 1;
    }
    q->n_nodes = option_list_tidy(q->nodes, q->n_nodes);
    return true;
}

static scale_question question_at(const question *q, size_t line)
{
    const int64_t  batch = q->batch[line / policies(q) % q->n_batch];
    scale_question one   = { .kind         = q->kind,
                             .global_batch = q->kind == SCALING_STRONG ? batch : q->whole,
                             .dataset      = q->dataset,
                             .setup        = q->how.setup };

    one.setup.batch   = batch;
    one.setup.devices = q->devices[line / policies(q) / q->n_batch];
    one.setup.sync    = q->how.policy[line % policies(q)];
    return one;
}

/* The policy that is the fastest on the most nodes. */
static lm_status choose_policy(const predictor *who, const question *q, scale_question *one,
                               lm_error *err)
{
    sync_policy best   = one->setup.sync;
    double      most   = 0;
    lm_status   status = LM_OK;

    for (size_t i = 0; i < q->how.n && !status; i++) {
        scale_point p;

        one->setup.sync = q->how.policy[i];
        status          = scale_at(who, one, q->nodes[q->n_nodes - 1], &p, err);
        if (!status && p.samples_per_second > most) {
            most = p.samples_per_second;
            best = one->setup.sync;
        }
    }
    one->setup.sync = best;
    return status;
}

static lm_status predict_line(const predictor *who, const question *q, scale_line *l, size_t at,
                              lm_error *err)
{
    scale_question one    = question_at(q, at);
    lm_status      status = scale_fits_dataset(&one, q->nodes[q->n_nodes - 1], err);

    if (!status && q->how.automatic)
        status = choose_policy(who, q, &one, err);
    if (!status)
        status = scale_curve_begin(who, &one, &l->curve, err);
    for (size_t i = 0; i < q->n_nodes && !status; i++)
        status = scale_curve_at(&l->curve, q->nodes[i], &l->point[i], err);
    if (status)
        return status;
    status   = scale_curve_turning(&l->curve, &l->turning, err);
    l->turns = !status;
    return status == LM_E_NOTFOUND ? LM_OK : status; /* of one node something can be said */
}

static lm_status count_tokens(const session *s, int64_t *out, lm_error *err)
{
    bound_network *bound = NULL;
    lm_status      status =
        workloads_bind_at(s->loads, s->who.network, s->who.input, s->who.dtype, 1, &bound, err);

    if (!status)
        *out = metrics_tokens(bound);
    bound_network_free(bound);
    return status;
}

static void grid_free(scale_grid *g)
{
    for (size_t i = 0; g->line && i < g->n_lines; i++)
        free(g->line[i].point);
    free(g->line);
}

static lm_status predict_grid(const session *s, const question *q, scale_grid *g, lm_error *err)
{
    lm_status status = count_tokens(s, &g->tokens, err);

    g->n_lines = q->n_devices * q->n_batch * policies(q);
    g->n_nodes = q->n_nodes;
    g->set     = s->net->set;
    g->power   = q->power;
    g->line    = calloc(g->n_lines, sizeof *g->line);
    if (!g->line)
        return no_memory(err);
    for (size_t i = 0; i < g->n_lines && !status; i++) {
        if (!(g->line[i].point = calloc(g->n_nodes, sizeof *g->line[i].point)))
            return no_memory(err);
        status = predict_line(&s->who, q, &g->line[i], i, err);
    }
    return status;
}

static int run(const options *o)
{
    static const session_options at   = SESSION_PLACES;
    const scale_words            w    = { .network = o->argument[0],
                                          .machine = o->value[MACHINE],
                                          .scaling = o->value[SCALING],
                                          .batch =
                                o->value[GLOBAL_BATCH] ? o->value[GLOBAL_BATCH] : o->value[BATCH],
                                          .device      = o->value[DEVICE],
                                          .plot        = o->value[PLOT],
                                          .keep_script = o->value[KEEP_SCRIPT] != NULL };
    lm_error                     err  = { 0 };
    session                      s    = { 0 };
    question                     q    = { .kind = SCALING_WEAK };
    scale_grid                   g    = { .line = NULL };
    int                          code = EXIT_DONE;
    format                       f;

    if (format_parse(o->value[FORMAT], &f, &err)) {
        code = report_misuse("", &err);
        goto out;
    }
    if (!read_question(o, &q, &code) || !session_open(o, &at, &s, &code))
        goto out;
    if (s.layerwise)
        s.layerwise->optimizer = o->value[OPTIMIZER];
    q.power.learned = layerwise_tells_power(&s.who);
    setup_options_settle(&q.how, setup_in_buckets(&s.who));
    if (power_choice_complete(&q.power, s.cal, o->value[DEVICE], o->value[DEVICES], &err) ||
        power_choice_check(&q.power, &err) || session_scans(&s, &err) ||
        predict_grid(&s, &q, &g, &err) || scale_draw(&g, &s, &w, &err) ||
        scale_print(&g, &s, &w, f, &err))
        code = report_failure(&err);
out:
    grid_free(&g);
    session_close(&s);
    free(q.how.policy);
    free(q.nodes);
    free(q.devices);
    free(q.batch);
    return code;
}

const command cmd_scale = {
    .name          = "scale",
    .arguments     = "NETWORK",
    .doc           = "Predict throughput over nodes, and where more stop paying",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
