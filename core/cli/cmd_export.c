/* layermeter export: measurements or predictions in the formats of Extra-P. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/setup_options.h"
#include "observe/flags.h"
#include "predict/layerwise_step.h"
#include "report/extrap.h"

enum {
    OUTPUT,
    FORMAT,
    NAME,
    KIND,
    MACHINE,
    MODEL,
    BATCH,
    NODES,
    DEVICES_PER_NODE,
    SETUP_OPTIONS,
    SESSION_OPTIONS,
    NETWORK_OPTIONS
};

static const option_spec specs[] = {
    [OUTPUT]  = { "output", "FILE", NULL, "file to write (also -o); else it is printed" },
    [FORMAT]  = { "format", "FORMAT", "extra-p", "extra-p (its text format) or extra-p-jsonl" },
    [NAME]    = { "name", "NAME", NULL, "measurements: of this network alone; may be repeated" },
    [KIND]    = { "kind", "KIND", NULL,
                  "measurements: of this kind; else of the first that is there of network, counts, "
                     "collective, layer, kernel, stream" },
    [MACHINE] = { "machine", "FILE", NULL,
                  "predictions: machine file, written by 'layermeter fit'" },
    [MODEL]   = { "model", "NAME", "layermeter",
                  "predictions: layermeter, convmeter or nnls; paleo; or justus, prenet (fit --model)" },
    [BATCH]   = { "batch", "LIST", "32", "predictions: samples per device: 8 or 1,2,4 or 1..64*2" },
    [NODES]   = { "nodes", "LIST", "1", "predictions: nodes" },
    [DEVICES_PER_NODE] = OPTION_DEVICES_PER_NODE,
    SETUP_ROWS,
    SESSION_ROWS,
    NETWORK_ROWS,
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "Measurements are a file of observations; predictions a network with --machine or --model paleo. Regions\n"
    "are networks, with what does not vary behind the name; metrics are phases, in seconds; parameters are\n"
    "the counts that vary: nodes, devices (of each node), ranks, batch, bytes, bucket_bytes, threads. Several\n"
    "rows of one point are its repetitions. Flagged rows go where there is nothing better. Extra-P has no\n"
    "place for least times, percentiles, clocks, flags and bounds of predictions. A predicted sync is what\n"
    "the backward pass does not hide of it; sizes of --bucket are bucket_bytes, auto being all that it tries.\n"
    "Its text format wants every point of every region and metric: else take extra-p-jsonl, or --name. A sync\n"
    "of one rank is 0 there. 'layermeter import extra-p' reads the text again.\n";

static const char examples[] =
    "  layermeter export observations.csv -o observations.txt\n"
    "  layermeter export observations.csv --format extra-p-jsonl -o observations.jsonl\n"
    "  layermeter export observations.csv --kind collective -o allreduce.txt\n"
    "  layermeter export resnet50 --machine machine.ini --nodes 1..64*2 --batch 32,64 -o resnet50.txt\n"
    "  layermeter export vgg16 --machine machine.ini --model prenet --nodes 1..8*2 -o vgg16.txt\n";

/* Rows to write. */
typedef struct chosen {
    observation *row;
    size_t       n, n_flagged;
} chosen;

static lm_status write_rows(const chosen *c, extrap_format f, const char *title, const char *path,
                            lm_error *err)
{
    file_draft draft;
    char      *text   = NULL;
    size_t     size   = 0;
    FILE      *memory = NULL;
    lm_status  status;

    if (!path) { /* whole or not at all, on a stream, too */
        memory = open_memstream(&text, &size);
        if (!memory)
            return no_memory(err);
        status = extrap_write(c->row, c->n, f, title, memory, err);
        fclose(memory);
        if (!status)
            fwrite(text, 1, size, stdout);
        free(text);
        return status;
    }
    status = file_draft_open(&draft, path, err);
    if (status)
        return status;
    status = extrap_write(c->row, c->n, f, title, draft.stream, err);
    if (!status)
        status = file_draft_commit(&draft, err);
    file_draft_drop(&draft);
    return status;
}

/* ---- measurements -------------------------------------------------------------------------------
 */

static bool is_named(const options *o, const char *name)
{
    bool any = false;

    for (int i = 0; i < o->n_every; i++)
        if (o->every[i].at == NAME) {
            any = true;
            if (!strcmp(o->every[i].value, name))
                return true;
        }
    return !any;
}

/* The kind that is asked for, else the first there is. */
static lm_status choose_kind(const options *o, const observations *obs, obs_kind *out,
                             lm_error *err)
{
    static const obs_kind order[] = { OBS_NETWORK, OBS_COUNTS, OBS_COLLECTIVE,
                                      OBS_LAYER,   OBS_KERNEL, OBS_STREAM };

    if (o->value[KIND]) /* parsed before */
        return obs_kind_parse(o->value[KIND], out);
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++)
        for (size_t i = 0; i < obs->n_rows; i++)
            if (obs->row[i].kind == order[k] && !obs->row[i].skipped) {
                *out = order[k];
                return LM_OK;
            }
    return lm_error_set(err, LM_E_ARG, "%s: every row is skipped", obs->path);
}

/* A row and what it is a time of. */
typedef struct keyed {
    char              *key;
    const observation *row;
    bool               flagged;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    const int    d = strcmp(x->key, y->key);

    return d                          ? d
           : x->flagged != y->flagged ? (int)x->flagged - (int)y->flagged
                                      : (x->row > y->row) - (x->row < y->row);
}

static int by_place(const void *a, const void *b)
{
    const keyed *x = a, *y = b;

    return (x->row > y->row) - (x->row < y->row);
}

static char *key_of(const observation *row)
{
    char text[1024];
    int  n;

    observation_key(row, text, sizeof text - 40);
    n = (int)strlen(text);
    snprintf(text + n, sizeof text - (size_t)n, " %d %lld", (int)row->phase,
             (long long)row->threads);
    return strdup(text);
}

/* Drops flagged times of which there are others without a flag. Returns how many are left. */
static size_t drop_flagged(keyed *k, size_t n)
{
    size_t kept = 0;

    qsort(k, n, sizeof *k, by_key);
    for (size_t i = 0, first = 0; i < n; i++) {
        if (strcmp(k[first].key, k[i].key) != 0)
            first = i;
        if (k[i].flagged && !k[first].flagged)
            k[i].row = NULL;
    }
    for (size_t i = 0; i < n; i++) {
        free(k[i].key);
        if (k[i].row)
            k[kept++] = k[i];
    }
    qsort(k, kept, sizeof *k, by_place);
    return kept;
}

static lm_status choose_rows(const options *o, const observations *obs, chosen *out, lm_error *err)
{
    keyed    *k = calloc(obs->n_rows, sizeof *k);
    size_t    n = 0;
    obs_kind  kind;
    lm_status status = choose_kind(o, obs, &kind, err);

    out->row = malloc(obs->n_rows * sizeof *out->row);
    if (!status && (!k || !out->row))
        status = no_memory(err);
    for (size_t i = 0; i < obs->n_rows && !status; i++) {
        const observation *row = &obs->row[i];
        uint32_t           flags;

        if (row->skipped || row->kind != kind || !is_named(o, row->name))
            continue;
        flags_parse(row->flags, &flags);
        k[n] = (keyed){ .key = key_of(row), .row = row, .flagged = flags != 0 };
        if (!k[n++].key)
            status = no_memory(err);
    }
    if (status) {
        for (size_t i = 0; i < n; i++)
            free(k[i].key);
        free(k);
        return status;
    }
    n = drop_flagged(k, n);
    for (size_t i = 0; i < n; i++) {
        out->row[out->n++] = *k[i].row;
        out->n_flagged += k[i].flagged;
    }
    free(k);
    return n ? LM_OK
             : lm_error_set(err, LM_E_NOTFOUND, "%s: no %s%s%.60s in it", obs->path,
                            obs_kind_name(kind), o->value[NAME] ? " named " : "",
                            o->value[NAME] ? o->value[NAME] : "");
}

static int export_measurements(const options *o, extrap_format f)
{
    lm_error      err  = { 0 };
    observations *obs  = NULL;
    chosen        c    = { 0 };
    int           code = EXIT_DONE;
    char          title[200];

    snprintf(title, sizeof title, "measured, in seconds: %.150s", o->argument[0]);
    if (observations_load(o->argument[0], &obs, &err)) {
        code = report_failure(&err);
    } else if (choose_rows(o, obs, &c, &err)) {
        code = report_failure(&err);
    } else if (write_rows(&c, f, title, o->value[OUTPUT], &err)) {
        lm_error_prefix(&err, "%s", obs->path);
        code = report_failure(&err);
    }
    if (code == EXIT_DONE && c.n_flagged)
        fprintf(stderr,
                "layermeter: %s: %zu flagged row%s among them: nothing better was measured there\n",
                obs->path, c.n_flagged, c.n_flagged == 1 ? "" : "s");
    free(c.row);
    observations_free(obs);
    return code;
}

/* ---- predictions --------------------------------------------------------------------------------
 */

/* The parts of a step that are known; a sync of several ranks is what the backward pass leaves. */
static void put_prediction(const session *s, const sync_policy *sync, const prediction *p,
                           chosen *c)
{
    const struct {
        phase  phase;
        double seconds;
    } parts[] = { { PHASE_FORWARD, p->forward },
                  { PHASE_BACKWARD, p->backward },
                  { PHASE_SYNC, p->exposed },
                  { PHASE_UPDATE, p->grad - p->exposed },
                  { PHASE_STEP, p->step } };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        observation *row = &c->row[c->n];

        if (isnan(parts[i].seconds))
            continue;
        *row         = observation_blank;
        row->kind    = OBS_NETWORK;
        row->phase   = parts[i].phase;
        row->name    = s->who.network;
        row->input   = s->who.input ? s->who.input : "";
        row->dtype   = s->who.dtype;
        row->batch   = p->batch;
        row->hosts   = p->nodes;
        row->ranks   = p->nodes * p->devices;
        row->seconds = parts[i].seconds;
        if (sync->rule == SYNC_DDP)
            row->bucket_bytes = (int64_t)sync->limit_bytes;
        c->n++;
    }
}

/* What is asked for. */
typedef struct grid {
    int64_t     *batch, *nodes;
    size_t       n_batch, n_nodes;
    setup_choice how;
} grid;

static size_t points_in(const grid *g)
{
    return g->n_batch * g->n_nodes * g->how.n;
}

static lm_status predict_rows(const session *s, const grid *g, chosen *c, lm_error *err)
{
    lm_status status = LM_OK;

    c->row = calloc(points_in(g), N_PHASES * sizeof *c->row);
    if (!c->row)
        return no_memory(err);
    for (size_t i = 0; i < points_in(g) && !status; i++) {
        const size_t at    = i / g->how.n;
        step_setup   setup = g->how.setup;
        prediction   p;

        setup.batch = g->batch[at % g->n_batch];
        setup.nodes = g->nodes[at / g->n_batch];
        setup.sync  = g->how.policy[i % g->how.n];
        status      = predict_step(&s->who, &setup, &p, err);
        if (!status)
            put_prediction(s, &setup.sync, &p, c);
    }
    return status;
}

/* What a learned model does not know of the network: there is no place for it in these formats. */
static lm_status print_learned(const session *s, const grid *g, lm_error *err)
{
    step_setup setup = g->how.setup;
    prediction p;
    char       beyond[200];
    lm_status  status;

    setup.batch = g->batch[0];
    setup.nodes = 1;
    if ((status = predict_step(&s->who, &setup, &p, err)))
        return status;
    fprintf(stderr, "layermeter: %s: %s: %s%s\n", s->who.machine, s->who.model,
            prediction_beyond(&p, beyond, sizeof beyond),
            isnan(p.forward + p.backward)
                ? ", parts of a step that are not here were not learned by themselves"
                : "");
    return LM_OK;
}

static int export_predictions(const options *o, const session_options *at, extrap_format f)
{
    static const setup_options how  = { SYNC,       BUCKET,    GRAD_DTYPE,
                                        ACCUMULATE, OPTIMIZER, DEVICES_PER_NODE };
    lm_error                   err  = { 0 };
    session                    s    = { 0 };
    grid                       g    = { 0 };
    chosen                     c    = { 0 };
    int                        code = EXIT_DONE;
    char                       title[300];

    snprintf(title, sizeof title, "predicted, in seconds: model %.40s, %.150s", o->value[MODEL],
             o->value[MACHINE]  ? o->value[MACHINE]
             : o->value[DEVICE] ? o->value[DEVICE]
                                : "");
    if (option_list(o, BATCH, &g.batch, &g.n_batch, &code) &&
        option_list(o, NODES, &g.nodes, &g.n_nodes, &code) &&
        setup_options_read_of(o, o->value[MODEL], &how, &g.how, &code) &&
        session_open(o, at, &s, &code)) {
        if (s.layerwise)
            s.layerwise->optimizer = o->value[OPTIMIZER];
        setup_options_settle(&g.how, setup_in_buckets(&s.who));
        if (predict_rows(&s, &g, &c, &err) || write_rows(&c, f, title, o->value[OUTPUT], &err)) {
            code = report_failure(&err);
        } else {
            print_note(s.net, stderr);
            if (s.layerwise && print_learned(&s, &g, &err))
                code = report_failure(&err);
        }
    }
    session_close(&s);
    free(c.row);
    free(g.how.policy);
    free(g.batch);
    free(g.nodes);
    return code;
}

/* ---- the command --------------------------------------------------------------------------------
 */

static int run(const options *o)
{
    static const session_options at                = SESSION_PLACES;
    static const int             of_measurements[] = { NAME, KIND };
    static const int             of_predictions[]  = {
                     MODEL,         BATCH,  NODES,   IMAGE,    INPUT,    DTYPE,     DEVICES_PER_NODE,
                     SETUP_OPTIONS, DEVICE, DEVICES, PPP_COMP, PPP_COMM, BANDWIDTH, SCHEME,
                     TREAT,         IGNORE, SET
    };
    const bool    predicts = o->value[MACHINE] || session_wants_paleo(o, &at);
    lm_error      err      = { 0 };
    extrap_format f;
    obs_kind      kind;
    int           code;

    if (extrap_format_parse(o->value[FORMAT], &f, &err))
        return report_misuse("--format", &err);
    if (o->value[KIND] && obs_kind_parse(o->value[KIND], &kind)) {
        lm_error_set(&err, LM_E_ARG,
                     "expected network, kernel, collective, layer, counts or stream; found '%.40s'",
                     o->value[KIND]);
        return report_misuse("--kind", &err);
    }
    code = predicts
               ? options_refuse(o, of_measurements, 2, "measurements, without --machine")
               : options_refuse(o, of_predictions, sizeof of_predictions / sizeof of_predictions[0],
                                "predictions, with --machine FILE or --model paleo");
    if (code)
        return code;
    if (!predicts && access(o->argument[0], F_OK) != 0 && !strstr(o->argument[0], ".csv")) {
        lm_error_set(&err, LM_E_ARG,
                     "'%.60s' is no file of observations; to predict a network give --machine FILE",
                     o->argument[0]);
        return report_misuse("", &err);
    }
    return predicts ? export_predictions(o, &at, f) : export_measurements(o, f);
}

const command cmd_export = {
    .name          = "export",
    .arguments     = "OBSERVATIONS | NETWORK",
    .doc           = "Write measurements or predictions as Extra-P reads them",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
