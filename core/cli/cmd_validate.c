/* layermeter validate: how good the models are on observations. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "fit/validate.h"
#include "fit/variants.h"
#include "report/table.h"

enum { LEAVE_OUT, SEED, MACHINE, WHERE, MODEL, POOLED, POINTS, FORMAT };

static const option_spec specs[] = {
    [LEAVE_OUT] = { "leave-out", "WHAT", "network",
                    "network, ranks, batch, image, kfold=K or a range: see below; none: fit to all" },
    [SEED]      = { "seed", "N", "1", "of the parts that kfold draws" },
    [MACHINE]   = { "machine", "FILE", NULL, "coefficients of this machine file, instead of fits" },
    [WHERE]     = { "where", "WORDS", NULL,
                    "these networks only: dtype=bf16, layout=nhwc ... (all must hold)" },
    [MODEL]     = { "model", "LIST", "layermeter,convmeter,nnls", "models, side by side" },
    [POOLED]    = { "pooled", NULL, NULL, "only all networks together" },
    [POINTS]    = { "points", NULL, NULL, "every point: the step as measured and as predicted" },
    [FORMAT]    = { "format", "FORMAT", "table", "table, csv or json" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "What is left out is predicted by fits that did not see it: each network in turn; with ranks each\n"
    "number of nodes; with batch or image each octave of batches or image heights (1, 2..3, 4..7 ...);\n"
    "with kfold=K each of K parts of the configurations, drawn at random; with batch=64.., ranks=16..512\n"
    "or image=256.. that range alone, by all that lies outside it. What has no such number, as an\n"
    "all-reduce by itself has no batch, stays in every fit.\n"
    "MAPE is mean |predicted - measured| / measured, NRMSE is RMSE over the range of the measurements.\n"
    "With --machine the coefficients were fitted elsewhere, so every network here counts as unseen.\n"
    "'grad' is all-reduce and update; 'backward+grad' uses the joint fit where a model has one.\n";

static const char examples[] =
    "  layermeter validate observations.csv\n"
    "  layermeter validate new.csv --machine machine.ini --points\n"
    "  layermeter validate observations.csv --leave-out batch=32.. --model layermeter\n"
    "  layermeter validate observations.csv --leave-out none --pooled --format csv\n";

static void add_columns(table *t)
{
    table_column(t, "group", "group", 0);
    table_column(t, "phase", "phase", 0);
    table_column(t, "model", "model", 0);
    table_column(t, "points", "points", 0);
    table_column(t, "r2", "R2", 4);
    table_column(t, "rmse_ms", "RMSE [ms]", 3);
    table_column(t, "nrmse", "NRMSE", 3);
    table_column(t, "mape_percent", "MAPE [%]", 1);
    table_column(t, "median_ape_percent", "median [%]", 1);
}

static void add_row(table *t, const char *group, quantity q, const char *model,
                    const stats_errors *e)
{
    table_text(t, group);
    table_text(t, quantity_name(q));
    table_text(t, model);
    table_count(t, e->n);
    table_real(t, e->r2);
    table_real(t, 1e3 * e->rmse);
    table_real(t, e->nrmse);
    table_real(t, 100 * e->mape);
    table_real(t, 100 * e->median_ape);
}

typedef struct judged {
    const char *model;
    comparison *at;
} judged;

static void fill(const points *p, const split *groups, const judged *j, size_t n, bool pooled,
                 table *t)
{
    add_columns(t);
    for (size_t g = pooled ? groups->n_folds : 0; g <= groups->n_folds; g++)
        for (quantity q = 0; q < N_QUANTITIES; q++)
            for (size_t m = 0; m < n; m++) {
                const bool         all = g == groups->n_folds;
                const stats_errors e =
                    validate_errors(p, j[m].at, q, groups, all ? SPLIT_ALWAYS : g);

                if (e.n)
                    add_row(t, all ? "(all)" : groups->name[g], q, j[m].model, &e);
            }
}

/* One row a point: the step as measured, and by each model with its error. */
static void list_points(const points *p, const judged *j, size_t n, table *t)
{
    char key[80], title[80];

    table_column(t, "network", "network", 0);
    table_column(t, "input", "input", 0);
    table_column(t, "batch", "batch", 0);
    table_column(t, "nodes", "nodes", 0);
    table_column(t, "step_ms", "measured step [ms]", 2);
    for (size_t m = 0; m < n; m++) {
        snprintf(key, sizeof key, "%s_ms", j[m].model);
        snprintf(title, sizeof title, "%s [ms]", j[m].model);
        table_column(t, key, title, 2);
        snprintf(key, sizeof key, "%s_error_percent", j[m].model);
        table_column(t, key, "error [%]", 1);
    }
    for (size_t i = 0; i < p->n_points; i++) {
        const observation *row      = p->point[i].row;
        const double       measured = n ? j[0].at[i].measured[QUANTITY_STEP] : NAN;

        if (isnan(measured))
            continue;
        table_text(t, row->name);
        table_text(t, row->input);
        table_count(t, (uint64_t)row->batch);
        table_count(t, (uint64_t)row->ranks);
        table_real(t, 1e3 * measured);
        for (size_t m = 0; m < n; m++) {
            const double predicted = j[m].at[i].predicted[QUANTITY_STEP];

            table_real(t, 1e3 * predicted);
            table_real(t, 100 * (predicted - measured) / measured);
        }
    }
}

#define MODELS_MAX 8

/* Fits that leave something out must not mix element types and settings either. */
static lm_status choose(const options *o, points *p, lm_error *err)
{
    lm_status status = o->value[WHERE] ? points_where(p, o->value[WHERE], err) : LM_OK;

    if (status)
        lm_error_prefix(err, "%s", o->argument[0]);
    else if (!o->value[MACHINE])
        status = points_check_variants(p, o->argument[0], err);
    return status;
}

/* What is left out, by the command line; false: *code says why not. */
static bool choose_rule(const options *o, split_rule *out, int *code)
{
    lm_error err = { 0 };

    if (o->value[MACHINE] && o->given[LEAVE_OUT]) {
        lm_error_set(&err, LM_E_ARG, "nothing can be left out of the fit behind --machine");
        *code = report_misuse("--leave-out", &err);
        return false;
    }
    if (split_rule_parse(o->value[MACHINE] ? "none" : o->value[LEAVE_OUT], out, &err)) {
        *code = report_misuse("--leave-out", &err);
        return false;
    }
    if (text_uint(o->value[SEED], &out->seed, &err)) {
        *code = report_misuse("--seed", &err);
        return false;
    }
    return true;
}

/* `groups`: what errors are told by. Parts drawn at random tell nothing, networks do. */
static lm_status split_points(const options *o, const points *p, const split_rule *rule, split *by,
                              split *groups, lm_error *err)
{
    const bool by_network = rule->kind == SPLIT_KFOLD || rule->kind == SPLIT_NONE;
    lm_status  status     = split_new(p, rule, by, err);

    if (status)
        lm_error_prefix(err, "%s", o->argument[0]);
    else
        status =
            split_new(p, by_network ? &(split_rule){ .kind = SPLIT_NETWORK } : rule, groups, err);
    return status;
}

static int run(const options *o)
{
    lm_error      err               = { 0 };
    registry     *reg               = NULL;
    workloads    *loads             = NULL;
    observations *obs               = NULL;
    points        p                 = { 0 };
    table        *t                 = table_new();
    judged        judge[MODELS_MAX] = { { 0 } };
    char          list[128], *name[MODELS_MAX];
    size_t        n    = 0;
    int           code = EXIT_DONE;
    calibration  *cal  = NULL;
    split         by = { .n_folds = 0 }, groups = { .n_folds = 0 };
    split_rule    rule;
    format        f;

    if (format_parse(o->value[FORMAT], &f, &err)) {
        code = report_misuse("", &err);
        goto out;
    }
    if (!choose_rule(o, &rule, &code))
        goto out;
    snprintf(list, sizeof list, "%s", o->value[MODEL]);
    n = text_split(list, ',', name, MODELS_MAX);
    for (size_t m = 0; m < n; m++)
        if (!model_known(name[m])) {
            lm_error_set(&err, LM_E_ARG,
                         "expected some of layermeter,convmeter,nnls; found '%.40s'", name[m]);
            n    = 0;
            code = report_misuse("--model", &err);
            goto out;
        }
    if (open_registry(o, &reg, &err) || workloads_new(reg, &loads, &err) ||
        observations_load(o->argument[0], &obs, &err) || points_from(obs, loads, &p, &err) ||
        choose(o, &p, &err) || split_points(o, &p, &rule, &by, &groups, &err) ||
        (o->value[MACHINE] && calibration_load(o->value[MACHINE], &cal, &err))) {
        code = report_failure(&err);
        goto out;
    }
    if (rule.kind != SPLIT_NONE && (!by.n_folds || by.points[0] == p.n_points))
        fprintf(stderr,
                "layermeter: %s: nothing is left to fit to without what --leave-out %s leaves out: "
                "no predictions\n",
                o->argument[0], o->value[LEAVE_OUT]);
    print_flagged(obs, &p);
    for (size_t m = 0; m < n; m++) {
        judge[m] = (judged){ name[m], calloc(p.n_points + 1, sizeof(comparison)) };
        if (!judge[m].at || validate_model(&p, name[m], &by, cal, judge[m].at, &err)) {
            code = report_failure(&err);
            goto out;
        }
    }
    if (o->value[POINTS])
        list_points(&p, judge, n, t);
    else
        fill(&p, &groups, judge, n, o->value[POOLED] != NULL, t);
    if (table_print(t, f, stdout, &err))
        code = report_failure(&err);
out:
    for (size_t m = 0; m < MODELS_MAX; m++)
        free(judge[m].at);
    table_free(t);
    calibration_free(cal);
    split_free(&groups);
    split_free(&by);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
    registry_free(reg);
    return code;
}

const command cmd_validate = {
    .name          = "validate",
    .arguments     = "OBSERVATIONS.csv",
    .doc           = "Compare the models on observations that were left out of their fits",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
