/* layermeter export: writes measurements or predictions in the formats of Extra-P. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "cli/decoding.h"
#include "cli/layout_options.h"
#include "import/extrap.h"
#include "import/extrap_rows.h"
#include "predict/scaling.h"
#include "report/notes.h"
#include "report/step_fields.h"

typedef struct export_options {
    const char   *output;
    extrap_format format;
    struct {
        option_texts names;
        const char  *kind;
    } measured;
    struct {
        session_options session;
        setup_choice    how;
        layout_choice   layout;
        option_counts   batch, nodes;
        int64_t         gpus;
    } predicted;
    obs_kind kind; /* of measured.kind, if that is given */
} export_options;

#define AT(member) OPTION_AT(export_options, member)

VALUE_TYPE(type_extrap, extrap_format, extrap_format_parse);

static const option_row option_rows[] = {
    { "name", AT(measured.names), &type_text, "NAME", NULL, HELP_WHAT,
      "measurements: export only this network", .repeats = true },
    { "kind", AT(measured.kind), &type_text, "KIND", NULL, HELP_WHAT,
      "measurements: export this kind (default: the first that the file has of network, counts, "
      "collective, layer, kernel, stream)" },
    { "batch", AT(predicted.batch), .fallback = "32",
      .help = "predictions: samples per device: 8, or 1,2,4, or 1..64*2" },
    OPTION_GROUP(export_options, predicted.session, session_option_rows),
    { "nodes", AT(predicted.nodes), .fallback = "1", .help = "predictions: numbers of nodes" },
    { "gpus", AT(predicted.gpus) },
    { "devices-per-node", AT(predicted.how.setup.devices) },
    OPTION_GROUP(export_options, predicted.how, phase_option_rows),
    OPTION_GROUP(export_options, predicted.how, setup_option_rows),
    OPTION_GROUP(export_options, predicted.layout, layout_option_rows),
    OPTION_GROUP(export_options, predicted.layout, layout_recompute_rows),
    { "output", AT(output) },
    { "format", AT(format), &type_extrap, "FORMAT", "extra-p",
      .help = "extra-p (Extra-P's text format) or extra-p-jsonl (its JSON Lines)" },
    { .name = NULL },
};

static const char details[] =
    "The command exports measurements from a file of observations, or predictions for a NETWORK with\n"
    "--machine or --device. A region is a network; constant values follow its name. Metrics are phases,\n"
    "in seconds. Parameters are the values that vary: nodes, devices (per node), ranks, batch, bytes,\n"
    "bucket_bytes, threads. Several rows of one point are its repetitions. Flagged rows are exported only\n"
    "if a point has no others.\n"
    "\n"
    "Extra-P's format cannot hold minimum times, percentiles, clocks, flags and bounds. A predicted sync\n"
    "is the part that does not overlap with the backward pass; on one rank it is 0. The text format needs\n"
    "every point of every region and metric. If points are missing, use extra-p-jsonl, or --name.\n"
    "'layermeter import extra-p' reads the text format.\n";

static const char examples[] =
    "  layermeter export observations.csv -o observations.txt\n"
    "  layermeter export observations.csv --format extra-p-jsonl -o observations.jsonl\n"
    "  layermeter export observations.csv --kind collective -o allreduce.txt\n"
    "  layermeter export resnet50 --machine machine.ini --nodes 1..64*2 --batch 32,64 -o resnet50.txt\n"
    "  layermeter export vgg16 --machine machine.ini --model prenet --nodes 1..8*2 -o vgg16.txt\n";

/* Rows, their format and their title. */
typedef struct written {
    const extrap_rows *c;
    extrap_format      f;
    const char        *title;
    const char        *from; /* file of the rows, for errors; NULL: predicted */
} written;

static lm_status write_text(void *context, FILE *out, lm_error *err)
{
    const written  *w      = context;
    const lm_status status = extrap_write(w->c->row, w->c->n, w->f, w->title, out, err);

    if (status && w->from)
        lm_error_prefix(err, "%s", w->from);
    return status;
}

static lm_status write_rows(const written *of, const char *path, lm_error *err)
{
    written   w    = *of;
    char     *text = NULL;
    size_t    size = 0;
    FILE     *memory;
    lm_status status;

    if (path)
        return file_put(path, write_text, &w, err);
    if (!(memory = open_memstream(&text, &size))) /* whole or not at all, also to a stream */
        return no_memory(err);
    status = write_text(&w, memory, err);
    fclose(memory);
    if (!status)
        fwrite(text, 1, size, stdout);
    free(text);
    return status;
}

/* ---- measurements ---- */

static lm_status export_measurements(const options *o, lm_error *err)
{
    const export_options *a   = o->filled;
    observations         *obs = NULL;
    extrap_rows           c   = { 0 };
    char                  title[200];
    lm_status             status = observations_load(o->argument[0], &obs, err);

    snprintf(title, sizeof title, "measured, in seconds: %.150s", o->argument[0]);
    if (!status && !(status = extrap_rows_measured(obs, &a->measured.names,
                                                   a->measured.kind ? &a->kind : NULL, &c, err)))
        status = write_rows(&(written){ &c, a->format, title, obs->path }, a->output, err);
    if (!status)
        note_cut_short(obs->cut_short, obs->path);
    if (!status && c.n_flagged)
        note("%s: %zu flagged row%s among them: nothing better was measured there", obs->path,
             c.n_flagged, c.n_flagged == 1 ? "" : "s");
    extrap_rows_free(&c);
    observations_free(obs);
    return status;
}

/* ---- predictions ---- */

static lm_status predict_rows(const predictor *who, const char *name, const export_options *a,
                              extrap_rows *c, lm_error *err)
{
    const setup_choice  *how   = &a->predicted.how;
    const option_counts *batch = &a->predicted.batch, *nodes = &a->predicted.nodes;
    const size_t         n      = batch->n * nodes->n * how->n;
    predictor            region = *who;
    lm_status            status = extrap_rows_new(n, c, err);

    region.network = name;

    for (size_t i = 0; i < n && !status; i++) {
        const size_t   at = i / how->n;
        scale_question q  = { .kind = SCALING_WEAK, .setup = how->setup };
        step_setup     setup;
        prediction     p;

        q.setup.batch = batch->at[at % batch->n];
        q.setup.sync  = how->policy[i % how->n];
        status        = scale_setup(&q, nodes->at[at / batch->n], &setup, err);
        if (!status && !(status = predict_step(who, &setup, &p, err)))
            extrap_rows_step(c, &region, &setup, &p);
    }
    return status;
}

/* Reports facts without a place in these formats: parts of the network that a learned model does
 * not know, and training in place of inference. */
static lm_status print_grounds(const predictor *who, const export_options *a, lm_error *err)
{
    scale_question q = { .kind = SCALING_WEAK, .setup = a->predicted.how.setup };
    step_setup     setup;
    prediction     p;
    char           beyond[200];
    lm_status      status;

    q.setup.batch = a->predicted.batch.at[0];
    if ((status = scale_setup(&q, q.setup.laid_out ? a->predicted.nodes.at[0] : 1, &setup, err)) ||
        (status = predict_step(who, &setup, &p, err)))
        return status;
    step_basis_explain(who, &p, NULL, stderr);
    if (!who->by->from_layers)
        return LM_OK;
    note("%s: %s: %s%s", who->machine, who->model,
         grounds_beyond(&p.grounds, beyond, sizeof beyond),
         isnan(p.forward + p.backward)
             ? ", parts of a step that are not here were not learned by themselves"
             : "");
    return LM_OK;
}

static lm_status write_predicted(extrap_rows *c, const export_options *a, const char *title,
                                 lm_error *err)
{
    const size_t points     = a->predicted.batch.n * a->predicted.nodes.n * a->predicted.how.n;
    char         parts[100] = "";
    lm_status    status;

    if (a->format == EXTRAP_TEXT)
        extrap_rows_common(c, points, parts, sizeof parts);
    if (!(status = write_rows(&(written){ c, a->format, title, NULL }, a->output, err)) && *parts)
        note(
            "%s left out: not known at every point, which the text format wants (--format extra-p-jsonl has them)",
            parts);
    return status;
}

static lm_status export_predictions(const options *o, lm_error *err)
{
    export_options        *a = o->filled;
    const session_options *q = &a->predicted.session;
    session                s;
    decoding              *d = NULL;
    extrap_rows            c = { 0 };
    char                   title[300];
    lm_status              status = session_open(o, q, &s, err);

    snprintf(title, sizeof title, "predicted, in seconds: model %.40s, %.150s", q->model,
             q->machine         ? q->machine
             : q->source.device ? q->source.device
                                : "");
    if (!status) {
        setup_settle(&a->predicted.how, predict_in_buckets(s.who));
        a->predicted.how.setup.batch = a->predicted.batch.at[0];
        status = layout_choice_settle(&a->predicted.layout, s.who, &a->predicted.how.setup, err);
        if (!status && !(status = decoding_open(&s, q, &a->predicted.how, &d, err)) &&
            !(status = predict_rows(decoding_who(d, &s), s.who->network, a, &c, err)))
            status = write_predicted(&c, a, title, err);
    }
    if (!status) {
        print_note(s.net, stderr);
        decoding_explain(d, stderr);
        status = print_grounds(decoding_who(d, &s), a, err);
    }
    decoding_close(d);
    session_close(&s);
    extrap_rows_free(&c);
    return status;
}

/* ---- the command ---- */

static bool predicts(const export_options *a)
{
    const session_options *q = &a->predicted.session;

    return q->machine || q->source.device || (session_model(q) && session_model(q)->from_datasheet);
}

static lm_status check(options *o, lm_error *err)
{
    export_options  *a = o->filled;
    session_options *q = &a->predicted.session;
    lm_status        status;

    if (a->measured.kind && obs_kind_parse(a->measured.kind, &a->kind))
        return misused(o, &a->measured.kind, err,
                       "expected network, kernel, collective, layer, counts or stream; found "
                       "'%.40s'",
                       a->measured.kind);
    if (predicts(a)) {
        if ((status = refused(o, &a->measured, sizeof a->measured,
                              "measurements, without --machine and --device", err)) ||
            (status =
                 layout_choice_check(o, &a->predicted.layout,
                                     &(layout_beside){ .batch      = &a->predicted.batch,
                                                       .accumulate = &a->predicted.how.accumulate },
                                     err)) ||
            (status =
                 layout_choice_place(o, &a->predicted.layout, &a->predicted.gpus,
                                     &a->predicted.nodes, &a->predicted.how.setup.devices, err)) ||
            (status = setup_check(o, &a->predicted.how, q, false, err)))
            return status;
        a->predicted.how.setup.layout   = a->predicted.layout.layout;
        a->predicted.how.setup.laid_out = a->predicted.layout.given;
        return session_check(o, q, false, err);
    }
    if ((status = refused(o, &a->predicted, sizeof a->predicted,
                          "predictions, with --machine FILE or --device NAME", err)))
        return status;
    if (access(o->argument[0], F_OK) != 0 && !strstr(o->argument[0], ".csv"))
        return lm_error_set(
            err, LM_E_ARG,
            "'%.60s' is not a file of observations; to predict a network give --machine FILE or --device NAME",
            o->argument[0]);
    return LM_OK;
}

static lm_status run(const options *o, lm_error *err)
{
    return predicts(o->filled) ? export_predictions(o, err) : export_measurements(o, err);
}

const command cmd_export = COMMAND("export", "OBSERVATIONS | NETWORK",
                                   "Write measurements or predictions in Extra-P's format",
                                   export_options, 1, 1, check, run);
