/* layermeter predict: the time of a training step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "cli/layout_options.h"
#include "cli/sides.h"
#include "predict/dataset.h"
#include "predict/generation.h"
#include "report/explain_view.h"
#include "report/timeline_view.h"

typedef struct predict_options {
    fleet_options fleet;
    setup_choice  how;
    power_choice  power;
    limit_choice  limit;
    layout_choice layout;
    option_counts batch, nodes;
    dataset_told  dataset;
    int64_t       samples; /* of it; 0: not known */
    int64_t       tokens;  /* of a sample; 0: it has none */
    int64_t       gpus;    /* of all nodes; 0: not given */
    int64_t       top;
    bool          explain;
    explain_key   by;
    const char   *path, *timeline;
    table_look    look;
} predict_options;

#define AT(member) OPTION_AT(predict_options, member)

VALUE_TYPE(type_key, explain_key, explain_key_parse);

static const option_row option_rows[] = {
    { "batch", AT(batch), .fallback = "32" },
    OPTION_GROUP(predict_options, fleet, compare_option_rows),
    { "dataset", AT(dataset.samples) },
    { "tokens", AT(dataset.tokens) },
    { "nodes", AT(nodes), .fallback = "1" },
    { "devices-per-node", AT(how.setup.devices) },
    { "gpus", AT(gpus) },
    OPTION_GROUP(predict_options, power, power_option_rows),
    OPTION_GROUP(predict_options, power, grid_option_rows),
    OPTION_GROUP(predict_options, how, phase_option_rows),
    OPTION_GROUP(predict_options, how, setup_option_rows),
    OPTION_GROUP(predict_options, limit, limit_option_rows),
    OPTION_GROUP(predict_options, layout, layout_option_rows),
    OPTION_GROUP(predict_options, how.setup.clock_mhz, clock_option_rows),
    { "explain", AT(explain), &type_flag, NULL, NULL, HELP_OUTPUT,
      "print the parts of one step, and what bounds each" },
    { "by", AT(by), &type_key, "KEY", "layer", HELP_OUTPUT,
      "--explain: rows by layer, block, class (of kernels) or term", .needs = "explain",
      .refusal = "is for --explain" },
    { "top", AT(top), &type_whole, "N", "20", HELP_OUTPUT,
      "--explain: the N longest rows, and one for the rest; 0: all rows", .needs = "explain",
      .refusal = "is for --explain" },
    { "path", AT(path), &type_text, "LAYER", NULL, HELP_OUTPUT,
      "--explain: print the decisions of one tree of a learned model for this layer",
      .needs = "explain", .refusal = "is for --explain" },
    { "timeline", AT(timeline), &type_text, "FILE", NULL, HELP_OUTPUT,
      "draw each stage or pass over time (.svg), or write a trace for Perfetto (.json)" },
    OPTION_GROUP(predict_options, look, look_option_rows),
    { .name = NULL },
};

static const char details[] =
    "A step is forward pass, backward pass, all-reduce and update. --sync chooses how the all-reduce of\n"
    "gradients overlaps with the backward pass:\n"
    "  once: no overlap\n"
    "  tensor: each gradient is sent when it is ready\n"
    "  ddp: gradients are sent in buckets, as by PyTorch's DistributedDataParallel\n"
    "  horovod: gradients are fused at each cycle\n"
    "\n"
    "'exposed' is the part of the all-reduces that does not overlap with the backward pass. Measured\n"
    "steps with buckets (key 'bucket' of a sweep) determine this part. ddp is the default if such steps\n"
    "were measured on several nodes.\n"
    "\n"
    "If several --machine and --device are given, each machine, batch and number of nodes has a row.\n"
    "\n"
    "low and high are a 90 % prediction interval, from measured / predicted of held-out networks. It\n"
    "widens with each doubling beyond the measured range. CSV and JSON have an interval for each part.\n"
    "\n"
    "An epoch takes ceil(dataset / (batch x micro-steps x devices)) steps. For a language model --tokens\n"
    "are ceil(tokens / length of a sample) samples. Without --tokens and --dataset the epoch time of a\n"
    "language model is unknown.\n"
    "\n"
    "'beyond' names the counts outside the measured range, with the factor. 'transferred' marks\n"
    "coefficients from another device, scaled by datasheets. 'basis' is the least certain kind of\n"
    "coefficient in a step; 'partly' means for less than half of the time:\n"
    "  measured: this network, input and batch were measured; the formula still gives the time\n"
    "  interpolated: within the measured range; the measurements determine the coefficient\n"
    "  extrapolated: the same, outside the measured range\n"
    "  assumed: the coefficient of similar kernels, or a coefficient with an unknown range\n"
    "\n"
    "Values that are the same in all rows, and columns that do not fit, are printed below the table.\n"
    "\n"
    "--explain divides one step. me/in/ex/as are the shares of the four kinds above. A block is a layer's\n"
    "name up to its first number that is not at the end, or else up to the last dot. A term is a count of\n"
    "one class of kernels (arithmetic, traffic, launches) times its coefficient; each row names its\n"
    "largest term. --path LAYER shows the decisions of one tree of a forest: its questions about the\n"
    "features of the layer, and the number of training rows that remain. It is the tree whose answer is\n"
    "nearest to that of the forest. Boosted trees have no such path, because their answers are added.\n"
    "\n"
    "--model paleo (ICLR 2017) needs no measurements. The time is FLOPs / peak plus bytes / bandwidth of\n"
    "the datasheet, without overlap and without an interval. justus, prenet and nicolai predict single\n"
    "layers (fit --model), and a step is their sum. 'beyond' names the layers that the model does not\n"
    "know. The interval assumes that all layers of a network have the same error. --optimizer then\n"
    "accepts any optimizer that was measured, such as adagrad. --device names the device if the model\n"
    "learned several.\n"
    "\n"
    "--phase decode generates --new-tokens for each sequence of a batch, after --context tokens in the KV\n"
    "cache. A step makes one token, and the cache grows by one token with each step. The network's file\n"
    "must support it (gpt2, llama2_7b and similar). 'token' is the mean step; a few steps are predicted,\n"
    "the others are interpolated. --phase inference --input TOKENS predicts the pass of the prompt\n"
    "(prefill). With --tp the devices of a replica share weights, heads and cache. With --pp they are\n"
    "stages, and each stage works on one --batch: N stages have N batches in flight.\n"
    "\n"
    "Power is that of one device, energy that of all devices. 'power by' names the source: fitted to\n"
    "measured power, learned (nicolai), or assumed from --idle-power. If it is assumed, a device draws\n"
    "the power limit of its datasheet while it works, and idle power while it waits.\n";

static const char examples[] =
    "  layermeter predict resnet50 --machine machine.ini --batch 1..64*2\n"
    "  layermeter predict resnet50 --device A100 --device H100 --machine machine.ini --batch 64\n"
    "  layermeter predict resnet50 --machine machine.ini --batch 64 --explain --by block\n"
    "  layermeter predict vgg16 --machine machine.ini --image 128 --nodes 1,2,4 --format csv\n"
    "  layermeter predict vgg16 --machine machine.ini --nodes 2 --devices-per-node 4 --bandwidth 10GB/s\n"
    "  layermeter predict vgg16 --machine machine.ini --nodes 8 --bucket auto\n"
    "  layermeter predict vgg16 --machine machine.ini --idle-power 30W --grid 400gCO2/kWh\n"
    "  layermeter predict vgg16 --machine machine.ini --model justus --batch 1..64*2\n"
    "  layermeter predict vgg16 --machine machine.ini --model prenet --nodes 4 --sync ddp\n"
    "  layermeter predict vgg16 --machine machine.ini --model nicolai --optimizer sgd --grid 400gCO2/kWh\n"
    "  layermeter predict vgg16 --machine machine.ini --model nicolai --explain --path features.0\n"
    "  layermeter predict gpt2 --machine machine.ini --phase decode --context 512 --new-tokens 128\n"
    "  layermeter predict llama3_1_70b --device H100 --phase decode --context 4k --tp 8\n"
    "  layermeter predict vgg16 --model paleo --device T4 --ppp-comp 0.5 --bandwidth 1GB/s --nodes 1..8*2\n";

/* Number of points: policies within batches within nodes. */
static size_t points_of(const predict_options *a)
{
    return a->nodes.n * a->batch.n * a->how.n;
}

static int64_t nodes_at(const predict_options *a, size_t i)
{
    return a->nodes.at[i / a->how.n / a->batch.n];
}

static scale_question question_at(const predict_options *a, const side *m, size_t i)
{
    scale_question q = scale_weak(1, a->samples);

    q.setup       = m->setup;
    q.setup.batch = a->batch.at[i / a->how.n % a->batch.n];
    q.setup.sync  = a->how.policy[i % a->how.n];
    return q;
}

/* ---- machines ---- */

static lm_status open_sides(const options *o, predict_options *a, sides *all, lm_error *err)
{
    const sides_options q      = { &a->fleet, &a->how, &a->power, &a->limit,
                                   a->batch.at[a->batch.n - 1] };
    lm_status           status = sides_open(o, &q, all, err);

    a->dataset.given = option_given(o, &a->dataset.samples);
    if (status || (status = dataset_samples(all->one[0].who, &a->dataset, &a->samples, err)) ||
        (status = scale_tokens(all->one[0].who, &a->tokens, err)) ||
        (status = layout_choice_settle(&a->layout, all->one[0].who, &a->how.setup, err)) ||
        (status = sides_begin(&q, all, err)))
        return status;
    return a->tokens && a->how.program == PROGRAM_TRAINING ? sides_utilization(all, err) : LM_OK;
}

/* ---- rows ---- */

/* Is the step the shortest of its machine, batch and number of nodes? */
static bool is_best(const scale_point *x, size_t i, size_t n)
{
    for (size_t k = i - i % n; k < i - i % n + n; k++)
        if (x[k].step.step < x[i].step.step || (x[k].step.step <= x[i].step.step && k < i))
            return false;
    return true;
}

/* Facts that any of the machines has a column for. */
static unsigned facts_of(const predict_options *a, const sides *all)
{
    unsigned facts = step_program_fact(a->how.program) |
                     (a->how.setup.devices > 1 ? STEP_SEVERAL : 0) |
                     (a->how.given ? STEP_SYNC : 0) | (a->how.buckets.automatic ? STEP_BEST : 0) |
                     (all->one[0].net->set ? STEP_SET : 0) | (a->layout.given ? STEP_LAYOUT : 0) |
                     (a->samples ? STEP_EPOCHS : 0) | (a->tokens ? STEP_TOKENS : 0) |
                     (all->n > 1 ? STEP_COMPARED : 0);

    for (size_t i = 0; i < all->n; i++) {
        const step_watts w = power_choice_watts(&all->of[i].power);

        facts |= step_watts_facts(&w) | step_spread_fact(&all->of[i].first.step) |
                 (all->of[i].at_peak > 0 ? STEP_PEAK : 0) |
                 (all->of[i].again > 0 ? STEP_AGAIN : 0) |
                 (all->of[i].first.step.unsplit >= 5e-5 ? STEP_UNSPLIT : 0);
    }
    return facts;
}

static step_row row_of(const predict_options *a, side *m, const scale_point *x, size_t i)
{
    const step_watts w = power_choice_watts(&m->power);
    step_row         r = step_row_of(x, &w);

    r.machine = m->label;
    r.sync    = a->how.policy[i % a->how.n];
    r.set     = m->s->net->set;
    r.tokens  = a->tokens;
    r.at_peak = m->at_peak;
    r.again   = m->again;
    r.layout  = a->layout.given ? a->layout.words : NULL;
    m->no_power |= !step_power_told(&w, x);
    return r;
}

static field_rows rows_of(const predict_options *a, const sides *all, const field *fields)
{
    const field_view v = { .fields = fields,
                           .from   = step_fields,
                           .in     = field_place_of(a->look.format),
                           .facts  = facts_of(a, all),
                           .look   = &a->look };

    return field_rows_of(&v);
}

/* Of the first point; decoding has several. */
static void hint_host(const predict_options *a, const side *m, FILE *out)
{
    const scale_question q = question_at(a, m, 0);
    step_setup           s;
    lm_error             unsaid;

    if (!m->decode && !scale_setup(&q, nodes_at(a, 0), &s, &unsaid))
        step_host_hint(m->s->who, &s, &m->first.step, m->label, out);
}

/* Prints the rows and their basis. */
static lm_status print_rows(const predict_options *a, sides *all, field_rows *rows,
                            lm_status status, lm_error *err)
{
    FILE *out = a->look.format == FORMAT_TABLE ? stdout : stderr;

    status = status ? status : sides_judge(all, err);
    status = field_rows_print(rows, a->look.format, stdout, status, err);
    for (size_t i = 0; i < all->n && !status; i++) {
        const side      *m = &all->of[i];
        const step_watts w = power_choice_watts(&m->power);

        step_basis_explain(m->s->who, &m->first.step, m->label, out);
        hint_host(a, m, out);
        if (m->no_power)
            step_watts_explain(&w, m->s->who->model, m->s->who->machine);
        limit_print(&m->notes, m->label, out);
    }
    return status;
}

static lm_status predict_points(const predict_options *a, side *m, scale_point *out, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < points_of(a) && !status; i++) {
        const scale_question q = question_at(a, m, i);

        status = side_blame(m, scale_at(m->s->who, &q, nodes_at(a, i), &out[i], err), err);
        if (!status)
            status = scale_fits_dataset(&q, nodes_at(a, i), err);
        if (!status)
            limits_meet(&m->limit.met, &out[i]);
    }
    if (!status)
        m->first = out[0];
    return status;
}

static lm_status print_points(predict_options *a, sides *all, lm_error *err)
{
    const size_t n      = points_of(a);
    scale_point *x      = calloc(all->n * n + 1, sizeof *x);
    lm_status    status = x ? LM_OK : no_memory(err);
    field_rows   rows;

    for (size_t k = 0; k < all->n && !status; k++)
        status = predict_points(a, &all->of[k], x + k * n, err);
    rows = rows_of(a, all, step_predicted);
    for (size_t i = 0; i < n && !status; i++)
        for (size_t k = 0; k < all->n; k++) {
            step_row r = row_of(a, &all->of[k], &x[k * n + i], i);

            r.best = is_best(x + k * n, i, a->how.n);
            field_row(&rows, &r);
        }
    status = print_rows(a, all, &rows, status, err);
    free(x);
    return status;
}

static lm_status draw_stages(const predict_options *a, const side *m, lm_error *err)
{
    const scale_question q = question_at(a, m, 0);
    step_setup           s;
    const lm_status      status = scale_setup(&q, a->nodes.at[0], &s, err);

    return status ? status
                  : timeline_draw_step(a->timeline, m->s->who, &s, &m->first.step,
                                       a->layout.given ? a->layout.words : "", err);
}

/* ---- decoding ---- */

static lm_status print_generations(predict_options *a, sides *all, lm_error *err)
{
    const size_t n      = points_of(a);
    generation  *g      = calloc(all->n * n + 1, sizeof *g);
    lm_status    status = g ? LM_OK : no_memory(err);
    field_rows   rows;

    for (size_t k = 0; k < all->n * n && !status; k++) {
        side                *m = &all->of[k / n];
        const scale_question q = question_at(a, m, k % n);

        status = side_blame(
            m,
            generation_predict(decoding_who(m->decode, m->s), &q, nodes_at(a, k % n), &g[k], err),
            err);
        if (!status) {
            limits_meet(&m->limit.met, &g[k].mean);
            m->first = g[k].mean;
        }
    }
    rows = rows_of(a, all, step_generated);
    for (size_t i = 0; i < n && !status; i++)
        for (size_t k = 0; k < all->n; k++) {
            step_row r = row_of(a, &all->of[k], &g[k * n + i].mean, i);

            r.generation = &g[k * n + i];
            field_row(&rows, &r);
        }
    status = print_rows(a, all, &rows, status, err);
    free(g);
    return status;
}

/* Of a single machine; of decoding the first step. */
static lm_status explain_one(const predict_options *a, const side *m, lm_error *err)
{
    const predictor     *who = m->decode ? decoding_first(m->decode) : m->s->who;
    const scale_question q   = question_at(a, m, 0);
    step_setup           setup;
    const lm_status      status = scale_setup(&q, a->nodes.at[0], &setup, err);

    if (status)
        return status;
    return a->path ? explain_path_print(who, &setup, a->path, a->look.format, err)
                   : explain_print(who, &setup, a->by, (size_t)a->top, a->look.format, err);
}

/* ---- the command ---- */

static lm_status check(options *o, lm_error *err)
{
    predict_options  *a      = o->filled;
    const step_model *by     = session_model(&a->fleet.session);
    lm_status         status = layout_choice_check(o, &a->layout,
                                                   &(layout_beside){ .batch      = &a->batch,
                                                                     .accumulate = &a->how.accumulate,
                                                                     .recompute = &a->limit.recompute },
                                                   err);

    if (!status)
        status =
            layout_choice_place(o, &a->layout, &a->gpus, &a->nodes, &a->how.setup.devices, err);
    if (!status)
        status = setup_check(o, &a->how, &a->fleet.session, false, err);
    a->how.setup.layout   = a->layout.layout;
    a->how.setup.laid_out = a->layout.given;
    if (!status && a->timeline && timeline_draw_check(a->timeline, err))
        return misused(o, &a->timeline, err, "expected a name ending in .svg or .json");
    if (!status && a->timeline && (points_of(a) > 1 || a->how.program != PROGRAM_TRAINING))
        return misused(o, &a->timeline, err,
                       "takes a training step of one batch and one number of nodes");
    if (status)
        return status;
    if (a->explain && a->how.decode.tokens > 1)
        return misused(o, &a->explain, err, "takes the step of one token: leave out --new-tokens");
    power_choice_begin(o, &a->power, false);
    /* one rank exchanges nothing: there is no best size */
    for (size_t i = 0; i < a->nodes.n && a->how.buckets.automatic; i++)
        if (a->nodes.at[i] * a->how.setup.devices == 1)
            return misused(o, &a->how.buckets, err,
                           "one device exchanges no gradients: give --nodes 2 or more");
    if (a->explain && a->limit.recompute && layout_is_plain(&a->layout.layout))
        return misused(o, &a->limit.recompute, err,
                       "cannot be divided into parts: leave out --explain");
    if (a->explain && points_of(a) > 1)
        return misused(o, &a->explain, err, "takes one batch, one number of nodes and one rule");
    if (a->path && by && !by->decide)
        return misused(o, &a->path, err, "%s has no trees: --model nicolai or prenet",
                       a->fleet.session.model);
    if (a->explain && by && by->from_layers && a->by == EXPLAIN_TERM)
        return misused(o, &a->by, err, "%s predicts whole layers and has no terms",
                       a->fleet.session.model);
    if (a->explain && (a->look.columns.n || a->look.wide))
        return misused(o, a->look.wide ? (void *)&a->look.wide : &a->look.columns, err,
                       "is for predictions: --explain always shows all columns");
    if ((status = look_check(o, &a->look,
                             a->how.program == PROGRAM_DECODE ? step_generated : step_predicted,
                             step_fields, err)))
        return status;
    if ((status = compare_check(o, &a->fleet, power_asks_device(o, &a->power), err)))
        return status;
    return (a->explain || a->timeline) && fleet_size(&a->fleet) > 1
               ? misused(o, a->explain ? (void *)&a->explain : &a->timeline, err,
                         "takes one machine")
               : LM_OK;
}

static lm_status run(const options *o, lm_error *err)
{
    predict_options *a      = o->filled;
    sides           *all    = calloc(1, sizeof *all);
    lm_status        status = all ? open_sides(o, a, all, err) : no_memory(err);

    if (!status)
        status = a->explain                         ? explain_one(a, &all->of[0], err)
                 : a->how.program == PROGRAM_DECODE ? print_generations(a, all, err)
                                                    : print_points(a, all, err);
    if (!status && a->timeline)
        status = draw_stages(a, &all->of[0], err);
    if (!status)
        print_note(all->one[0].net, a->look.format == FORMAT_TABLE ? stdout : stderr);
    if (all)
        sides_close(all);
    free(all);
    return status;
}

const command cmd_predict =
    COMMAND("predict", "NETWORK", "Predict the time of a training step or of inference",
            predict_options, 1, 1, check, run);
