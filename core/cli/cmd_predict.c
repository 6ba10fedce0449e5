/* layermeter predict: the time of a training step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/power_options.h"
#include "cli/setup_options.h"
#include "predict/layerwise_step.h"
#include "predict/scaling.h"
#include "report/table.h"

enum {
    MACHINE,
    MODEL,
    BATCH,
    NODES,
    DEVICES_PER_NODE,
    SETUP_OPTIONS,
    DATASET,
    SESSION_OPTIONS,
    IDLE_POWER,
    POWER_CAP,
    GRID,
    FORMAT,
    EXPLAIN,
    BY,
    TOP,
    NETWORK_OPTIONS
};

static const option_spec specs[] = {
    [MACHINE] = { "machine", "FILE", NULL,
                  "machine file, written by 'layermeter fit' (needed but for paleo)" },
    [MODEL]   = { "model", "NAME", "layermeter",
                  "formulas: layermeter, convmeter or nnls; paleo; or justus, prenet (fit --model)" },
    [BATCH] = { "batch", "LIST", "32", "samples per device and micro-step: 8 or 1,2,4 or 1..64*2" },
    [NODES] = { "nodes", "LIST", "1", "nodes: what a network connects" },
    [DEVICES_PER_NODE] = OPTION_DEVICES_PER_NODE,
    SETUP_ROWS,
    [DATASET] = OPTION_DATASET,
    SESSION_ROWS,
    [IDLE_POWER] = OPTION_IDLE_POWER,
    [POWER_CAP]  = OPTION_POWER_CAP,
    [GRID]       = OPTION_GRID,
    [FORMAT]     = { "format", "FORMAT", "table", "table, csv or json" },
    [EXPLAIN]    = { "explain", NULL, NULL, "what one step is made of, and what bounds it" },
    [BY]         = { "by", "KEY", "layer", "explain: by layer, block, class (of kernels) or term" },
    [TOP]        = { "top", "N", "20", "explain: the longest so many, the rest as one; 0: all" },
    NETWORK_ROWS,
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "A step is forward, backward and gradient (all-reduce and update). With --sync once they run one\n"
    "after the other; tensor, ddp (PyTorch DistributedDataParallel: buckets) and horovod (fusion at each\n"
    "cycle) hide all-reduces behind the backward pass, each as soon as its gradients are ready, and what\n"
    "is left of them is 'exposed'. Only machines whose sweep has steps with 'bucket' tell how much a\n"
    "backward pass really hides: of these, where they have several nodes, ddp is the default, else once.\n"
    "low and high are by the central 90 % of measured / predicted on networks left out, wider\n"
    "for each octave beyond what was measured; CSV and JSON have them for each part, too. An epoch takes\n"
    "ceil(dataset / (batch x micro-steps x devices)) steps. 'beyond' names what leaves the calibrated range.\n"
    "me/in/ex/as is the ledger, the share of the step that is measured (this network, input and batch were;\n"
    "the time is still the formula's), interpolated (within what was measured, by a\n"
    "coefficient that the measurements tell), extrapolated (by such a one, outside), or assumed (by a\n"
    "coefficient of similar kernels, or one behind which no range is known).\n"
    "--explain takes one batch and number of nodes apart. A block is a layer's name up to the first number\n"
    "that is not its end, else up to the last dot. Terms are what is counted of a class of kernels: their\n"
    "arithmetic, traffic and launches times a coefficient; each row says which of these is most of it.\n"
    "--model paleo is PALEO (ICLR 2017), which knows a datasheet and a percent of peak instead of\n"
    "measurements: arithmetic over peak plus traffic over bandwidth, nothing overlapped, no interval.\n"
    "--model justus, or another that 'fit --model' learned of single layers: a step is the sum over its\n"
    "layers; those it knows nothing of, and how far a layer leaves what was learned, stand in 'beyond'. Bounds\n"
    "are by groups of layers that were left out, as if all layers of the network were off alike.\n"
    "All-reduces are the machine file's, or over --bandwidth; --sync hides them where backward passes were learned\n"
    "by themselves. --explain knows its layers, not what bounds them.\n"
    "They take any --optimizer that was measured: adagrad, adadelta, rmsprop, too. Where one was learned of\n"
    "several devices, --device names this one by its datasheet.\n"
    "Power is a device's, energy that of all devices: fitted, where the machine's power was measured, or\n"
    "assumed, by --idle-power: the datasheet's limit while it works, at rest while it waits. See energy.\n"
    "Learned models do not say what bounds the time, which a fitted power is of: shares of it are the default\n"
    "model's, where the machine file has that. nicolai learned power, too ('power by' is learned), but not that\n"
    "of devices that wait for each other's all-reduces: --idle-power tells it.\n";

static const char examples[] =
    "  layermeter predict resnet50 --machine machine.ini --batch 1..64*2\n"
    "  layermeter predict resnet50 --machine machine.ini --batch 64 --explain --by block\n"
    "  layermeter predict vgg16 --machine machine.ini --image 128 --nodes 1,2,4 --format csv\n"
    "  layermeter predict vgg16 --machine machine.ini --nodes 2 --devices-per-node 4 --bandwidth "
    "100Gbit/s\n"
    "  layermeter predict vgg16 --machine machine.ini --nodes 8 --bucket auto\n"
    "  layermeter predict vgg16 --machine machine.ini --idle-power 30W --grid 400gCO2/kWh\n"
    "  layermeter predict vgg16 --machine machine.ini --model justus --batch 1..64*2\n"
    "  layermeter predict vgg16 --machine machine.ini --model prenet --nodes 4 --bandwidth 10Gbit/s --sync ddp\n"
    "  layermeter predict vgg16 --machine machine.ini --model nicolai --optimizer sgd --grid 400gCO2/kWh\n"
    "  layermeter predict vgg16 --model paleo --device 'Tesla T4' --ppp-comp 0.5 --bandwidth 10Gbit/s "
    "--nodes 1..8*2\n";

/* Whose bounds only CSV and JSON hold. */
static const quantity parts[] = { QUANTITY_FORWARD, QUANTITY_BACKWARD, QUANTITY_SYNC,
                                  QUANTITY_GRAD };

/* Columns that only some tables have. */
typedef struct layout {
    const char         *set;
    bool                devices, sync, best;
    const power_choice *power;
} layout;

static void add_columns(table *t, const layout *l)
{
    table_column(t, "nodes", "nodes", 0);
    if (l->devices)
        table_column(t, "devices_per_node", "x devices", 0);
    table_column(t, "batch", "batch", 0);
    if (l->sync)
        table_column(t, "sync", "sync", 0);
    table_column(t, "forward_ms", "forward [ms]", TABLE_MS(2));
    table_column(t, "backward_ms", "backward [ms]", TABLE_MS(2));
    table_column(t, "sync_ms", "sync [ms]", TABLE_MS(2));
    if (l->sync)
        table_column(t, "exposed_ms", "exposed [ms]", TABLE_MS(2));
    table_column(t, "grad_ms", "sync+update [ms]", TABLE_MS(2));
    table_column(t, "step_ms", "step [ms]", TABLE_MS(2));
    table_column(t, "step_low_ms", "low", TABLE_MS(2));
    table_column(t, "step_high_ms", "high", TABLE_MS(2));
    table_column(t, "samples_per_s", "samples/s", TABLE_POSITIVE(1));
    table_column(t, "epoch_s", "epoch [s]", TABLE_POSITIVE(0));
    power_columns(t, l->power);
    ledger_column(t);
    table_column(t, "beyond", "beyond", 0);
    if (l->best)
        table_column(t, "best", "best", 0);
    if (l->set)
        table_column(t, "set", "set", 0);
    ledger_hidden_columns(t);
    power_hidden_columns(t, l->power);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char key[40];

        snprintf(key, sizeof key, "%s_low_ms", quantity_name(parts[i]));
        table_column(t, key, NULL, 2);
        snprintf(key, sizeof key, "%s_high_ms", quantity_name(parts[i]));
        table_column(t, key, NULL, 2);
    }
}

/* True: it has power. */
static bool add_row(table *t, const scale_point *p, const layout *l, const sync_policy *how,
                    bool best)
{
    const prediction *s = &p->step;
    char              beyond[200], rule[SYNC_POLICY_TEXT];
    const step_power  power = step_power_of(&l->power->model, &p->bottleneck, s);

    table_count(t, (uint64_t)s->nodes);
    if (l->devices)
        table_count(t, (uint64_t)s->devices);
    table_count(t, (uint64_t)s->batch);
    if (l->sync)
        table_text(t, sync_policy_print(how, rule));
    table_real(t, 1e3 * s->forward);
    table_real(t, 1e3 * s->backward);
    table_real(t, 1e3 * s->sync);
    if (l->sync)
        table_real(t, 1e3 * s->exposed);
    table_real(t, 1e3 * s->grad);
    table_real(t, 1e3 * s->step);
    table_real(t, 1e3 * s->low[QUANTITY_STEP]);
    table_real(t, 1e3 * s->high[QUANTITY_STEP]);
    table_real(t, p->samples_per_second);
    table_real(t, p->epoch_seconds);
    power_cells(t, l->power, &power, (double)p->steps_per_epoch);
    ledger_cell(t, &s->ledger);
    table_text(t, prediction_beyond(s, beyond, sizeof beyond));
    if (l->best)
        table_text(t, best ? "*" : "");
    if (l->set)
        table_text(t, l->set);
    ledger_hidden_cells(t, &s->ledger);
    power_hidden_cells(t, l->power, &power);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        table_real(t, 1e3 * s->low[parts[i]]);
        table_real(t, 1e3 * s->high[parts[i]]);
    }
    return !isnan(power.watts.value);
}

/* What --explain asks for. */
typedef struct question {
    explain_key key;
    int64_t     top;
} question;

/* --by and --top, which are nothing without --explain; one point, not a list. */
static bool read_question(const options *o, size_t n_points, question *q, int *code)
{
    lm_error err = { 0 };

    if (!o->value[EXPLAIN] && (o->given[BY] || o->given[TOP])) {
        lm_error_set(&err, LM_E_ARG, "is for --explain");
        *code = report_misuse(o->given[BY] ? "--by" : "--top", &err);
        return false;
    }
    if (o->value[EXPLAIN] && n_points > 1) {
        lm_error_set(&err, LM_E_ARG, "takes one batch, one number of nodes and one rule");
        *code = report_misuse("--explain", &err);
        return false;
    }
    if (explain_key_parse(o->value[BY], &q->key, &err)) {
        *code = report_misuse("--by", &err);
        return false;
    }
    if (text_int(o->value[TOP], &q->top, &err) ||
        (q->top < 0 && lm_error_set(&err, LM_E_ARG, "must be 0 or more"))) {
        *code = report_misuse("--top", &err);
        return false;
    }
    return true;
}

/* One row a point, policies within batches within nodes. */
typedef struct points_of {
    const int64_t *batch, *nodes;
    size_t         n_batch, n_nodes;
    int64_t        dataset;
    setup_choice   choice;
    power_choice   power;
} points_of;

static lm_status predict_points(const session *s, const points_of *p, scale_point *out,
                                lm_error *err)
{
    const size_t n      = p->choice.n;
    lm_status    status = LM_OK;

    for (size_t i = 0; i < p->n_nodes * p->n_batch * n && !status; i++) {
        scale_question q = scale_weak(1, p->dataset);

        q.setup       = p->choice.setup;
        q.setup.batch = p->batch[i / n % p->n_batch];
        q.setup.sync  = p->choice.policy[i % n];
        status        = scale_at(&s->who, &q, p->nodes[i / n / p->n_batch], &out[i], err);
    }
    return status;
}

/* The shortest of the steps of each batch and number of nodes. */
static bool is_best(const scale_point *x, size_t i, size_t n)
{
    for (size_t k = i - i % n; k < i - i % n + n; k++)
        if (x[k].step.step < x[i].step.step || (x[k].step.step <= x[i].step.step && k < i))
            return false;
    return true;
}

static lm_status print_points(const session *s, const points_of *p, format f, lm_error *err)
{
    const setup_choice *c = &p->choice;
    const size_t        n = p->n_nodes * p->n_batch * c->n;
    const layout l = { s->net->set, c->setup.devices > 1, c->given, c->automatic, &p->power };
    bool         no_power = false;
    scale_point *x        = malloc((n + 1) * sizeof *x);
    table       *t        = table_new();
    lm_status    status   = x ? predict_points(s, p, x, err) : no_memory(err);

    add_columns(t, &l);
    for (size_t i = 0; i < n && !status; i++)
        no_power |= !add_row(t, &x[i], &l, &c->policy[i % c->n], is_best(x, i, c->n));
    if (!status)
        status = table_print(t, f, stdout, err);
    if (!status && no_power && power_shown(&p->power))
        power_explain_unknown(&p->power, s->who.model, s->who.machine);
    table_free(t);
    free(x);
    return status;
}

/* One rank exchanges nothing: there is no best size. */
static bool check_automatic(const points_of *p, int *code)
{
    lm_error err = { 0 };

    for (size_t i = 0; i < p->n_nodes && p->choice.automatic; i++)
        if (p->nodes[i] * p->choice.setup.devices == 1) {
            lm_error_set(&err, LM_E_ARG,
                         "one device exchanges no gradients: give --nodes 2 or more");
            *code = report_misuse("--bucket", &err);
            return false;
        }
    return true;
}

static int run(const options *o)
{
    static const session_options at    = SESSION_PLACES;
    static const setup_options   how   = { SYNC,       BUCKET,    GRAD_DTYPE,
                                           ACCUMULATE, OPTIMIZER, DEVICES_PER_NODE };
    static const power_options   power = { IDLE_POWER, POWER_CAP, -1, GRID, false };
    lm_error                     err   = { 0 };
    session                      s     = { 0 };
    int64_t                     *batch = NULL, *nodes = NULL;
    points_of                    p = { 0 };
    question                     q;
    step_setup                   setup;
    int                          code = EXIT_DONE;
    format                       f;

    if (format_parse(o->value[FORMAT], &f, &err)) {
        code = report_misuse("", &err);
        goto out;
    }
    if (!option_list(o, BATCH, &batch, &p.n_batch, &code) ||
        !option_list(o, NODES, &nodes, &p.n_nodes, &code) ||
        !option_count(o, DATASET, &p.dataset, &code) ||
        !setup_options_read_of(o, o->value[MODEL], &how, &p.choice, &code) ||
        !power_options_read(o, &power, &p.power, &code))
        goto out;
    p.batch = batch;
    p.nodes = nodes;
    if (!check_automatic(&p, &code) ||
        !read_question(o, p.n_batch * p.n_nodes * p.choice.n, &q, &code) ||
        !session_open(o, &at, &s, &code))
        goto out;
    if (o->value[EXPLAIN] && s.who.layerwise && q.key == EXPLAIN_TERM) {
        lm_error_set(&err, LM_E_ARG, "%s tells seconds of layers, not what they are made of",
                     s.who.model);
        code = report_misuse("--by", &err);
        goto out;
    }
    if (s.layerwise)
        s.layerwise->optimizer = o->value[OPTIMIZER];
    p.power.learned = layerwise_tells_power(&s.who);
    setup_options_settle(&p.choice, setup_in_buckets(&s.who));
    setup       = p.choice.setup;
    setup.batch = batch[0];
    setup.nodes = nodes[0];
    if (power_choice_complete(&p.power, s.cal, o->value[DEVICE], o->value[DEVICES], &err) ||
        power_choice_check(&p.power, &err))
        code = report_failure(&err);
    else if (o->value[EXPLAIN] ? print_explanation(&s.who, &setup, q.key, (size_t)q.top, f, &err)
                               : print_points(&s, &p, f, &err))
        code = report_failure(&err);
    else
        print_note(s.net, f == FORMAT_TABLE ? stdout : stderr);
out:
    session_close(&s);
    free(p.choice.policy);
    free(batch);
    free(nodes);
    return code;
}

const command cmd_predict = {
    .name          = "predict",
    .arguments     = "NETWORK",
    .doc           = "Predict the time of a training step",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
