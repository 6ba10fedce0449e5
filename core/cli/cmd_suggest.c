/* layermeter suggest: what to measure next. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/suggest_print.h"
#include "cli/suggest_sweep.h"
#include "observe/variants.h"
#include "report/table.h"
#include "suggest/targets.h"

enum {
    FOR,
    BATCH,
    NODES,
    MACHINE,
    MEMORY,
    MAX_NODES,
    BUDGET,
    POINTS,
    FROM,
    TRY_BATCH,
    TRY_IMAGE,
    WHERE,
    OUTPUT,
    BACKEND,
    FORMAT
};

static const option_spec specs[] = {
    [FOR]       = { "for", "NETWORKS", NULL, "what predictions are wanted of (needed)" },
    [BATCH]     = { "batch", "LIST", "1,8,64", "at these samples per device" },
    [NODES]     = { "nodes", "LIST", "1", "on so many nodes, one device each" },
    [MACHINE]   = { "machine", "FILE", NULL, "coefficients to begin with, instead of guesses" },
    [MEMORY]    = { "memory", "SIZE", NULL, "of a device: only what fits, 16GiB" },
    [MAX_NODES] = { "max-nodes", "COUNT", NULL,
                    "nodes there are; else as many as OBSERVATIONS has" },
    [BUDGET]    = { "budget", "TIME", NULL, "measure no longer than this: 5min" },
    [POINTS]    = { "points", "COUNT", "10", "suggest no more than so many" },
    [FROM]      = { "from", "NETWORKS", NULL,
                    "measure these only; else the shipped and those of --for" },
    [TRY_BATCH] = { "try-batch", "LIST", "1..64*4", "batches that may be measured" },
    [TRY_IMAGE] = { "try-image", "LIST", "64,128",
                    "and images, beside the size in the network's file" },
    [WHERE]     = { "where", "WORDS", NULL,
                    "of these networks in OBSERVATIONS only: dtype=bf16,layout=nhwc ..." },
    [OUTPUT]  = { "output", "FILE", NULL, "sweep to write (also -o), for 'layermeter calibrate'" },
    [BACKEND] = { "backend", "NAME", NULL,
                  "what the sweep measures with; else what measured OBSERVATIONS, or onednn" },
    [FORMAT]  = { "format", "FORMAT", "table", "table, csv or json" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "The next point is always the one that lowers the expected variance of the steps asked for the most\n"
    "per second of measuring (a V-optimal sequential design, by the formulas of the model 'counts'); what\n"
    "was measured is not suggested again. '+-' is half the expected width of the 90 % interval of a step,\n"
    "as the design sees it, after this point and those above: what cannot be learned stays, for networks\n"
    "differ from any formula. Without OBSERVATIONS everything is a guess. The sweep of -o is measured\n"
    "into a new folder; its rows, below those of OBSERVATIONS, are fitted and suggested from like any.\n"
    "--memory is compared with what 'layermeter memory' says of a step.\n";

static const char examples[] =
    "  layermeter suggest observations.csv --for resnet50,vgg16 --budget 5min --memory 16GiB -o next.ini\n"
    "  layermeter calibrate next.ini -o next/\n"
    "  (cat observations.csv; sed '/^#/d; /^kind,/d' next/observations.csv) > all.csv\n"
    "  layermeter fit all.csv -o machine.ini\n"
    "  layermeter suggest --for bert_base --points 5\n";

#define NAMES_MAX 64
/* Nobody wants to wait for these unasked. */
#define MOST_PARAMS 500000000u
/* Of which the design has formulas. */
#define STEP_PARTS (1u << PART_FORWARD | 1u << PART_BACKWARD | 1u << PART_UPDATE | 1u << PART_SYNC)

static const design_speeds usual_speeds = { 4e10, 4e9 };

typedef struct question {
    const options *o;
    registry      *reg;
    workloads     *loads;
    calibration   *known;
    observations  *obs; /* NULL: nothing was measured */
    points         p;
    char           variant[VARIANT_TEXT];
    lm_dtype       dtype;
    optimizer      update;
    char           for_text[1024], from_text[1024];
    char          *asked[NAMES_MAX];
    size_t         n_asked;
    int64_t       *batch, *nodes, *try_batch, *try_image, *ranks;
    size_t         n_batch, n_nodes, n_try_batch, n_try_image, n_ranks;
    int64_t        memory, points_wanted, max_nodes;
    double         budget;
    targets        t;
    size_t        *target_of; /* number of the network of each target */
    candidates     c;
    design        *d;
    double        *cost, *step;
    size_t         n_learned;
    suggestion     s;
    format         f;
} question;

/* ---- what is asked ------------------------------------------------------------------------------
 */

/* "a, b" in place. False: too long, or nothing. */
static bool split_names(const char *list, char *room, size_t size, char *name[NAMES_MAX], size_t *n,
                        lm_error *err)
{
    if ((size_t)snprintf(room, size, "%s", list) >= size) {
        lm_error_set(err, LM_E_ARG, "longer than %zu bytes", size - 1);
        return false;
    }
    *n = text_split(room, ',', name, NAMES_MAX);
    for (size_t i = 0; i < *n; i++)
        if (!*name[i]) {
            lm_error_set(err, LM_E_ARG, "expected names separated by commas, found '%.40s'", list);
            return false;
        }
    return true;
}

static const char *parse_words(question *q, lm_error *err)
{
    const options *o = q->o;

    q->budget = HUGE_VAL;
    if (format_parse(o->value[FORMAT], &q->f, err))
        return "";
    if (!o->value[FOR]) {
        lm_error_set(err, LM_E_ARG, "--for NETWORKS is needed: what predictions are wanted of");
        return "";
    }
    if (!split_names(o->value[FOR], q->for_text, sizeof q->for_text, q->asked, &q->n_asked, err))
        return "--for";
    if (o->value[MEMORY] && text_bytes(o->value[MEMORY], &q->memory, err))
        return "--memory";
    if (o->value[MEMORY] && !q->memory) {
        lm_error_set(err, LM_E_ARG, "a device without memory runs nothing: give its size");
        return "--memory";
    }
    if (o->value[BUDGET] && text_seconds(o->value[BUDGET], &q->budget, err))
        return "--budget";
    if (!(q->budget > 0)) {
        lm_error_set(err, LM_E_ARG, "nothing is measured in no time: give some");
        return "--budget";
    }
    if (o->value[WHERE] && !o->n_arguments) {
        lm_error_set(err, LM_E_ARG, "it chooses among OBSERVATIONS: name them");
        return "--where";
    }
    if (o->value[BACKEND] && !o->value[OUTPUT]) {
        lm_error_set(err, LM_E_ARG, "it is for the sweep: give -o SWEEP.ini too");
        return "--backend";
    }
    if (o->value[BACKEND] && !strcmp(o->value[BACKEND], "sim") && !o->value[MACHINE]) {
        lm_error_set(err, LM_E_ARG, "simulated times are by coefficients: give --machine FILE");
        return "--backend";
    }
    return NULL;
}

static bool parse(question *q, int *code)
{
    const options *o     = q->o;
    lm_error       err   = { 0 };
    const char    *wrong = parse_words(q, &err);

    if (wrong) {
        *code = report_misuse(wrong, &err);
        return false;
    }
    return option_list(o, BATCH, &q->batch, &q->n_batch, code) &&
           option_list(o, NODES, &q->nodes, &q->n_nodes, code) &&
           option_list(o, TRY_BATCH, &q->try_batch, &q->n_try_batch, code) &&
           option_list(o, TRY_IMAGE, &q->try_image, &q->n_try_image, code) &&
           option_count(o, POINTS, &q->points_wanted, code) &&
           (!o->value[MAX_NODES] || option_count(o, MAX_NODES, &q->max_nodes, code));
}

/* ---- what is known ------------------------------------------------------------------------------
 */

static lm_status take_observations(question *q, lm_error *err)
{
    const options *o     = q->o;
    const char    *usual = NULL;
    lm_status      status;
    variants       all;

    if ((status = observations_load(o->argument[0], &q->obs, err)) ||
        (status = points_from(q->obs, q->loads, &q->p, err)))
        return status;
    if (o->value[WHERE] && (status = points_where(&q->p, o->value[WHERE], err))) {
        lm_error_prefix(err, "%s", q->obs->path);
        return status;
    }
    if ((status = points_check_variants(&q->p, q->obs->path, err)) ||
        (status = variants_of(&q->p, &all, err)))
        return status;
    if (all.n)
        strcpy(q->variant, all.text[0]);
    variants_free(&all);
    for (size_t i = 0; i < q->p.n_points; i++) {
        const observation *row = q->p.point[i].row;

        usual = points_usual_optimizer(usual, row);
        if (observation_of_network(row))
            q->dtype = row->dtype;
        if (!o->value[MAX_NODES] && row->ranks > q->max_nodes)
            q->max_nodes = row->ranks;
    }
    if (usual && optimizer_parse(usual, &q->update, NULL))
        q->update = OPTIMIZER_MOMENTUM;
    return LM_OK;
}

static lm_status learn(question *q, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < q->p.n_points && !status; i++) {
        design_times      times;
        const design_case what = candidates_case(&q->c, &q->p.point[i], &times);

        if (!(what.parts & STEP_PARTS))
            continue;
        q->n_learned++;
        status = design_measured(q->d, &what, &times, err);
    }
    return status ? status : design_update(q->d, err);
}

/* ---- what could be measured ---------------------------------------------------------------------
 */

/* 1, 2, 4 ... and the most. */
static lm_status list_ranks(question *q, lm_error *err)
{
    q->ranks = malloc(65 * sizeof *q->ranks);
    if (!q->ranks)
        return no_memory(err);
    for (int64_t r = 1; r < q->max_nodes; r *= 2)
        q->ranks[q->n_ranks++] = r;
    q->ranks[q->n_ranks++] = q->max_nodes;
    return LM_OK;
}

static lm_status add_named(question *q, char *const *name, size_t n, const candidate_ranges *r,
                           const char *option, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < n && !status; i++)
        if ((status = candidates_add(&q->c, q->loads, name[i], r, err)))
            lm_error_prefix(err, "%s", option);
    return status;
}

static lm_status add_shipped(question *q, const candidate_ranges *named, lm_error *err)
{
    candidate_ranges r = *named;
    network_names    known;
    lm_status        status = network_list(&known, err);

    if (status)
        return status;
    r.most_params = MOST_PARAMS;
    for (size_t i = 0; i < known.n && !status; i++) {
        lm_error ignored;

        /* one that cannot be opened as it is, is no candidate */
        if (candidates_add(&q->c, q->loads, known.name[i], &r, &ignored) == LM_E_NOMEM)
            status = no_memory(err);
    }
    network_names_free(&known);
    return status;
}

static lm_status add_candidates(question *q, lm_error *err)
{
    int64_t         *image = calloc(q->n_try_image + 1, sizeof *image);
    char            *name[NAMES_MAX];
    size_t           n;
    candidate_ranges r      = { .batch   = q->try_batch,
                                .image   = image,
                                .n_batch = q->n_try_batch,
                                .n_image = q->n_try_image + 1,
                                .dtype   = q->dtype };
    lm_status        status = image ? list_ranks(q, err) : no_memory(err);

    if (!status) {
        memcpy(image + 1, q->try_image, q->n_try_image * sizeof *image); /* the file's own first */
        r.ranks   = q->ranks;
        r.n_ranks = q->n_ranks;
        if (!q->o->value[FROM]) {
            status = add_named(q, q->asked, q->n_asked, &r, "--for", err);
            if (!status)
                status = add_shipped(q, &r, err);
        } else if (!split_names(q->o->value[FROM], q->from_text, sizeof q->from_text, name, &n,
                                err)) {
            status = LM_E_ARG;
            lm_error_prefix(err, "--from");
        } else {
            status = add_named(q, name, n, &r, "--from", err);
        }
    }
    free(image);
    return status;
}

static lm_status add_targets(question *q, lm_error *err)
{
    for (size_t k = 0; k < q->n_asked; k++) {
        const size_t before = q->t.n;
        size_t      *of;
        lm_status    status = targets_add_at(&q->t, q->loads, q->asked[k], q->dtype, q->batch,
                                             q->n_batch, q->nodes, q->n_nodes, err);

        if (status) {
            lm_error_prefix(err, "--for");
            return status;
        }
        of = realloc(q->target_of, (q->t.n + 1) * sizeof *of);
        if (!of)
            return no_memory(err);
        q->target_of = of;
        for (size_t i = before; i < q->t.n; i++)
            of[i] = k;
    }
    return LM_OK;
}

/* ---- the answer ---------------------------------------------------------------------------------
 */

static lm_status fits(void *context, size_t at, bool *yes, lm_error *err)
{
    const question *q = context;

    return candidate_fits(&q->c.item[at], q->reg, q->dtype, q->update, (uint64_t)q->memory, yes,
                          err);
}

static lm_status nothing(const question *q, lm_error *err)
{
    double least = HUGE_VAL;

    for (size_t i = 0; i < q->c.n; i++)
        least = fmin(least, q->cost[i]);
    if (!q->c.n)
        return lm_error_set(
            err, LM_E_ARG,
            "nothing is left to measure: of these networks, batches and images %zu points "
            "are measured already and %zu are refused; give other --from, --try-batch or "
            "--try-image",
            q->c.n_measured, q->c.n_refused);
    if (q->s.n_refused)
        return lm_error_set(
            err, LM_E_ARG,
            "nothing to measure fits into %s: try more --memory, smaller --try-batch or "
            "--try-image",
            q->o->value[MEMORY]);
    return lm_error_set(
        err, LM_E_ARG,
        "no point takes less than --budget: the cheapest of %zu is expected to take %.2g s", q->c.n,
        least);
}

static lm_status find_answer(question *q, lm_error *err)
{
    const suggest_asked  asked  = { q->target_of, q->t.n, q->n_asked };
    const suggest_limits limits = { q->budget, (size_t)q->points_wanted, q->memory ? fits : NULL,
                                    q };
    lm_status            status;

    if ((status =
             design_new(q->t.item, q->t.n, q->c.n_networks, &usual_speeds, q->known, &q->d, err)) ||
        (status = learn(q, err)))
        return status;
    q->cost = malloc((q->c.n + 1) * sizeof *q->cost);
    q->step = malloc((q->c.n + 1) * sizeof *q->step);
    if (!q->cost || !q->step)
        return no_memory(err);
    for (size_t i = 0; i < q->c.n; i++) {
        q->step[i] = candidate_step(q->d, &q->c.what[i]);
        q->cost[i] = candidate_cost(&stopping_usual, q->step[i]);
    }
    status = suggest_points(q->d, q->c.what, q->cost, q->c.n, &asked, &limits, &q->s, err);
    return status || q->s.n ? status : nothing(q, err);
}

static const char *backend_of(const question *q)
{
    const char *told = q->obs ? observations_provenance(q->obs, "compute_backend") : NULL;

    return q->o->value[BACKEND] ? q->o->value[BACKEND] : q->obs ? told : "onednn";
}

static lm_status write_sweep(const question *q, lm_error *err)
{
    sweep_head h = { .asked_for = q->o->value[FOR],
                     .backend   = backend_of(q),
                     .machine   = q->o->value[MACHINE],
                     .variant   = q->variant,
                     .optimizer = optimizer_name(q->update),
                     .threads   = 1,
                     .stop      = &stopping_usual };

    if (!h.backend)
        return lm_error_set(
            err, LM_E_ARG,
            "%s: does not say what measured it (# compute_backend: ...): if it was layermeter, "
            "give --backend onednn or cudnn; times of another framework must be measured with "
            "that one, without -o",
            q->obs->path);
    if (!strcmp(h.backend, "sim") && !h.machine)
        return lm_error_set(
            err, LM_E_ARG,
            "%s: its times are simulated: give the coefficients behind them, --machine FILE",
            q->obs->path);
    for (size_t i = 0; i < q->p.n_points; i++)
        if (observation_of_network(q->p.point[i].row) && q->p.point[i].row->threads)
            h.threads = q->p.point[i].row->threads;
    return suggest_sweep_write(q->o->value[OUTPUT], &h, &q->c, &q->s, q->cost, err);
}

static lm_status print_answer(const question *q, lm_error *err)
{
    const suggest_answer a = { .asked     = q->asked,
                               .n_asked   = q->n_asked,
                               .c         = &q->c,
                               .s         = &q->s,
                               .cost      = q->cost,
                               .step      = q->step,
                               .measured  = q->obs != NULL,
                               .n_learned = q->n_learned,
                               .machine   = q->known != NULL,
                               .memory    = q->o->value[MEMORY],
                               .sweep     = q->o->value[OUTPUT] };

    return suggest_print(&a, q->f, err);
}

static lm_status answer(question *q, lm_error *err)
{
    const options *o = q->o;
    lm_status      status;

    if ((status = open_registry(o, &q->reg, err)) ||
        (status = workloads_new(q->reg, &q->loads, err)) || (status = candidates_new(&q->c, err)) ||
        (o->value[MACHINE] && (status = calibration_load(o->value[MACHINE], &q->known, err))) ||
        (o->n_arguments && (status = take_observations(q, err))))
        return status;
    q->max_nodes = q->max_nodes ? q->max_nodes : 1;
    if ((status = candidates_measured(&q->c, &q->p, err)) || (status = add_candidates(q, err)) ||
        (status = add_targets(q, err)) || (status = find_answer(q, err)) ||
        (o->value[OUTPUT] && (status = write_sweep(q, err))))
        return status;
    return print_answer(q, err);
}

static int run(const options *o)
{
    lm_error err  = { 0 };
    question q    = { .o = o, .dtype = LM_F32, .update = OPTIMIZER_MOMENTUM };
    int      code = EXIT_DONE;

    if (parse(&q, &code) && answer(&q, &err))
        code = report_failure(&err);
    suggestion_free(&q.s);
    design_free(q.d);
    free(q.cost);
    free(q.step);
    free(q.target_of);
    targets_free(&q.t);
    candidates_free(&q.c);
    points_free(&q.p);
    observations_free(q.obs);
    calibration_free(q.known);
    workloads_free(q.loads);
    registry_free(q.reg);
    free(q.batch);
    free(q.nodes);
    free(q.try_batch);
    free(q.try_image);
    free(q.ranks);
    return code;
}

const command cmd_suggest = {
    .name          = "suggest",
    .arguments     = "[OBSERVATIONS.csv]",
    .doc           = "What to measure next, for predictions of what is asked for",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 0,
    .max_arguments = 1,
    .run           = run,
};
