/* layermeter plan: finds nodes and batch of a run, with its time and cost. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "cli/decoding.h"
#include "cli/plan_options.h"
#include "cli/power_options.h"
#include "plan/limits.h"
#include "predict/dataset.h"
#include "predict/scaling.h"
#include "report/plan/fields.h"
#include "report/plan/layouts.h"
#include "report/plan/view.h"
#include "report/plot_plans.h"

static lm_status read_budget(const char *text, money *out, lm_error *err)
{
    money           budget;
    const lm_status status = money_parse(text, &budget, err);

    if (status)
        return status;
    if (!(budget.amount > 0))
        return lm_error_set(err, LM_E_ARG, "nothing costs nothing: give an amount above 0");
    *out = budget;
    return LM_OK;
}

VALUE_TYPE(type_batch, batch_told, text_batch);
VALUE_TYPE(type_budget, money, read_budget);
VALUE_TYPE(type_kwh, money, money_parse_per_kwh);

#define AT(member)   OPTION_AT(plan_options, member)
#define OF_RUNS      OF_TRAINING("is for training: a run of --phase %s is one pass over --dataset")
#define OF_INFERENCE .when = "phase!=training", .otherwise = "goes with --phase inference"

static const option_row option_rows[] = {
    { "deadline", AT(deadline), &type_time, "TIME", NULL, HELP_WHAT,
      "find the fewest nodes that finish in this time: 24h, 7d", .least = OPTION_ABOVE_0,
      .outside = "must be above 0" },
    { "budget", AT(budget), &type_budget, "MONEY", NULL, HELP_WHAT,
      "find the fastest run that costs at most this: 500USD" },
    { "rate", AT(rate), &type_real, "N", NULL, HELP_WHAT,
      "inference: find the fewest nodes that keep up with this number of samples per second",
      .excludes = "deadline", .refusal = "already sets the end of the run: give one of the two",
      .least = OPTION_ABOVE_0, .outside = "expected a number of samples above 0", OF_INFERENCE },
    { "within", AT(within), &type_time, "TIME", NULL, HELP_WHAT,
      "inference: longest time of a batch, 50ms (of its p95, if the machine file has one)",
      .least = OPTION_ABOVE_0, .outside = "must be above 0", OF_INFERENCE },
    { "largest-batch", AT(largest), &type_flag, NULL, NULL, HELP_WHAT,
      "find the largest batch that fits the device's memory" },
    { "layouts", AT(layouts), &type_count, "N", NULL, HELP_WHAT,
      "find the N best layouts (tp, pp, dp, ZeRO ...) for all devices and --global-batch, with "
      "micro-batches up to --batch (default: 3, if a language model does not fit one device)",
      .excludes = "largest-batch", .refusal = "answers another question: give one of the two" },
    { "epochs", AT(training.epochs), OF_RUNS },
    { "dataset", AT(training.dataset) },
    { "tokens", AT(tokens) },
    { "evaluate", AT(training.evaluate), &type_whole, "SAMPLES", "0", HELP_WHAT,
      "samples of an evaluation after each epoch", OF_RUNS },
    { "startup", AT(training.startup), &type_time, "TIME", "0", HELP_WHAT,
      "time before the first step: 5min" },
    { "mtbf", AT(failures.mtbf), &type_time, "TIME", NULL, HELP_WHAT,
      "mean time between failures of one device, 50000h: also count the time that failures cost",
      .least = OPTION_ABOVE_0, .outside = "must be above 0", OF_RUNS },
    { "checkpoint", AT(failures.checkpoint), &type_time, "TIME", NULL, HELP_WHAT,
      "time to write a checkpoint, 30s; the run waits for it", .needs = "mtbf",
      .refusal = "needs --mtbf", .least = OPTION_ABOVE_0, .outside = "must be above 0" },
    { "restart", AT(failures.restart), &type_time, "TIME", NULL, HELP_WHAT,
      "time from a failure until the run continues, 5min", .needs = "mtbf",
      .refusal = "needs --mtbf" },
    { "batch", AT(batch), &type_ascending, "LIST", "32", .or_auto = true,
      .help =
          "samples per device and micro-step: 16,32, or auto (powers of 2 that fit the memory, the "
          "default of decode); else the default is halved until it fits the memory and --within" },
    { "global-batch", AT(global_batch), &type_batch, "N", .heading = HELP_WHAT,
      .help =
          "samples (or tokens, 4Mtokens) of a step on all devices, in micro-steps of up to --batch "
          "(default for layouts: 4Mtokens)",
      OF_RUNS },
    { "nodes", AT(nodes), &type_ascending, "LIST", "1..64",
      .help = "numbers of nodes to try (default for layouts: 1,2,4 ... 64 nodes of 8 devices)" },
    { "devices-per-node", AT(how.setup.devices) },
    { "gpus", AT(gpus) },
    { "memory", AT(memory), .repeats = true },
    { "framework-overhead", AT(overhead), .repeats = true },
    { "recompute", AT(recompute), &type_text, "PREFIXES", NULL, HELP_HOW,
      "segments to recompute in the backward pass: layer1.0,layer1.1, or blocks",
      .excludes = "layouts",
      .refusal  = "is part of the search of --layouts: --layout recompute=full fixes it", OF_RUNS },
    { "critical-batch", AT(critical), &type_count, "N", NULL, HELP_WHAT,
      "critical global batch: above it training needs many more samples; a note gives the number",
      OF_RUNS },
    OPTION_GROUP(plan_options, fleet, fleet_option_rows),
    OPTION_GROUP(plan_options, fleet.session, session_option_rows),
    OPTION_GROUP(plan_options, power, power_option_rows),
    OPTION_GROUP(plan_options, power, grid_option_rows),
    { "energy-price", AT(energy_price), &type_kwh, "MONEY/kWh", NULL, HELP_WHERE,
      "price of electricity, 0.30EUR/kWh: also print its cost" },
    { "accumulate", .excludes = "global-batch",
      .refusal = "micro-steps follow from --global-batch: give one of the two" },
    OPTION_GROUP(plan_options, how, phase_option_rows),
    OPTION_GROUP(plan_options, how, setup_option_rows),
    OPTION_GROUP(plan_options, layout, layout_option_rows),
    { "all", AT(all), &type_flag, NULL, NULL, HELP_OUTPUT,
      "list all plans, including those that another plan beats in time and cost, and those that "
      "differ by less than their intervals" },
    OPTION_GROUP(plan_options, look, look_option_rows),
    { "plot", AT(plot), .help = "plot time against cost: FILE.svg, .png or .pdf (needs gnuplot)" },
    { "keep-script", AT(keep_script) },
    { "timeline", AT(timeline), &type_text, "FILE", NULL, HELP_OUTPUT,
      "with --layouts: draw the stages of the best layout over time: FILE.svg, or FILE.json for "
      "Perfetto" },
    { .name = NULL },
};

static const char details[] =
    "A run takes startup + epochs x (ceil(dataset / B) steps + ceil(evaluate / (devices x batch)) forward\n"
    "passes), where B is the number of samples of a step on all devices. All nodes are paid for from\n"
    "start to end. A larger B may need more epochs: --global-batch keeps B fixed. Storage, network\n"
    "traffic and queues are not counted. For a language model the data set is --tokens (or --dataset):\n"
    "ceil(tokens / length of a sample) samples, for one epoch unless --epochs says otherwise. For layouts\n"
    "the default of --tokens is a billion.\n"
    "\n"
    "Failures are counted only with --mtbf. Devices fail independently. The run writes checkpoints at the\n"
    "best interval (Young 1974, Daly 2006) and continues from the last one. Times and costs are then\n"
    "expected values; goodput is the share of the time in which the run advances.\n"
    "\n"
    "The command tries each combination of nodes, batch and machine. The answers are:\n"
    "  with --deadline: the fewest nodes for each machine, and the cheapest plan\n"
    "  with --budget: the fastest plan\n"
    "  with neither: the cheapest and the fastest plan\n"
    "\n"
    "Brackets show the answers at the lower and the upper bound of all steps. Then each assumption is\n"
    "changed alone; the answer names the one with the largest effect. The list has the plans that no\n"
    "other plan beats in both time and cost (the Pareto front; without prices, in time and device-hours,\n"
    "for each machine). A table shows at most 12 of them. It omits plans whose time and cost lie within\n"
    "the intervals of another. With more than three machines the sentences describe the best; the table\n"
    "has all.\n"
    "\n"
    "--layouts searches how all devices share the network. It tries tp (up to a node's devices, with and\n"
    "without sp), cp (ring, ulysses), ep, pp (1f1b, zb, gpipe, interleaved; equal or balanced stages), dp\n"
    "with ZeRO 1 to 3 or with shards on each node, and recomputation (none, selective where it frees\n"
    "memory, full). It keeps the fastest layout of each tp and pp that fits the memory. Sums over blocks\n"
    "rank the layouts. More ranks of cp are skipped if they are too slow even with perfect scaling. The\n"
    "best layouts are predicted as by 'predict --layout', their memory as by 'memory --layout'. In a\n"
    "layout mb is the micro-batch, ga the micro-steps per step, gb the global batch. Weights are in 16\n"
    "bit, with --masters and --grad-accum-dtype f32 (with --mixed: autocast). Layouts that predict\n"
    "refuses are skipped, with a note. A 'tie' may be as fast as the first layout, within their\n"
    "intervals. --timeline draws the work and the messages of each stage over time.\n"
    "\n"
    "Given parts of the layout (--tp 8, or --layout 'tp8 sp') are fixed, and the rest is searched. A\n"
    "layout with tp, pp and dp is complete, unless --layouts is given. Of several micro-batches the\n"
    "fastest that fits is used.\n"
    "\n"
    "With --phase inference nodes hold replicas; a run is startup + ceil(dataset / (replicas x batch))\n"
    "forward passes. A replica is one device, or several that share the network (--tp, --pp): 1, 2, 4 ...\n"
    "devices of a node, or whole nodes as stages if one node cannot hold it. --batch is that of a\n"
    "replica, with --pp of each stage. With --rate a plan must keep up with the samples that arrive. 'an\n"
    "hour' is the price of the nodes for an hour. Power is that of full load. With --phase decode samples\n"
    "are new tokens: --rate and --dataset count them, and --within is the time of one token. Plan the\n"
    "passes of the prompts with --phase inference.\n"
    "\n"
    "If a machine's power is known (see predict), each plan has the energy of all devices over the run.\n"
    "Its cost is shown beside the price of the nodes, and not added to it.\n"
    "\n"
    "Prices come from a file that you can edit. A section is a device or an instance. Its keys are list\n"
    "and spot (2.50 USD/h), per (device or node), devices (of a node), device, date, source and checked.\n"
    "[currency] has rates (EUR = 1.08 USD). The answer names its price. Give --device, --memory, --price\n"
    "and --instance once for all machines, or once for each, in order.\n";

static const char examples[] =
    "  layermeter plan resnet50 --machine a100.ini --deadline 24h --price 2.50USD/h\n"
    "  layermeter plan resnet50 --machine a.ini --machine b.ini --budget 500USD --plot plan.svg\n"
    "  layermeter plan vgg16 --machine a.ini --global-batch 1024 --batch auto --memory 24GB\n"
    "  layermeter plan resnet50 --machine a.ini --largest-batch --device T4\n"
    "  layermeter plan llama3_70b --device H100 --gpus 64 --tokens 1T\n"
    "  layermeter plan llama3_8b --device H100 --layouts 5 --tokens 15T --global-batch 512 --nodes 4\n"
    "  layermeter plan llama3_70b --device H100 --gpus 64 --layout 'tp8 pp4 dp2 sp recompute=full' \\\n"
    "    --global-batch 512 --tokens 1T\n"
    "  layermeter plan resnet50 --machine a.ini --phase inference --rate 2000 --within 50ms\n"
    "  layermeter plan llama3_1_70b --device H100 --phase decode --context 4k --rate 2000 --within 50ms\n"
    "  layermeter plan gpt2 --machine a.ini --phase decode --context 512 --new-tokens 128 --rate 900 \\\n"
    "    --tokens 10M\n";

/* A job and the objects behind its machines. */
typedef struct plan_command {
    plan_job      job;
    plan_options *a;
    device_list  *devices;
    price_list   *prices;
    int64_t       tokens;         /* of a sample; 0: samples are not tokens */
    bool          assumed_tokens; /* of the run: LAYOUT_PLANS_TOKENS */
    bool          assumed_optimizer;
    session      *session; /* of each machine */
    decoding    **decode;  /* the same; all NULL: not wanted */
    side_asked   *side;    /* told by the options, for each machine */
} plan_command;

/* The question of the options, before any file is read. */
static void ask(plan_command *c, const options *o)
{
    static const int64_t one = 1;
    const plan_options  *a   = c->a;
    plan_job            *job = &c->job;

    c->assumed_optimizer = !option_given(o, &a->how.optimizer);

    job->question =
        (plan_question){ .training     = a->training,
                         .global_batch = a->global_batch.n,
                         .rate         = isnan(a->rate) ? 0 : a->rate,
                         .within       = isnan(a->within) ? 0 : a->within,
                         .failures     = a->failures.mtbf > 0 ? a->failures : (failure_model){ 0 },
                         .nodes        = a->nodes.at,
                         .n_nodes      = a->nodes.n,
                         .batch        = a->batch.at,
                         .n_batch      = a->batch.n,
                         .setup        = a->how.setup,
                         .policy       = a->how.policy,
                         .n_policies   = a->how.n,
                         .told         = a->layout.given };
    job->automatic   = a->batch.automatic;
    job->batch_free  = !option_given(o, &a->batch);
    job->critical    = a->critical;
    job->told        = a->layout.layout;
    job->whole       = a->whole;
    job->nodes_given = option_given(o, &a->nodes) || a->gpus;
    if (a->largest && !job->nodes_given) { /* a row for each number of nodes: only one */
        job->question.nodes   = &one;
        job->question.n_nodes = 1;
    }
    job->limits = (plan_limits){ isnan(a->deadline) ? INFINITY : a->deadline,
                                 a->budget.amount > 0 ? a->budget.amount : INFINITY, ANY_MACHINE };
    if (a->tokens && !option_given(o, &a->training.epochs))
        job->question.training.epochs = 1;
    job->view.tier = fleet_tier(&a->fleet);
    strcpy(job->currency, a->budget.currency);
    job->kwh = a->energy_price;
    if (!(job->kwh.amount > 0))
        job->kwh.amount = NAN;
    job->grams_per_kwh = a->power.grams_per_kwh;
}

/* The number of the i-th machine; 0: not given. */
static uint64_t bytes_at(const option_counts *list, size_t i)
{
    return list->n ? (uint64_t)list->at[list->n > 1 ? i : 0] : 0;
}

/* Without a data set there is no run that ends: a billion tokens stand for it. */
static lm_status check_rates(const options *o, const plan_options *a, lm_error *err)
{
    const void *bound = !isnan(a->deadline) ? (const void *)&a->deadline
                        : a->budget.amount > 0
                            ? (const void *)&a->budget
                            : (a->training.startup > 0 ? (const void *)&a->training.startup : NULL);

    return bound ? misused(o, bound, err, "is of a whole run: give its tokens, --tokens 300B")
                 : LM_OK;
}

/* Samples of the data set, and what follows from them. */
static lm_status settle_dataset(plan_command *c, const options *o, lm_error *err)
{
    const plan_options *a      = c->a;
    plan_question      *q      = &c->job.question;
    const predictor    *who    = decoding_who(c->decode[0], &c->session[0]);
    const dataset_told  told   = { a->training.dataset, option_given(o, &a->training.dataset),
                                   a->tokens };
    batch_told          whole  = a->global_batch;
    lm_status           status = scale_tokens(who, &c->tokens, err);

    if (!status && a->assumed_batch && !c->tokens)
        return misused(o, &a->global_batch, err,
                       "layouts need it, the samples of a step that all ranks share");
    if (!status && a->tokens && a->tokens < c->tokens)
        return misused(
            o, &a->tokens, err,
            "are those of all samples, and less than one: --sequence is the length of a sample");
    if (status || (status = dataset_samples(who, &told, &q->training.dataset, err)) ||
        (status = batch_in_samples(&whole, who, err)))
        return status;
    q->global_batch = whole.n;
    if (!q->training.dataset && a->rate > 0) /* an hour of them */
        q->training.dataset = (int64_t)ceil(fmin(a->rate * 3600, 9e18));
    if (!q->training.dataset && a->layouts)
        return check_rates(o, a, err);
    if (!q->training.dataset && !a->largest) {
        c->assumed_tokens   = true;
        q->training.dataset = (int64_t)ceil(LAYOUT_PLANS_TOKENS / (double)c->tokens);
        if (!option_given(o, &a->training.epochs))
            q->training.epochs = 1;
        if ((status = check_rates(o, a, err)))
            return status;
    }
    if (a->rate > 0)
        c->job.limits.seconds = plan_paced_seconds(q);
    return LM_OK;
}

/* Instances that are named say how many devices a node has, unless they differ or that is told. */
static lm_status settle_node(plan_command *c, const options *o, lm_error *err)
{
    plan_options       *a        = c->a;
    const option_texts *instance = &a->fleet.instances;
    int64_t             devices  = 0;

    if (a->gpus || option_given(o, &a->how.setup.devices))
        return LM_OK;
    for (size_t i = 0; i < instance->n; i++) {
        const price    *p;
        const lm_status status = prices_find(c->prices, instance->at[i], &p, err);

        if (status)
            return status;
        if (!p->devices || (devices && devices != p->devices))
            return LM_OK;
        devices = p->devices;
    }
    if (devices)
        a->how.setup.devices = c->job.question.setup.devices = devices;
    return LM_OK;
}

static lm_status open_machines(plan_command *c, const options *o, lm_error *err)
{
    const plan_options  *a   = c->a;
    const fleet_options *f   = &a->fleet;
    plan_job            *job = &c->job;
    sides_asked          all = { .device_file = f->session.source.devices,
                                 .wants_price = fleet_priced(f),
                                 .wants_peak  = a->layouts,
                                 .power       = a->power };
    lm_status            status;

    job->n     = fleet_size(f);
    c->session = calloc(job->n, sizeof *c->session);
    c->decode  = calloc(job->n, sizeof(decoding *));
    c->side    = calloc(job->n, sizeof *c->side);
    if (!c->session || !c->decode || !c->side)
        return no_memory(err);
    if ((status = fleet_open(o, f, c->session, err)) ||
        (status = fleet_decode(f, c->session, &a->how, c->decode, err)) ||
        (status = settle_dataset(c, o, err)) ||
        (status = decoding_network(c->decode[0], &c->session[0], &job->net, err)) ||
        (status = devices_open(all.device_file, &c->devices, err)) ||
        (status = prices_open(f->prices, &c->prices, err)) || (status = settle_node(c, o, err)))
        return status;
    /* buckets take memory, so they are settled before batches */
    setup_settle(&c->a->how, fleet_in_buckets(c->session, job->n));
    job->question.setup.sync = a->how.setup.sync;
    job->reg                 = c->session[0].reg;
    job->span                = decoding_span(c->decode[0]);
    all.devices              = c->devices;
    all.prices               = c->prices;
    for (size_t i = 0; i < job->n; i++)
        c->side[i] =
            (side_asked){ decoding_who(c->decode[i], &c->session[i]),
                          fleet_paid(f, c->session, i),
                          { bytes_at(&a->memory, i), bytes_at(&a->overhead, i), a->recompute } };
    return plan_job_open(job, c->side, &all, err);
}

static lm_status draw(const plan_command *c, lm_error *err)
{
    const plan_job *job = &c->job;
    const char     *names[FLEET_MAX], *path = c->a->plot;
    char            title[160];
    plans_picture   p = { .title      = title,
                          .set        = &job->set,
                          .machines   = job->machine,
                          .names      = names,
                          .n_machines = job->n,
                          .view       = job->view,
                          .limits     = job->limits,
                          .currency   = plan_job_priced(job, NULL) ? job->currency : "" };

    if (!path)
        return LM_OK;
    for (size_t i = 0; i < job->n; i++)
        names[i] = job->side[i].name;
    if (job->question.setup.program == PROGRAM_INFERENCE)
        snprintf(title, sizeof title, "%.60s: inference of %lld samples, by number of nodes",
                 job->network, (long long)job->question.training.dataset);
    else
        snprintf(title, sizeof title, "%.60s: %lld epochs of %lld samples, by number of nodes",
                 job->network, (long long)job->question.training.epochs,
                 (long long)job->question.training.dataset);
    return plot_plans(path, &p, c->a->keep_script, err);
}

#define MICRO_BATCH_MOST 64 /* with --batch auto */
#define CLEAR_LINE       "\r\033[K"

/* Networks of many experts take seconds for each number of nodes. */
static void show_search(const char *machine, int64_t nodes)
{
    fprintf(stderr, CLEAR_LINE "%s, %lld node%s: searching layouts ...", machine, (long long)nodes,
            nodes == 1 ? "" : "s");
}

static lm_status answer_layouts(plan_command *c, lm_error *err)
{
    const option_counts *batch = &c->a->batch;
    const int64_t        most  = batch->automatic ? MICRO_BATCH_MOST : batch->at[batch->n - 1];

    const bool people = isatty(STDERR_FILENO) == 1;

    layout_plans plans;
    lm_status    status;

    c->job.searches = people ? show_search : NULL;
    status          = layout_plans_find(&c->job, (size_t)c->a->layouts, most, &plans, err);
    if (people)
        fputs(CLEAR_LINE, stderr);
    if (!status)
        status = plan_print_layouts(&c->job, &plans, &c->a->look, c->a->timeline, err);
    if (!status && c->a->assumed_batch)
        note("the batch of a step was not given (--global-batch): 4Mtokens are assumed");
    if (!status && c->tokens && c->assumed_optimizer)
        note(
            "the optimizer was not given (--optimizer): momentum is assumed; adam, usual for language "
            "models, needs more memory");
    layout_plans_free(&plans);
    return status;
}

static lm_status answer(plan_command *c, lm_error *err)
{
    plan_job         *job     = &c->job;
    const table_look *look    = &c->a->look;
    plan_answers     *answers = calloc(1, sizeof *answers);
    lm_status         status  = answers ? LM_OK : no_memory(err);

    if (!status && c->a->layouts) {
        status = answer_layouts(c, err);
    } else if (!status && c->a->largest) {
        status = plan_print_largest(job, look, err);
    } else if (!status && !(status = plan_job_search(job, err))) {
        plan_job_ask(job, answers);
        status = answers->n ? draw(c, err) : plan_unmet(job, err);
        if (!status)
            status = plan_print(job, answers, look, c->a->all, err);
        if (!status && c->assumed_tokens)
            note("the run's tokens were not given (--tokens): a billion are assumed");
    }
    free(answers);
    return status;
}

/* A language model of which no device can hold one sample: devices have to share it. */
static bool must_share(const plan_command *c, const options *o)
{
    const plan_options *a = c->a;

    if (!c->tokens || a->layouts || a->largest || !plan_job_too_large(&c->job))
        return false;
    if (a->how.program == PROGRAM_TRAINING)
        return !a->plot && !a->training.evaluate;
    return plan_options_place_free(o, a) && a->how.setup.devices == 1;
}

/* Layouts keep 16-bit weights; the step of one device is as the machine file was measured. */
static void note_shared(const plan_command *c)
{
    const memory_types t = limits_types(c->job.side[0].who, false);
    char               text[MEMORY_TYPES_TEXT];

    memory_types_print(&t, text);
    if (c->a->how.program == PROGRAM_TRAINING)
        note(
            "%s in %s does not fit one device: here are the %d best layouts with weights in 16 bits "
            "(--layouts)",
            c->job.network, text, PLAN_SHARED_LAYOUTS);
    else
        note(
            "%s in %s does not fit one device: nodes of %d devices are assumed (--devices-per-node)",
            c->job.network, text, USUAL_NODE);
}

/* Answers, or says that devices have to share the network, which is to be asked for. */
static lm_status attempt(const options *o, bool *divide, lm_error *err)
{
    plan_command c = { .a = o->filled, .job = { .network = o->argument[0] } };
    lm_status    status;

    ask(&c, o);
    if (!(status = open_machines(&c, o, err)) && (*divide = must_share(&c, o)))
        note_shared(&c);
    else if (!status)
        status = answer(&c, err);
    if (!status && !*divide)
        decoding_explain(c.decode[0], c.a->look.format == FORMAT_TABLE ? stdout : stderr);
    plan_job_free(&c.job);
    if (c.decode)
        fleet_decode_end(c.decode, c.job.n);
    fleet_close(c.session, c.job.n);
    free(c.decode);
    devices_free(c.devices);
    prices_free(c.prices);
    free(c.session);
    free(c.side);
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    plan_options *a      = o->filled;
    bool          divide = false;
    lm_status     status = attempt(o, &divide, err);

    if (status || !divide)
        return status;
    if ((status = plan_options_share(o, a, err)))
        return status;
    return attempt(o, &divide, err);
}

const command cmd_plan =
    COMMAND("plan", "NETWORK", "Plan a run: number of nodes, batch, time and cost", plan_options, 1,
            1, plan_options_check, run);
