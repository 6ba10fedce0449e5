/* layermeter report: one page on a network and the machines that may train it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/report_prices.h"
#include "cli/setup_options.h"
#include "predict/layerwise_step.h"
#include "report/page.h"

enum {
    MACHINE,
    OUTPUT,
    TITLE,
    NODES,
    BATCH,
    DEVICES_PER_NODE,
    SETUP_OPTIONS,
    SCALING,
    GLOBAL_BATCH,
    DATASET,
    MEMORY,
    MODEL,
    IMAGE,
    INPUT,
    DTYPE,
    BANDWIDTH,
    LATENCY,
    EPOCHS,
    PRICE,
    PRICES,
    INSTANCE,
    DEVICE,
    SPOT,
    PLOT,
    NETWORK_OPTIONS,
    NO_OPTION = OPTIONS_MAX - 1 /* behind the table: never given */
};

static const option_spec specs[] = {
    [MACHINE] = { "machine", "FILE", NULL,
                  "machine file, written by 'layermeter fit'; repeat it to compare machines" },
    [OUTPUT]  = { "output", "FILE", "report.html", "the page" },
    [TITLE]   = { "title", "TEXT", NULL, "heading of the page, instead of the network's name" },
    [NODES]   = { "nodes", "LIST", "1..64*2", "nodes: what a network connects" },
    [BATCH]   = { "batch", "N", "32",
                  "samples of each device; strong: of all together; global: a device's most at once" },
    [DEVICES_PER_NODE] = OPTION_DEVICES_PER_NODE,
    SETUP_ROWS,
    [SCALING]      = { "scaling", "KIND", "weak",
                       "what stays: weak, a device's batch; strong and global, the whole batch" },
    [GLOBAL_BATCH] = { "global-batch", "N", NULL,
                       "strong, global: samples of all devices together" },
    [DATASET]      = OPTION_DATASET,
    [MEMORY] = { "memory", "SIZE", NULL, "of a device (24GB, 80GiB), drawn beside what is needed" },
    [MODEL]  = { "model", "NAME", "layermeter",
                 "formulas: layermeter, convmeter or nnls; or justus, prenet, nicolai (fit --model)" },
    [IMAGE]  = OPTION_IMAGE,
    [INPUT]  = OPTION_INPUT,
    [DTYPE]  = OPTION_DTYPE,
    [BANDWIDTH] = OPTION_BANDWIDTH,
    [LATENCY]   = OPTION_LATENCY,
    [EPOCHS]    = { "epochs", "N", "90", "passes over the data set, of the run that is paid for" },
    [PRICE]     = OPTION_PRICE,
    [PRICES]    = OPTION_PRICES,
    [INSTANCE]  = OPTION_INSTANCE,
    [DEVICE]    = { "device", "NAME", NULL,
                    "whose price it is, instead of the machine file's; of learned models, its datasheet" },
    [SPOT]      = OPTION_SPOT,
    [PLOT]      = { "plot", "PATH", NULL,
                    "the pictures, too: a folder (SVG), or FILE.svg, FILE.png, FILE.pdf" },
    NETWORK_ROWS,
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "The page is one file that loads nothing: it can be mailed, read on a phone and printed. It says\n"
    "what each machine does on each number of nodes, how sure that is, what a step is made of, the memory\n"
    "of a device, how good the calibration is, what is assumed and where the figures come from.\n"
    "Every picture has its numbers in a table below it. Gnuplot draws them (Debian: gnuplot-nox).\n"
    "The page is of one size of buckets: of several, or auto, the best of all machines on the most nodes.\n"
    "A step is taken apart at the most nodes of the list that all machines were calibrated for. A machine\n"
    "that cannot be asked about several nodes is shown on one, with the reason.\n"
    "Costs are those of all nodes from the start to the end of a run of --epochs, by the price file that\n"
    "'layermeter plan' reads; --price, --instance and --device stand once for all machines or once for\n"
    "each. Without a price the page says how to give one.\n"
    "Of --model justus, or another that 'fit --model' learned of single layers, the page has types of layers in\n"
    "place of classes of kernels, says what was learned, and names what such a model does not know.\n"
    "Curves bear the names of the machine files; of DIR/machine.ini the folder's.\n"
    "--plot draws the same pictures into files: FOLDER/NAME.svg; of FILE.svg or FILE.png FILE-NAME.svg or\n"
    ".png; FILE.pdf has a page each.\n";

static const char examples[] =
    "  layermeter report resnet50 --machine a100.ini --machine h100.ini -o resnet50.html\n"
    "  layermeter report vgg16 --machine cluster/machine.ini --nodes 1..16*2 --memory 24GB --plot vgg16.pdf\n"
    "  layermeter report vgg16 --machine cluster/machine.ini --model prenet --sync ddp -o vgg16.html\n"
    "  layermeter report bert_base --machine a.ini --scaling strong --batch 256 --title 'BERT on cluster A'\n";

/* Sessions of all machines and the page that is made of them. */
typedef struct work {
    session       session[PAGE_MACHINES];
    size_t        n_sessions;
    int64_t      *nodes;
    char         *command;
    report_prices prices;
    setup_choice  how;
    page          page;
} work;

/* What stood on the command line, in one line. */
static char *command_line(const options *o)
{
    char  *text = NULL;
    size_t size;
    FILE  *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out, "layermeter report");
    for (int i = 0; i < o->n_arguments; i++)
        fprintf(out, " %s", o->argument[i]);
    for (int i = 0; i < o->n_every; i++) {
        const option_spec *spec   = &specs[o->every[i].at];
        const char        *value  = o->every[i].value;
        const bool         quoted = value[strcspn(value, " \t'\"$&;|<>()*?")] != '\0';

        fprintf(out, " --%s", spec->name);
        if (spec->argument)
            fprintf(out, quoted ? " '%s'" : " %s", value);
    }
    fclose(out);
    return text;
}

/* --machine is given once or more, and --model knows machines. */
static bool check_machines(const options *o, size_t *n, int *code)
{
    lm_error err = { 0 };

    *n = option_times(o, MACHINE);
    if (!strcmp(o->value[MODEL], "paleo")) {
        lm_error_set(&err, LM_E_ARG, "paleo takes a datasheet: a report is on machine files");
        return option_misuse(o, MODEL, &err, code);
    }
    if (*n > PAGE_MACHINES) {
        lm_error_set(&err, LM_E_ARG, "%zu machines: curves of more than %d are not told apart", *n,
                     PAGE_MACHINES);
        return option_misuse(o, MACHINE, &err, code);
    }
    return true;
}

/* How gradients travel, the optimizer, devices of a node. */
static bool read_setup(const options *o, setup_choice *how, int *code)
{
    static const setup_options at = { SYNC,       BUCKET,    GRAD_DTYPE,
                                      ACCUMULATE, OPTIMIZER, DEVICES_PER_NODE };

    return setup_options_read(o, &at, how, code);
}

/* What is scaled goes with the batches that are given. */
static bool check_scaling(const options *o, const scale_question *q, int *code)
{
    lm_error err = { 0 };

    if (q->kind == SCALING_WEAK && o->value[GLOBAL_BATCH]) {
        lm_error_set(&err, LM_E_ARG, "goes with --scaling strong or global");
        return option_misuse(o, GLOBAL_BATCH, &err, code);
    }
    if (q->kind == SCALING_GLOBAL && !o->value[GLOBAL_BATCH]) {
        lm_error_set(&err, LM_E_ARG,
                     "global needs --global-batch, the samples of a step on all devices");
        return option_misuse(o, SCALING, &err, code);
    }
    if (q->kind == SCALING_STRONG && o->value[GLOBAL_BATCH] && o->given[BATCH]) {
        lm_error_set(&err, LM_E_ARG, "is --batch of strong scaling: give one of the two");
        return option_misuse(o, GLOBAL_BATCH, &err, code);
    }
    if (q->kind != SCALING_WEAK && o->given[ACCUMULATE]) {
        lm_error_set(&err, LM_E_ARG,
                     "goes with --scaling weak: global finds the micro-steps itself");
        return option_misuse(o, ACCUMULATE, &err, code);
    }
    return true;
}

static bool read_scaling(const options *o, work *w, int *code)
{
    scale_question *q   = &w->page.question;
    lm_error        err = { 0 };
    int64_t         batch;

    if (scaling_kind_parse(o->value[SCALING], &q->kind, &err))
        return option_misuse(o, SCALING, &err, code);
    if (!option_count(o, BATCH, &batch, code) || !option_count(o, DATASET, &q->dataset, code) ||
        (o->value[GLOBAL_BATCH] && !option_count(o, GLOBAL_BATCH, &q->global_batch, code)) ||
        !read_setup(o, &w->how, code) || !check_scaling(o, q, code))
        return false;
    q->setup = w->how.setup;
    if (q->kind == SCALING_STRONG && !o->value[GLOBAL_BATCH])
        q->global_batch = batch;
    q->setup.batch = batch;
    return true;
}

static bool read_question(const options *o, work *w, int *code)
{
    page    *p      = &w->page;
    lm_error err    = { 0 };
    int64_t  memory = 0;

    if (!option_list(o, NODES, &w->nodes, &p->n_nodes, code) ||
        !option_count(o, EPOCHS, &p->epochs, code) || !read_scaling(o, w, code))
        return false;
    if (o->value[MEMORY] && (text_bytes(o->value[MEMORY], &memory, &err) ||
                             (memory < 1 && lm_error_set(&err, LM_E_ARG, "must be above 0"))))
        return option_misuse(o, MEMORY, &err, code);
    p->n_nodes = option_list_tidy(w->nodes, p->n_nodes);
    p->nodes   = w->nodes;
    p->memory  = (uint64_t)memory;
    return true;
}

/* How fast all machines are with a policy on the most nodes, as a logarithm: none counts more for
 * being fast. A machine that cannot be asked says nothing of any policy. */
static double speed(const work *w, const sync_policy *policy)
{
    scale_question q   = w->page.question;
    double         sum = 0;

    q.setup.sync = *policy;
    for (size_t i = 0; i < w->page.n_machines; i++) {
        lm_error    ignored = { 0 };
        scale_point p;

        if (!scale_at(w->page.machine[i].who, &q, w->page.nodes[w->page.n_nodes - 1], &p, &ignored))
            sum += log(p.samples_per_second);
    }
    return sum;
}

static void settle(work *w)
{
    double best = -INFINITY;
    bool   all  = true;

    for (size_t i = 0; i < w->page.n_machines; i++)
        all &= setup_in_buckets(w->page.machine[i].who);
    setup_options_settle(&w->how, all);
    for (size_t k = 0; k < w->how.n; k++) {
        const double here = w->how.n > 1 ? speed(w, &w->how.policy[k]) : 0;

        if (here > best) {
            best                        = here;
            w->page.question.setup.sync = w->how.policy[k];
        }
    }
}

static bool open_machines(const options *o, work *w, int *code)
{
    static const price_options price_at = { PRICE, PRICES, INSTANCE, DEVICE, SPOT };
    session_options            at       = {
                         .machine = MACHINE,
                         .model   = MODEL,
                         .image   = IMAGE,
                         .input   = INPUT,
                         .dtype   = DTYPE,
                         .network = { TREAT, IGNORE, SET },
                         .paleo   = { NO_OPTION, NO_OPTION, NO_OPTION, NO_OPTION, BANDWIDTH, NO_OPTION },
                         .latency = LATENCY,
    };
    options one = *o;

    if (session_wants_learned(o, &at)) /* it may have learned of several devices */
        at.paleo.device = DEVICE;
    if (!o->given[MACHINE]) /* says so */
        return session_open(o, &at, &w->session[w->n_sessions++], code);
    for (int i = 0; i < o->n_every; i++) {
        session *s = &w->session[w->n_sessions];

        if (o->every[i].at != MACHINE)
            continue;
        one.value[MACHINE] = o->every[i].value;
        one.value[DEVICE]  = option_nth(o, DEVICE, w->n_sessions);
        w->n_sessions++;
        if (!session_open(&one, &at, s, code))
            return false;
        if (s->layerwise) /* of bounds, too, which have no setup */
            s->layerwise->optimizer = optimizer_name(w->how.setup.optimizer);
        w->page.machine[w->page.n_machines++] =
            (page_machine){ .file = o->every[i].value, .who = &s->who };
    }
    settle(w);
    return report_prices_open(o, &price_at, &w->page, &w->prices, code);
}

/* All but the writing of the page. */
static lm_status fill_page(const options *o, work *w, lm_error *err)
{
    page     *p = &w->page;
    lm_status status;

    p->title      = o->value[TITLE];
    p->network    = o->argument[0];
    p->net        = w->session[0].net;
    p->registry   = w->session[0].reg;
    p->bind.dtype = w->session[0].who.dtype;
    p->bind.input = w->session[0].who.input;
    p->command    = w->command;
    page_label(p);
    status = page_gather(p, err);
    if (!status)
        status = page_draw(p, err);
    if (!status && o->value[PLOT])
        status = page_plot(p, o->value[PLOT], err);
    return status;
}

/* A page that cannot be written is not asked for: no picture is left beside it. */
static lm_status make_page(const options *o, work *w, lm_error *err)
{
    file_draft draft  = { 0 };
    lm_status  status = file_draft_open(&draft, o->value[OUTPUT], err);

    if (!status)
        status = fill_page(o, w, err);
    if (!status) {
        page_write(&w->page, draft.stream);
        status = file_draft_commit(&draft, err);
    }
    file_draft_drop(&draft);
    return status;
}

static int run(const options *o)
{
    lm_error err  = { 0 };
    work    *w    = calloc(1, sizeof *w);
    int      code = EXIT_DONE;
    size_t   n;

    if (!w) {
        no_memory(&err);
        return report_failure(&err);
    }
    w->command = command_line(o);
    if (check_machines(o, &n, &code) && read_question(o, w, &code) && open_machines(o, w, &code)) {
        if (make_page(o, w, &err))
            code = report_failure(&err);
        else
            print_note(w->session[0].net, stderr);
    }
    page_free(&w->page);
    report_prices_close(&w->prices);
    for (size_t i = 0; i < w->n_sessions; i++)
        session_close(&w->session[i]);
    free(w->nodes);
    free(w->how.policy);
    free(w->command);
    free(w);
    return code;
}

const command cmd_report = {
    .name          = "report",
    .arguments     = "NETWORK",
    .doc           = "One page on a network and the machines that may train it",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
