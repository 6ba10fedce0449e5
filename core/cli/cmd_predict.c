/* layermeter predict: the time of a training step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "cli/decoding.h"
#include "cli/layout_options.h"
#include "cli/limit_options.h"
#include "cli/power_options.h"
#include "predict/dataset.h"
#include "predict/generation.h"
#include "predict/utilization.h"
#include "report/explain_view.h"

typedef struct predict_options {
    session_options session;
    setup_choice    how;
    power_choice    power;
    limit_choice    limit;
    layout_choice   layout;
    option_counts   batch, nodes;
    dataset_told    dataset;
    int64_t         samples; /* of it; 0: not known */
    int64_t         tokens;  /* of a sample; 0: it has none */
    double          at_peak; /* utilization_at_peak() */
    int64_t         top;
    bool            explain;
    explain_key     by;
    const char     *path;
    table_look      look;
} predict_options;

#define AT(member) OPTION_AT(predict_options, member)

OPTION_TYPE(type_key, explain_key, explain_key_parse);

static const option_row option_rows[] = {
    { "batch", AT(batch), .fallback = "32" },
    OPTION_GROUP(predict_options, session, session_option_rows),
    { "dataset", AT(dataset.samples) },
    { "tokens", AT(dataset.tokens) },
    { "nodes", AT(nodes), .fallback = "1" },
    { "devices-per-node", AT(how.setup.devices) },
    OPTION_GROUP(predict_options, power, power_option_rows),
    OPTION_GROUP(predict_options, power, grid_option_rows),
    OPTION_GROUP(predict_options, how, phase_option_rows),
    OPTION_GROUP(predict_options, how, setup_option_rows),
    OPTION_GROUP(predict_options, limit, limit_option_rows),
    OPTION_GROUP(predict_options, layout, layout_option_rows),
    OPTION_GROUP(predict_options, how.setup.clock_mhz, clock_option_rows),
    { "explain", AT(explain), &type_flag, NULL, NULL, HELP_OUTPUT,
      "the parts of one step, and what bounds each" },
    { "by", AT(by), &type_key, "KEY", "layer", HELP_OUTPUT,
      "--explain: rows by layer, block, class (of kernels) or term", .needs = "explain",
      .refusal = "is for --explain" },
    { "top", AT(top), &type_whole, "N", "20", HELP_OUTPUT,
      "--explain: so many rows, the longest first, and the rest as one; 0: all", .needs = "explain",
      .refusal = "is for --explain" },
    { "path", AT(path), &type_text, "LAYER", NULL, HELP_OUTPUT,
      "--explain: instead, what a tree of a learned model asks about this layer, and its answer",
      .needs = "explain", .refusal = "is for --explain" },
    OPTION_GROUP(predict_options, look, look_option_rows),
    { .name = NULL },
};

static const char details[] =
    "A step is forward pass, backward pass, all-reduce and update. --sync says how the all-reduce of\n"
    "gradients overlaps the backward pass: once, not at all; tensor, each gradient as soon as it is\n"
    "ready; ddp, in buckets as PyTorch's DistributedDataParallel; horovod, fused at each cycle. 'exposed'\n"
    "is the part that is not hidden. Only a machine whose sweep has steps with 'bucket' tells how much a\n"
    "backward pass hides; if those are of several nodes, ddp is the default.\n"
    "\n"
    "low and high are the central 90 % of measured / predicted on networks left out of the fit, wider for\n"
    "each octave beyond what was measured; CSV and JSON have them for each part. An epoch takes\n"
    "ceil(dataset / (batch x micro-steps x devices)) steps. --tokens of a language model are\n"
    "ceil(tokens / length of a sample) samples; without a data set nothing is said of its epochs.\n"
    "\n"
    "'beyond' names what leaves the calibrated range. 'basis' is the least certain part of a step,\n"
    "'partly' if it is less than half: measured (this network, input and batch were; the time is still\n"
    "the formula's), interpolated (within the measured range, by a coefficient that the data determine),\n"
    "extrapolated (the same, outside), assumed (by a coefficient of similar kernels, or of unknown\n"
    "range). --explain has the shares of each part, as me/in/ex/as. What holds of all rows stands once\n"
    "below a table, and what did not fit its width.\n"
    "\n"
    "--explain splits one step. A block is a layer's name up to its first number that is not the end,\n"
    "else up to the last dot. A term is a count of one class of kernels (arithmetic, traffic, launches)\n"
    "times its coefficient; each row says which of these is most of it.\n"
    "--path LAYER shows the way down one tree of a forest: what it asks of the layer's features, and how\n"
    "many rows it was grown on are left at each step. Of all trees it is the one whose answer is nearest\n"
    "to that of all together. Boosted trees each add to the others, so that no single way decides.\n"
    "\n"
    "paleo (ICLR 2017) takes a datasheet and a fraction of peak instead of measurements: arithmetic over\n"
    "peak plus traffic over bandwidth, no overlap, no interval. justus, prenet and nicolai are learned\n"
    "from single layers (fit --model): a step is the sum of its layers, and 'beyond' names the layers\n"
    "that the model does not know. Their bounds assume that all layers of a network err alike;\n"
    "--optimizer takes any that was measured, such as adagrad; --device names the device if several were\n"
    "learned from.\n"
    "\n"
    "--phase decode generates --new-tokens of each sequence of a batch, behind --context tokens whose\n"
    "keys and values are cached: a step a token, each with one more in the cache. The network's file must\n"
    "say how (gpt2, llama2_7b and alike). 'token' is the mean step; a few steps are predicted, and those\n"
    "between them lie on lines. The prompt's own pass is --phase inference --input TOKENS.\n"
    "\n"
    "Power is that of one device, energy that of all. 'power by' says where it comes from: fitted to\n"
    "measured power, learned (nicolai), or assumed from --idle-power: the datasheet's limit while the\n"
    "device works, idle power while it waits.\n";

static const char examples[] =
    "  layermeter predict resnet50 --machine machine.ini --batch 1..64*2\n"
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

static scale_question question_at(const predict_options *a, size_t i)
{
    scale_question q = scale_weak(1, a->samples);

    q.setup       = a->how.setup;
    q.setup.batch = a->batch.at[i / a->how.n % a->batch.n];
    q.setup.sync  = a->how.policy[i % a->how.n];
    return q;
}

static lm_status predict_points(const session *s, predict_options *a, scale_point *out,
                                limit_notes *notes, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < points_of(a) && !status; i++) {
        const scale_question q = question_at(a, i);

        status = scale_at(s->who, &q, nodes_at(a, i), &out[i], err);
        if (!status)
            limits_meet(&a->limit.met, &out[i]);
    }
    return status ? status : limit_judge(&a->limit, notes, err);
}

/* Is the step the shortest of its batch and number of nodes? */
static bool is_best(const scale_point *x, size_t i, size_t n)
{
    for (size_t k = i - i % n; k < i - i % n + n; k++)
        if (x[k].step.step < x[i].step.step || (x[k].step.step <= x[i].step.step && k < i))
            return false;
    return true;
}

static unsigned facts_of(const session *s, const predict_options *a, const step_watts *w,
                         const prediction *first)
{
    return step_spread_fact(first) | step_program_fact(a->how.program) | step_watts_facts(w) |
           (a->how.setup.devices > 1 ? STEP_SEVERAL : 0) | (a->how.given ? STEP_SYNC : 0) |
           (a->how.buckets.automatic ? STEP_BEST : 0) | (s->net->set ? STEP_SET : 0) |
           (a->layout.given ? STEP_LAYOUT : 0) | (a->samples ? STEP_EPOCHS : 0) |
           (a->tokens ? STEP_TOKENS : 0) | (a->at_peak > 0 ? STEP_PEAK : 0);
}

static lm_status print_points(const session *s, predict_options *a, lm_error *err)
{
    limit_notes      notes = { .memory = "" };
    const size_t     n     = points_of(a);
    const step_watts w     = power_choice_watts(&a->power);
    field_view       v     = { .fields = step_predicted,
                               .from   = step_fields,
                               .in     = field_place_of(a->look.format),
                               .look   = &a->look };
    field_rows       rows;
    bool             no_power = false;
    scale_point     *x        = calloc(n + 1, sizeof *x);
    lm_status        status   = x ? predict_points(s, a, x, &notes, err) : no_memory(err);

    if (x)
        v.facts = facts_of(s, a, &w, &x[0].step);
    rows = field_rows_of(&v);
    for (size_t i = 0; i < n && !status; i++) {
        step_row r = step_row_of(&x[i], &w);

        r.sync    = a->how.policy[i % a->how.n];
        r.best    = is_best(x, i, a->how.n);
        r.set     = s->net->set;
        r.tokens  = a->tokens;
        r.at_peak = a->at_peak;
        r.layout  = a->layout.given ? a->layout.words : NULL;
        no_power |= !step_power_told(&w, &x[i]);
        field_row(&rows, &r);
    }
    status = field_rows_print(&rows, a->look.format, stdout, status, err);
    if (!status)
        step_basis_explain(s->who, &x[0].step, a->look.format == FORMAT_TABLE ? stdout : stderr);
    if (!status && no_power)
        step_watts_explain(&w, s->who->model, s->who->machine);
    if (!status)
        limit_print(&notes, a->look.format == FORMAT_TABLE ? stdout : stderr);
    free(x);
    return status;
}

static lm_status explain_one(const predictor *who, const predict_options *a,
                             const step_setup *setup, lm_error *err)
{
    return a->path ? explain_path_print(who, setup, a->path, a->look.format, err)
                   : explain_print(who, setup, a->by, (size_t)a->top, a->look.format, err);
}

/* ---- decoding ---- */

static lm_status print_generations(const session *s, predict_options *a, const predictor *by,
                                   lm_error *err)
{
    limit_notes      notes    = { .memory = "" };
    generation       g        = { .mean.step.p95 = NAN };
    const step_watts w        = power_choice_watts(&a->power);
    const field_view v        = { .fields = step_generated,
                                  .from   = step_fields,
                                  .in     = field_place_of(a->look.format),
                                  .facts  = facts_of(s, a, &w, &g.mean.step),
                                  .look   = &a->look };
    field_rows       rows     = field_rows_of(&v);
    bool             no_power = false;
    lm_status        status   = LM_OK;

    for (size_t i = 0; i < points_of(a) && !status; i++) {
        const scale_question q = question_at(a, i);

        status = generation_predict(by, &q, nodes_at(a, i), &g, err);
        if (!status) {
            step_row r = step_row_of(&g.mean, &w);

            limits_meet(&a->limit.met, &g.mean);
            r.generation = &g;
            r.set        = s->net->set;
            no_power |= !step_power_told(&w, &g.mean);
            field_row(&rows, &r);
        }
    }
    if (!status)
        status = limit_judge(&a->limit, &notes, err);
    status = field_rows_print(&rows, a->look.format, stdout, status, err);
    if (!status)
        step_basis_explain(s->who, &g.mean.step, a->look.format == FORMAT_TABLE ? stdout : stderr);
    if (!status && no_power)
        step_watts_explain(&w, s->who->model, s->who->machine);
    if (!status)
        limit_print(&notes, a->look.format == FORMAT_TABLE ? stdout : stderr);
    return status;
}

/* Explained is the first step; memory is that of the last. */
static lm_status print_decoding(const session *s, predict_options *a, const step_setup *setup,
                                lm_error *err)
{
    decoding *d      = NULL;
    lm_status status = decoding_open(s, &a->session, &a->how, &d, err);

    if (!status)
        status = decoding_network(d, s, &a->limit.met.net, err);
    if (!status)
        status = a->explain ? explain_one(decoding_first(d), a, setup, err)
                            : print_generations(s, a, decoding_who(d, s), err);
    decoding_close(d);
    return status;
}

static lm_status check(options *o, lm_error *err)
{
    predict_options  *a      = o->filled;
    const step_model *by     = session_model(&a->session);
    lm_status         status = setup_check(o, &a->how, &a->session, false, err);

    if (!status)
        status = layout_choice_check_step(o, &a->layout, err);
    a->how.setup.layout   = a->layout.layout;
    a->how.setup.laid_out = a->layout.given;
    if (!status && a->layout.given && a->explain)
        return misused(o, &a->explain, err, "explains one rank by itself: leave out the layout");
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
    if ((status = limit_check(o, &a->limit, a->how.program, err)))
        return status;
    if (a->explain && a->limit.recompute)
        return misused(o, &a->limit.recompute, err, "is not taken apart: leave out --explain");
    if (a->explain && points_of(a) > 1)
        return misused(o, &a->explain, err, "takes one batch, one number of nodes and one rule");
    if (a->path && by && !by->decide)
        return misused(o, &a->path, err, "%s has no trees: --model nicolai or prenet",
                       a->session.model);
    if (a->explain && by && by->from_layers && a->by == EXPLAIN_TERM)
        return misused(o, &a->by, err, "%s tells seconds of layers, not what they are made of",
                       a->session.model);
    if (a->explain && (a->look.columns.n || a->look.wide))
        return misused(o, a->look.wide ? (void *)&a->look.wide : &a->look.columns, err,
                       "is of predictions: --explain shows all there is");
    if ((status = look_check(o, &a->look,
                             a->how.program == PROGRAM_DECODE ? step_generated : step_predicted,
                             step_fields, err)))
        return status;
    return session_check(o, &a->session, power_asks_device(o, &a->power), err);
}

static lm_status run(const options *o, lm_error *err)
{
    predict_options *a = o->filled;
    session          s;
    step_setup       setup;
    lm_status        status = session_open(o, &a->session, &s, err);

    if (!status) {
        setup_settle(&a->how, predict_in_buckets(s.who));
        status = power_choice_open(&a->power, s.who, &a->session.source, err);
    }
    if (!status)
        status = limit_begin(&a->limit, &s, &a->session, &a->how.setup, a->batch.at[a->batch.n - 1],
                             err);
    a->dataset.given = option_given(o, &a->dataset.samples);
    if (!status)
        status = dataset_samples(s.who, &a->dataset, &a->samples, err);
    if (!status)
        status = scale_tokens(s.who, &a->tokens, err);
    if (!status && a->tokens && a->how.program == PROGRAM_TRAINING)
        status = utilization_at_peak(s.who, a->how.program, &a->session.source, &a->at_peak, err);
    if (!status && a->how.setup.clock_mhz > 0)
        status = predictor_check_clock(s.who, a->how.setup.clock_mhz, err);
    if (!status) {
        setup       = a->how.setup;
        setup.batch = a->batch.at[0];
        setup.nodes = a->nodes.at[0];
        status      = a->how.program == PROGRAM_DECODE ? print_decoding(&s, a, &setup, err)
                      : a->explain                     ? explain_one(s.who, a, &setup, err)
                                                       : print_points(&s, a, err);
    }
    if (!status)
        print_note(s.net, a->look.format == FORMAT_TABLE ? stdout : stderr);
    session_close(&s);
    return status;
}

const command cmd_predict = COMMAND("predict", "NETWORK", "Predict the time of a training step",
                                    predict_options, 1, 1, check, run);
