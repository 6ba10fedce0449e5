/* layermeter plan: how many nodes, which batch, what it takes and costs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "cli/plan_find.h"
#include "cli/plan_job.h"
#include "cli/plan_power.h"
#include "cli/plan_print.h"
#include "cli/plan_words.h"
#include "cli/setup_options.h"
#include "report/plot_plans.h"

enum {
    MACHINE,
    MODEL,
    DEADLINE,
    BUDGET,
    LARGEST,
    EPOCHS,
    DATASET,
    EVALUATE,
    STARTUP,
    NODES,
    PER_NODE,
    BATCH,
    GLOBAL_BATCH,
    SETUP_OPTIONS,
    PRICE,
    PRICES,
    INSTANCE,
    SPOT,
    IDLE_POWER,
    POWER_CAP,
    GRID,
    ENERGY_PRICE,
    DEVICE,
    DEVICES,
    MEMORY,
    OVERHEAD,
    IMAGE,
    INPUT,
    DTYPE,
    PPP_COMP,
    PPP_COMM,
    BANDWIDTH,
    LATENCY,
    SCHEME,
    ALL,
    FORMAT,
    PLOT,
    KEEP_SCRIPT,
    NETWORK_OPTIONS
};

static const option_spec specs[] = {
    [MACHINE]  = { "machine", "FILE", NULL,
                   "machine file, written by 'layermeter fit'; may be repeated, to compare" },
    [MODEL]    = { "model", "NAME", "layermeter",
                   "formulas: layermeter, convmeter or nnls; justus, prenet (fit --model); or paleo (--device "
                      "in place of --machine)" },
    [DEADLINE] = { "deadline", "TIME", NULL, "24h, 7d: the fewest nodes that finish in time" },
    [BUDGET]   = { "budget", "MONEY", NULL, "500USD: the fastest run that costs no more" },
    [LARGEST]  = { "largest-batch", NULL, NULL, "the largest batch that fits the device's memory" },
    [EPOCHS]   = { "epochs", "N", "90", "passes over the data set" },
    [DATASET]  = OPTION_DATASET,
    [EVALUATE] = { "evaluate", "SAMPLES", "0", "samples of an evaluation behind each epoch" },
    [STARTUP]  = { "startup", "TIME", "0", "before the first step, once: 5min" },
    [NODES]    = { "nodes", "LIST", "1..64", "numbers of nodes to look at" },
    [PER_NODE] = OPTION_DEVICES_PER_NODE,
    [BATCH]    = { "batch", "LIST", "32",
                   "samples of a device at once: 16,32 or auto (powers of 2 that fit the memory)" },
    [GLOBAL_BATCH] = { "global-batch", "N", NULL,
                       "samples of a step on all devices, in micro-steps of --batch at most" },
    SETUP_ROWS,
    [PRICE]        = OPTION_PRICE,
    [PRICES]       = OPTION_PRICES,
    [INSTANCE]     = OPTION_INSTANCE,
    [SPOT]         = OPTION_SPOT,
    [IDLE_POWER]   = OPTION_IDLE_POWER,
    [POWER_CAP]    = OPTION_POWER_CAP,
    [GRID]         = OPTION_GRID,
    [ENERGY_PRICE] = { "energy-price", "MONEY/kWh", NULL,
                       "of electricity, 0.30EUR/kWh: adds what it costs" },
    [DEVICE]       = { "device", "NAME", NULL,
                       "whose memory and price these are, instead of the machine file's; of paleo the device" },
    [DEVICES]      = OPTION_DEVICES,
    [MEMORY]       = { "memory", "SIZE", NULL,
                       "of the device (24GB, 80GiB), instead of its datasheet's" },
    [OVERHEAD]     = { "framework-overhead", "BYTES", "0",
                       "of the memory, not the step's: context, allocator, libraries" },
    [IMAGE]        = OPTION_IMAGE,
    [INPUT]        = OPTION_INPUT,
    [DTYPE]        = OPTION_DTYPE,
    [PPP_COMP]     = OPTION_PPP_COMP,
    [PPP_COMM]     = OPTION_PPP_COMM,
    [BANDWIDTH]    = OPTION_BANDWIDTH,
    [LATENCY]      = OPTION_LATENCY,
    [SCHEME]       = OPTION_SCHEME,
    [ALL]          = { "all", NULL, NULL, "list dominated plans, too" },
    [FORMAT]       = { "format", "FORMAT", "table", "table, csv or json" },
    [PLOT]         = { "plot", "FILE", NULL,
                       "draw time against cost: FILE.svg, .png or .pdf (needs gnuplot)" },
    [KEEP_SCRIPT]  = OPTION_KEEP_SCRIPT,
    NETWORK_ROWS,
    { NULL, NULL, NULL, NULL },
};

_Static_assert(SET < OPTIONS_MAX, "all options have a place");

static const char details[] =
    "A run takes startup + epochs x (ceil(dataset / B) steps + ceil(evaluate / (devices x batch)) forward\n"
    "passes), B being what all devices take in a step; all nodes are paid for from its start to its end.\n"
    "That a larger B may need more epochs is not in it: --global-batch holds B fixed. Storage, traffic,\n"
    "failures and queues are not counted.\n"
    "\n"
    "Every number of nodes, batch and machine that is listed is looked at. With --deadline the answer is the\n"
    "fewest nodes, for each machine, and the cheapest plan; with --budget the fastest; with neither the\n"
    "cheapest and the fastest. In brackets stands what becomes of it if all steps take the lower or the upper\n"
    "bound of their interval. Then each assumption is changed alone and the question asked again: the one\n"
    "that moves the answer most is named. Listed are plans to which no other is both as fast and as cheap\n"
    "(Pareto; without prices by device-hours, machine by machine).\n"
    "\n"
    "Where a machine's power is known (see predict), each plan has its energy: what a training step draws, from\n"
    "the first step to the end, of all devices. What it costs is beside the nodes' price, not in it.\n"
    "\n"
    "Prices are those of a file that you edit: sections are devices or instances, keys list and spot\n"
    "(2.50 USD/h), per (device or node), devices (of a node), device, date, source, checked; [currency] holds\n"
    "rates (EUR = 1.08 USD). The answer says which price it used. --device, --memory, --price and --instance\n"
    "stand once for all machines or once for each, in their order.\n";

static const char examples[] =
    "  layermeter plan resnet50 --machine a100.ini --deadline 24h --price 2.50USD/h\n"
    "  layermeter plan resnet50 --machine a.ini --machine b.ini --budget 500USD --evaluate 50000 --plot plan.svg\n"
    "  layermeter plan vgg16 --machine a.ini --global-batch 1024 --batch auto --memory 24GB --nodes 1..64*2\n"
    "  layermeter plan resnet50 --machine a.ini --largest-batch --device T4\n";

static const plan_options places = {
    .session      = { MACHINE,
                      MODEL,
                      IMAGE,
                      INPUT,
                      DTYPE,
                      { TREAT, IGNORE, SET },
                      { DEVICE, DEVICES, PPP_COMP, PPP_COMM, BANDWIDTH, SCHEME },
                      LATENCY },
    .device       = DEVICE,
    .memory       = MEMORY,
    .overhead     = OVERHEAD,
    .price        = PRICE,
    .prices       = PRICES,
    .instance     = INSTANCE,
    .spot         = SPOT,
    .plan_devices = DEVICES,
};

/* What is allocated beside the job. */
typedef struct lists {
    int64_t *nodes, *batch;
} lists;

/* What the options say by themselves, without any file. */
static bool parse_run(const options *o, training *t, int *code)
{
    lm_error err = { LM_OK, "" };

    if (!option_count(o, EPOCHS, &t->epochs, code) || !option_count(o, DATASET, &t->dataset, code))
        return false;
    if (strcmp(o->value[EVALUATE], "0") != 0 && !option_count(o, EVALUATE, &t->evaluate, code))
        return false;
    return !text_seconds(o->value[STARTUP], &t->startup, &err) ||
           option_misuse(o, STARTUP, &err, code);
}

static bool parse_limits(plan_job *job, int *code)
{
    const options *o   = job->o;
    lm_error       err = { LM_OK, "" };
    money          budget;

    job->limits = (plan_limits){ INFINITY, INFINITY, ANY_MACHINE };
    if (o->value[DEADLINE]) {
        if (!text_seconds(o->value[DEADLINE], &job->limits.seconds, &err) &&
            !(job->limits.seconds > 0))
            lm_error_set(&err, LM_E_ARG, "no run takes no time: give one above 0");
        if (*err.text)
            return option_misuse(o, DEADLINE, &err, code);
    }
    if (o->value[BUDGET]) {
        if (!money_parse(o->value[BUDGET], &budget, &err) && !(budget.amount > 0))
            lm_error_set(&err, LM_E_ARG, "nothing costs nothing: give an amount above 0");
        if (*err.text)
            return option_misuse(o, BUDGET, &err, code);
        job->limits.cost = budget.amount;
        strcpy(job->currency, budget.currency);
    }
    job->view.tier = o->value[SPOT] ? PRICE_SPOT : PRICE_LIST;
    return true;
}

static bool parse_lists(plan_job *job, lists *l, int *code)
{
    const options *o = job->o;
    plan_question *q = &job->question;

    /* of largest batches one row for each number of nodes: of one unless they are asked for */
    if (o->value[LARGEST] && !o->given[NODES]) {
        l->nodes = malloc(sizeof *l->nodes);
        if (l->nodes)
            *l->nodes = 1;
        q->n_nodes = l->nodes != NULL;
    } else if (!option_list(o, NODES, &l->nodes, &q->n_nodes, code)) {
        return false;
    }
    q->n_nodes       = option_list_tidy(l->nodes, q->n_nodes);
    q->nodes         = l->nodes;
    job->nodes_given = o->given[NODES];
    job->automatic   = !strcmp(o->value[BATCH], "auto");
    if (job->automatic)
        return true;
    if (!option_list(o, BATCH, &l->batch, &q->n_batch, code))
        return false;
    q->n_batch = option_list_tidy(l->batch, q->n_batch);
    q->batch   = l->batch;
    return true;
}

static bool parse(plan_job *job, lists *l, format *f, int *code)
{
    const options             *o   = job->o;
    static const setup_options how = { SYNC, BUCKET, GRAD_DTYPE, ACCUMULATE, OPTIMIZER, PER_NODE };
    plan_question             *q   = &job->question;
    lm_error                   err = { LM_OK, "" };

    if (format_parse(o->value[FORMAT], f, &err)) {
        *code = report_misuse("", &err);
        return false;
    }
    if (!setup_options_read(o, &how, &job->how, code))
        return false;
    q->setup      = job->how.setup;
    q->policy     = job->how.policy;
    q->n_policies = job->how.n;
    if (o->value[GLOBAL_BATCH] && o->given[ACCUMULATE]) {
        lm_error_set(&err, LM_E_ARG, "micro-steps follow from --global-batch: give one of the two");
        return option_misuse(o, ACCUMULATE, &err, code);
    }
    return parse_run(o, &q->training, code) && parse_limits(job, code) &&
           parse_lists(job, l, code) &&
           (!o->value[GLOBAL_BATCH] || option_count(o, GLOBAL_BATCH, &q->global_batch, code));
}

static lm_status draw(const plan_job *job, lm_error *err)
{
    const char   *names[ARGUMENTS_MAX], *path = job->o->value[PLOT];
    char          title[160];
    plans_picture p = { .title      = title,
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
    snprintf(title, sizeof title, "%.60s: %lld epochs of %lld samples, by number of nodes",
             job->o->argument[0], (long long)job->question.training.epochs,
             (long long)job->question.training.dataset);
    return plot_plans(path, &p, job->o->value[KEEP_SCRIPT] != NULL, err);
}

static int answer(plan_job *job, format f)
{
    plan_answers *answers = calloc(1, sizeof *answers);
    lm_error      err     = { LM_OK, "" };
    lm_status     status  = answers ? LM_OK : no_memory(&err);

    if (!status && job->o->value[LARGEST]) {
        status = plan_print_largest(job, f, &err);
    } else if (!status && !(status = plan_job_search(job, &err))) {
        answers->all = job->o->value[ALL] != NULL;
        plan_job_ask(job, answers);
        status = answers->n ? draw(job, &err) : plan_unmet(job, &err);
        if (!status)
            status = plan_print(job, answers, f, &err);
    }
    free(answers);
    return status ? report_failure(&err) : EXIT_DONE;
}

static int run(const options *o)
{
    plan_job                   job  = { .o = o, .at = &places };
    lists                      l    = { .nodes = NULL };
    int                        code = EXIT_DONE;
    format                     f;
    static const power_options power = { IDLE_POWER, POWER_CAP, -1, GRID, false };

    if (parse(&job, &l, &f, &code) && plan_job_open(&job, &code) &&
        plan_power_open(&job, &power, ENERGY_PRICE, &code))
        code = answer(&job, f);
    plan_job_close(&job);
    free(l.nodes);
    free(l.batch);
    return code;
}

const command cmd_plan = {
    .name          = "plan",
    .arguments     = "NETWORK",
    .doc           = "How many nodes, which batch, what a run takes and costs",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
