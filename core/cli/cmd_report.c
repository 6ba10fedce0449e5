/* layermeter report: one page on a network and the machines that may train it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "cli/decoding.h"
#include "cli/layout_options.h"
#include "pages/page.h"
#include "predict/dataset.h"

typedef struct report_options {
    fleet_options   fleet;
    setup_choice    how;
    scaling_options scaling;
    layout_choice   layout;
    option_counts   nodes;
    int64_t         gpus;
    option_counts   batch; /* several of inference */
    dataset_told    dataset;
    int64_t         epochs, memory; /* memory 0: not given */
    const char     *output, *title, *plot;
} report_options;

#define AT(member) OPTION_AT(report_options, member)
#define OF_SEVERAL OF_TRAINING("is for training: a page of --phase %s is on one device")

static const option_row option_rows[] = {
    { "batch", AT(batch), &type_ascending, "LIST", "32",
      .help =
          "samples per device; strong: on all devices together; global: the most per device and "
          "micro-step; inference: a list, 1..64*2 by default" },
    { "scaling", OF_SEVERAL },
    { "global-batch", OF_SEVERAL },
    OPTION_GROUP(report_options, scaling, scaling_option_rows),
    { "dataset", AT(dataset.samples) },
    { "tokens", AT(dataset.tokens) },
    { "epochs", AT(epochs), .help = "passes over the data set in the run whose cost is shown",
      OF_SEVERAL },
    { "nodes", AT(nodes), &type_ascending, "LIST", "1..64*2", OF_SEVERAL },
    { "gpus", AT(gpus), OF_SEVERAL },
    { "devices-per-node", AT(how.setup.devices), OF_SEVERAL },
    { "memory", AT(memory), .outside = "must be above 0", .least = 1,
      .help = "memory of a device: 24GB, 80GiB (default: from its datasheet)" },
    OPTION_GROUP(report_options, fleet, fleet_option_rows),
    OPTION_GROUP(report_options, how, phase_option_rows),
    OPTION_GROUP(report_options, how, setup_option_rows),
    OPTION_GROUP(report_options, layout, layout_option_rows),
    OPTION_GROUP(report_options, layout, layout_recompute_rows),
    { "output", AT(output), .fallback = "report.html", .help = "the page (also -o)" },
    { "title", AT(title), &type_text, "TEXT", NULL, HELP_OUTPUT,
      "heading of the page, instead of the network's name" },
    { "plot", AT(plot), .argument = "PATH",
      .help = "also write the plots to files: a folder (SVG), or FILE.svg, FILE.png, FILE.pdf" },
    { .name = NULL },
};

static const char details[] =
    "The page is one file that loads nothing: mail it, read it on a phone, print it. It shows the\n"
    "throughput of each machine on each number of nodes, with intervals, the parts of a step, and the\n"
    "memory of a device. It also shows the quality of the calibration, the assumptions, and the source of\n"
    "each figure. gnuplot (Debian: gnuplot-nox) draws the plots; below each plot a table has its numbers.\n"
    "Curves have the names of the machine files; DIR/machine.ini has the name DIR.\n"
    "\n"
    "The page is for one bucket size. If --bucket gives several, or auto, the page uses the size that is\n"
    "best over all machines on the most nodes. It divides a step on the largest number of nodes for which\n"
    "all machines were calibrated. A machine that was calibrated on one node only is shown on one node;\n"
    "the page says why. Costs are those of all nodes for a run of --epochs, from start to end, at the\n"
    "prices of the price file of 'layermeter plan'. For a language model give --tokens; its run is one\n"
    "epoch. Give --price, --instance and --device once for all machines, or once for each. With a model\n"
    "that learned single layers, the page groups a step by types of layers, not by classes of kernels.\n"
    "\n"
    "With --phase inference the page shows latency and throughput over batches, for one device or for the\n"
    "devices of a layout (--tp 8).\n"
    "\n"
    "With a layout (--tp 8 --pp 4, or --layout 'tp8 pp4 gb512') the page also shows the messages between\n"
    "ranks, the waiting time, the memory of the rank with the most, and the stages of the pipeline over\n"
    "time. It leaves out numbers of nodes that the layout cannot divide evenly.\n"
    "\n"
    "--plot writes the same plots to files. PATH is a folder (its plots are FOLDER/NAME.svg), or FILE.svg\n"
    "(its plots are FILE-NAME.svg), or FILE.pdf (one plot on each page).\n";

static const char examples[] =
    "  layermeter report resnet50 --machine a100.ini --machine h100.ini -o resnet50.html\n"
    "  layermeter report vgg16 --machine cluster/machine.ini --memory 24GB --plot vgg16.pdf\n"
    "  layermeter report vgg16 --machine cluster/machine.ini --model prenet --sync ddp -o vgg16.html\n"
    "  layermeter report resnet50 --machine a.ini --phase inference --batch 1..256*2 -o latency.html\n"
    "  layermeter report llama3_8b --device H100 --nodes 8 --devices-per-node 8 --tokens 1T \\\n"
    "    --layout 'tp4 pp2 sp mb1 gb128' -o layout.html\n"
    "  layermeter report bert_base --machine a.ini --scaling strong --batch 256 --title 'BERT on A'\n";

/* The sessions of all machines and their page. */
typedef struct work {
    report_options *a;
    session         session[PAGE_MACHINES];
    decoding       *decode[PAGE_MACHINES]; /* NULL: not wanted */
    char           *command;
    price_list     *prices;
    device_list    *devices;
    page            page;
    char            passes[DECODING_TEXT];
} work;

/* The command line, in one line. */
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
    for (size_t i = 0; i < o->n_words; i++) {
        const option_word w      = option_word_at(o, i);
        const bool        quoted = w.value && w.value[strcspn(w.value, " \t'\"$&;|<>()*?")] != '\0';

        fprintf(out, " --%s", w.name);
        if (w.value)
            fprintf(out, quoted ? " '%s'" : " %s", w.value);
    }
    fclose(out);
    return text;
}

/* Prices of the page's machines, in the currency of the first one. A machine without a price has
 * the reason in `unpaid`; it is an error if a price was asked for, and none has one. */
static lm_status open_prices(const fleet_options *f, work *w, lm_error *err)
{
    page *p = &w->page;
    /* with a learned model, and alone, --device is first of all a datasheet */
    const bool told   = f->devices.n && !f->shipped && !p->machine[0].who->by->from_layers;
    paid_rule  r      = { .used   = p->question.setup.devices,
                          .tier   = p->tier,
                          .wanted = fleet_priced(f) || told,
                          .so     = "" };
    bool       none   = true;
    lm_status  status = prices_open(f->prices, &w->prices, err);

    if (status || (status = devices_open(NULL, &w->devices, err)))
        return status;
    r.prices  = w->prices;
    r.devices = w->devices;
    for (size_t i = 0; i < p->n_machines && !status; i++) {
        const paid_asked asked = fleet_paid(f, w->session, i);

        status = paid_find(&r, &asked, &p->machine[i].paid, err);
        none &= *p->machine[i].paid.unpaid != '\0';
    }
    if (!status && r.wanted && none)
        status = lm_error_set(err, LM_E_NOTFOUND, "%s", p->machine[0].paid.unpaid);
    return status;
}

static lm_status open_machines(const options *o, work *w, lm_error *err)
{
    const fleet_options *f   = &w->a->fleet;
    setup_choice        *how = &w->a->how;
    page                *p   = &w->page;
    const predictor     *who[PAGE_MACHINES];
    lm_error             untold; /* reported for each machine */
    lm_status            status = fleet_open(o, f, w->session, err);

    if (status || (status = fleet_decode(f, w->session, how, w->decode, err)) ||
        (status = decoding_network(w->decode[0], &w->session[0], &p->held, err)))
        return status;
    p->n_machines = fleet_size(f);
    for (size_t i = 0; i < p->n_machines; i++)
        p->machine[i] =
            (page_machine){ .file = f->machines.at[i],
                            .who = who[i] = decoding_who(w->decode[i], &w->session[i]) };
    w->a->dataset.given = option_given(o, &w->a->dataset.samples);
    if ((status = dataset_samples(who[0], &w->a->dataset, &p->question.dataset, err)) ||
        (status = layout_choice_settle(&w->a->layout, who[0], &p->question.setup, err)) ||
        (status = batch_in_samples(&w->a->scaling.whole, who[0], err)))
        return status;
    if (w->a->scaling.whole.n)
        p->question.global_batch = w->a->scaling.whole.n;
    setup_settle(how, fleet_in_buckets(w->session, p->n_machines));
    p->question.setup.sync = how->policy[0];
    if (how->n > 1)
        (void)scale_best_policy(who, p->n_machines, &p->question, p->nodes[p->n_nodes - 1],
                                how->policy, how->n, &p->question.setup.sync, &untold);
    return open_prices(f, w, err);
}

/* Gathers and draws, before the page is written. */
static lm_status fill_page(const options *o, work *w, lm_error *err)
{
    page     *p = &w->page;
    lm_status status;

    p->title      = w->a->title;
    p->network    = o->argument[0];
    p->net        = w->session[0].net;
    p->layout     = w->a->layout.given ? w->a->layout.words : NULL;
    p->passes     = decoding_text(w->decode[0], w->passes);
    p->registry   = w->session[0].reg;
    p->bind.dtype = w->session[0].who->dtype;
    p->bind.input = w->session[0].who->input;
    p->command    = w->command;
    page_label(p);
    status = page_gather(p, err);
    if (!status)
        status = page_draw(p, err);
    if (!status && w->a->plot)
        status = page_plot(p, w->a->plot, err);
    return status;
}

/* The file is opened first: if it cannot be written, no picture is left beside it. */
static lm_status make_page(const options *o, work *w, lm_error *err)
{
    file_draft draft  = { 0 };
    lm_status  status = file_draft_open(&draft, w->a->output, err);

    if (!status)
        status = fill_page(o, w, err);
    if (!status) {
        page_write(&w->page, draft.stream);
        status = file_draft_commit(&draft, err);
    }
    file_draft_drop(&draft);
    return status;
}

/* Batches of a page on inference, unless they are given. */
static const int64_t usual_batches[] = { 1, 2, 4, 8, 16, 32, 64 };

#define N_USUAL (sizeof usual_batches / sizeof usual_batches[0])

static lm_status check_program(const options *o, report_options *a, lm_error *err)
{
    int64_t *one;

    if (a->how.program == PROGRAM_TRAINING)
        return a->batch.n > 1
                   ? misused(o, &a->batch, err, "several batches need --phase inference: give one")
                   : LM_OK;
    if (!option_given(o, &a->batch))
        a->batch = (option_counts){ .at = usual_batches, .n = N_USUAL };
    if (!(one = arena_array(o->room, a->batch.n, sizeof *one)))
        return no_memory(err);
    for (size_t i = 0; i < a->batch.n; i++) /* those of a replica */
        one[i] = a->layout.given ? a->nodes.at[0] : 1;
    a->nodes = (option_counts){ .at = one, .n = a->batch.n };
    return LM_OK;
}

static lm_status check(options *o, lm_error *err)
{
    report_options   *a  = o->filled;
    const step_model *by = session_model(&a->fleet.session);
    lm_status         status;

    if (by && by->from_datasheet)
        return misused(o, &a->fleet.session.model, err,
                       "a report needs machine files, and paleo uses a datasheet");
    if ((status = layout_choice_check(o, &a->layout,
                                      &(layout_beside){ .batch      = &a->batch,
                                                        .accumulate = &a->how.accumulate,
                                                        .taken = taken_by_layout(&a->scaling) },
                                      err)) ||
        (status =
             layout_choice_place(o, &a->layout, &a->gpus, &a->nodes, &a->how.setup.devices, err)) ||
        (status = check_program(o, a, err)) ||
        (status = setup_check(o, &a->how, &a->fleet.session, true, err)))
        return status;
    a->how.setup.layout   = a->layout.layout;
    a->how.setup.laid_out = a->layout.given;
    if ((status = scaling_check(o, &a->scaling, &a->batch, &a->how, err)))
        return status;
    if ((status = fleet_check(o, &a->fleet, err)) || fleet_size(&a->fleet) <= PAGE_MACHINES)
        return status;
    return misused(o, a->fleet.shipped ? &a->fleet.devices : &a->fleet.machines, err,
                   "%zu machines: a plot shows at most %d curves", fleet_size(&a->fleet),
                   PAGE_MACHINES);
}

/* The question to each machine. */
static scale_question question_of(const report_options *a)
{
    scale_question q = { .kind         = a->scaling.kind,
                         .global_batch = a->scaling.whole.n,
                         .setup        = a->how.setup };

    if (q.kind == SCALING_STRONG && !q.global_batch)
        q.global_batch = a->batch.at[0];
    q.setup.batch = a->batch.at[a->batch.n - 1];
    return q;
}

static lm_status run(const options *o, lm_error *err)
{
    report_options *a = o->filled;
    work           *w = calloc(1, sizeof *w);
    lm_status       status;

    if (!w)
        return no_memory(err);
    w->a       = a;
    w->command = command_line(o);
    w->page    = (page){ .question = question_of(a),
                         .nodes    = a->nodes.at,
                         .n_nodes  = a->nodes.n,
                         .batch    = a->how.program == PROGRAM_TRAINING ? NULL : a->batch.at,
                         .epochs   = a->dataset.tokens && !option_given(o, &a->epochs) ? 1 : a->epochs,
                         .tier     = fleet_tier(&a->fleet),
                         .memory   = (uint64_t)a->memory };
    if (!(status = open_machines(o, w, err)) && !(status = make_page(o, w, err))) {
        decoding_explain(w->decode[0], stderr);
        print_note(w->session[0].net, stderr);
    }
    page_free(&w->page);
    prices_free(w->prices);
    devices_free(w->devices);
    fleet_decode_end(w->decode, PAGE_MACHINES);
    fleet_close(w->session, PAGE_MACHINES);
    free(w->command);
    free(w);
    return status;
}

const command cmd_report =
    COMMAND("report", "NETWORK", "Write a page about a network and the machines that may train it",
            report_options, 1, 1, check, run);
