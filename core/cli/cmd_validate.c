/* layermeter validate: judges models on observations. */
#include "cli/cmd_validate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assemble/beside.h"
#include "base/no_memory.h"
#include "counts/feature_set.h"
#include "machine/machine.h"
#include "models/step_model.h"
#include "observe/variants.h"

/* "layermeter,convmeter,nnls,residual,paleo,justus,prenet,nicolai" */
static const char *model_words(char *buffer, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; step_model_compared(i) && n < size; i++)
        n += (size_t)snprintf(buffer + n, size - n, "%s%s", i ? "," : "", step_model_compared(i));
    return buffer;
}

/* "step", or "clocks": N_TIMES. */
static lm_status read_phase(const char *text, phase *out, lm_error *err)
{
    for (size_t k = 0; k < N_PHASES_SHOWN; k++)
        if (!strcmp(phase_name(phases_shown[k]), text)) {
            *out = phases_shown[k];
            return LM_OK;
        }
    if (strcmp(text, PHASE_CLOCKS) != 0)
        return lm_error_set(err, LM_E_ARG,
                            "expected forward, backward, update, sync, grad, backward+grad, step, "
                            "inference or clocks; found '%.40s'",
                            text);
    *out = N_TIMES;
    return LM_OK;
}

#define AT(member) OPTION_AT(validate_options, member)

OPTION_TYPE(type_rule, split_rule, split_rule_parse);
OPTION_TYPE(type_phase, phase, read_phase);

static const option_row option_rows[] = {
    { "leave-out", AT(rule), &type_rule, "WHAT", "network", HELP_HOW,
      "network, device, ranks, batch, image, bytes, clock, kfold=K, a range (below), or none: all stay",
      .excludes = "machine", .refusal = "nothing can be left out of the fit behind --machine" },
    { "seed", AT(seed), .help = "of the parts that kfold draws" },
    { "where", AT(where) },
    { "algorithm", AT(algorithm), &type_text, "NAME", NULL, HELP_WHAT,
      "only these all-reduces: default, nonblocking or ring (default: all but the last two)" },
    { "power", AT(power), &type_flag, NULL, NULL, HELP_WHAT,
      "power and energy beside times, of rows that have power_w" },
    { "machine", AT(machine), .help = "coefficients of this machine file, instead of fits" },
    { "device", AT(device), &type_names, "NAME",
      .help = "what was measured on, by its datasheet: of paleo; A,B where devices are left out" },
    { "devices", AT(devices) },
    { "model", AT(models), &type_names, "LIST", "layermeter,convmeter,nnls", HELP_HOW,
      "models to compare; besides formulas of all-reduces", .words = model_words },
    { "learn", AT(learn) },
    { "features", AT(features), &type_names, "SETS", NULL, HELP_HOW,
      "each set of regressors or features side by side: flops,inputs,flops+inputs,all (below)",
      .excludes = "machine", .refusal = "a machine file has its features" },
    { "layers", AT(layers) },
    { "pooled", AT(form.pooled), &type_flag, NULL, NULL, HELP_OUTPUT, "only all groups together" },
    { "folds", AT(form.folds), &type_flag, NULL, NULL, HELP_OUTPUT,
      "mean error of the folds and its standard deviation, of all groups together" },
    { "points", AT(form.points), &type_flag, NULL, NULL, HELP_OUTPUT,
      "every point as measured and as predicted, see --phase" },
    { "phase", AT(form.q), &type_phase, "PHASE", "step", HELP_OUTPUT,
      "of --points and --plot; clocks: power, energy and time at each clock, with --machine" },
    { "plot", AT(form.plot),
      .help = "draw predicted against measured times: FILE.svg, .png or .pdf" },
    { "format", AT(form.f) },
    { .name = NULL },
};

static const char details[] =
    "What is left out is predicted by fits that did not see it: each network in turn; with ranks each\n"
    "number of nodes; with batch or image each octave of batches or image heights (1, 2..3, 4..7 ...);\n"
    "with bytes each size of all-reduces; with clock each clock that was held (--model nicolai, which\n"
    "learns several). kfold=K leaves out each of K parts of the configurations, drawn\n"
    "at random; batch=64.., ranks=16..512, image=256.. or bytes=1MiB.. that range alone. Rows without\n"
    "such a number stay in every fit. With device there is a file for each machine: 'layermeter transfer'\n"
    "predicts each machine from all the others and its datasheet; learned models (--model\n"
    "layermeter,prenet) learn from the layers of all others. Of single kernels, and streams of them,\n"
    "parts at random are left out (kfold=10 by default), and errors are grouped by kind of operator and\n"
    "pass.\n"
    "\n"
    "MAPE is mean |predicted - measured| / measured; NRMSE is RMSE over the range of the measurements.\n"
    "'in 90 %' is the share of points inside the stated interval, which is made without the points that\n"
    "are left out; 'width' is the median of its high - low over the prediction. 'grad' is all-reduce and\n"
    "update; 'backward+grad' uses the joint fit of a model that has one.\n"
    "\n"
    "With --machine the coefficients were fitted elsewhere: every network here counts as unseen. For\n"
    "all-reduces (phase sync) there are published formulas by name: hockney, log2, paleo_tree and PALEO's\n"
    "other schemes; convmeter's is T_grad with relative weights. 'residual' is layermeter with the trees\n"
    "of 'fit --residual'. These, justus, prenet and nicolai are learned without what is left out; with\n"
    "--machine they are that file's. --layers composes networks of single layers, corrected by the\n"
    "networks that are not left out. --power compares powers and energies on one device: layermeter by\n"
    "what bounds the time, residual with trees, nicolai by forests.\n"
    "\n"
    "--features compares sets of names joined by +, for each model, convmeter unless --model says. Of\n"
    "convmeter, nnls and counts these are regressors: flops, inputs, outputs, layers, weights; constants\n"
    "and nodes stay. Of learned models they are features by name, by what their names begin with\n"
    "(activation), or by group: of prenet baseline, co, cm and ct (operations, memory, time). 'all' takes\n"
    "all. A formula or a type of layer that is left without any is not told.\n";

static const char examples[] =
    "  layermeter validate observations.csv\n"
    "  layermeter validate observations.csv --leave-out batch=32.. --model layermeter --plot batch.svg\n"
    "  layermeter validate new.csv --machine machine.ini --points\n"
    "  layermeter validate observations.csv --model layermeter,paleo --device 'Tesla T4' --pooled\n"
    "  layermeter validate t4.csv p4.csv v100.csv --leave-out device --device T4,P4,V100-SXM2-16GB\n"
    "  layermeter validate observations.csv --leave-out none --pooled --format csv\n"
    "  layermeter validate networks.csv --layers layers.ini --power\n"
    "  layermeter validate observations.csv --features flops,inputs,outputs,all --pooled\n";

static bool all_know_clocks(const option_texts *models)
{
    size_t n = 0;

    while (n < models->n && step_model_knows_clocks(models->at[n]))
        n++;
    return n == models->n;
}

/* Fits with rows left out must not mix element types and settings either. */
static lm_status choose(const validate_options *a, const char *path, points *p, lm_error *err)
{
    lm_status status = a->where ? points_where(p, a->where, err) : LM_OK;

    if (!status && a->algorithm)
        status = points_choose_algorithm(p, a->algorithm, err);
    if (status)
        lm_error_prefix(err, "%s", path);
    else if (!a->machine)
        status = all_know_clocks(&a->models) ? points_check_but_clocks(p, path, err)
                                             : points_check_variants(p, path, err);
    return status;
}

/* `groups` are the groups of errors. Random parts mean nothing to a reader, so they become
 * networks. */
static lm_status split_points(const char *path, const points *p, const split_rule *rule, split *by,
                              split *groups, lm_error *err)
{
    const bool by_network = rule->kind == SPLIT_KFOLD || rule->kind == SPLIT_NONE;
    lm_status  status     = split_new(p, rule, by, err);

    if (status)
        lm_error_prefix(err, "%s", path);
    else
        status =
            split_new(p, by_network ? &(split_rule){ .kind = SPLIT_NETWORK } : rule, groups, err);
    return status;
}

/* A model with a datasheet has no formulas in machine files. */
static lm_status check_model(const options *o, const validate_options *a, const char *name,
                             lm_error *err)
{
    const step_model *by = step_model_comparing(name);
    char              all[200];

    if (!by)
        return misused(o, &a->models, err,
                       "expected some of %s, or of all-reduces hockney,log2,paleo_tree ...; found "
                       "'%.40s'",
                       model_words(all, sizeof all), name);
    if (by->from_datasheet && a->machine)
        return misused(o, &a->machine, err, "%s has no coefficients in machine files", name);
    if (by->from_datasheet && !a->device.n)
        return misused(o, &a->device, err,
                       "%s needs a device; 'layermeter devices' lists those there are", name);
    return LM_OK;
}

/* A command line, and the data it judges. */
typedef struct validation {
    const options          *o;
    const validate_options *a;
    const char             *path;
    observations           *obs;
    calibration            *cal, *layers; /* NULL: fits to the points; no machine file of layers */
    registry               *reg;
    workloads              *loads;
    points                  p;
    split                   by, groups;
    device_list            *devices;
    const device           *on; /* NULL: none was named */
    judged                  judge[JUDGED_MAX];
    char                    name[JUDGED_MAX][100]; /* "convmeter flops+inputs" */
} validation;

static lm_status judge_model(const validation *v, const char *name, comparison *out, lm_error *err)
{
    lm_error        untold = { LM_OK, "" };
    const compared  with   = { .obs     = v->obs,
                               .p       = &v->p,
                               .by      = &v->by,
                               .cal     = v->cal,
                               .machine = v->a->machine,
                               .on      = v->on,
                               .devices = v->a->devices,
                               .learn   = v->a->learn,
                               .untold  = &untold };
    const lm_status status = step_model_comparing(name)->compare(name, &with, out, err);

    if (!status && untold.code)
        fprintf(stderr, "layermeter: %s: not told: %s\n", v->path, untold.text);
    return status;
}

static lm_status open_files(validation *v, lm_error *err)
{
    const validate_options *a      = v->a;
    lm_status               status = observations_load(v->path, &v->obs, err);

    if (!status && a->machine)
        status = machine_load(a->machine, &v->cal, err);
    for (size_t m = 0; m < a->models.n && v->cal && !status; m++)
        if (formula_model_of(a->models.at[m])->residual)
            status = calibration_check_residuals(v->cal, err);
    if (!status && a->layers)
        status = fit_layers_load(a->layers, v->obs, &v->p, &v->layers, err);
    return status;
}

static lm_status open_points(validation *v, lm_error *err)
{
    const validate_options *a = v->a;
    lm_status               status;

    if ((status = open_registry(v->o, &v->reg, err)) ||
        (status = workloads_new(v->reg, &v->loads, err)) ||
        (status = points_from(v->obs, v->loads, &v->p, err)) ||
        (status = choose(a, v->path, &v->p, err)) ||
        (status = split_points(v->path, &v->p, &a->rule, &v->by, &v->groups, err)) || !a->device.n)
        return status;
    status = devices_open(a->devices, &v->devices, err);
    return status ? status : devices_find(v->devices, option_text(v->o, &a->device), &v->on, err);
}

/* A file of kernels alone has no points of networks. */
static lm_status print_launches(const validation *v, lm_error *err)
{
    const split_rule      parts    = { .kind = SPLIT_KFOLD, .k = 10, .seed = v->a->seed };
    const bool            chosen   = option_given(v->o, &v->a->rule) || v->cal;
    const launch_question question = { v->obs, chosen ? &v->a->rule : &parts, v->cal,
                                       v->a->models.at, v->a->models.n };
    launch_errors         errors   = { 0 };
    lm_status             status   = launch_errors_of(&question, &errors, err);

    if (!status)
        status = launch_errors_print(&errors, &v->a->form, err);
    launch_errors_free(&errors);
    return status;
}

static lm_status print_clocks(const validation *v, lm_error *err)
{
    clock_answers a;
    lm_status     status = clock_answers_of(&v->p, v->cal, v->obs->path, &a, err);

    if (!status)
        status = clock_answers_print(&v->p, &a, &v->a->form, err);
    clock_answers_free(&a);
    return status;
}

/* Each model by each set of features. */
static lm_status judge_models(validation *v, size_t *n, lm_error *err)
{
    const option_texts *models = &v->a->models, *sets = &v->a->features;

    *n = 0;
    for (size_t m = 0; m < models->n; m++)
        for (size_t s = 0; s < (sets->n ? sets->n : 1); s++) {
            char         *name = v->name[*n];
            judged *const to   = &v->judge[*n];
            lm_status     status;

            v->p.features = sets->n ? sets->at[s] : NULL;
            snprintf(name, sizeof v->name[0], "%s%s%s", models->at[m], sets->n ? " " : "",
                     sets->n ? sets->at[s] : "");
            *to = (judged){ name, calloc(v->p.n_points + 1, sizeof(comparison)) };
            if (!to->at)
                return no_memory(err);
            (*n)++;
            if ((status = judge_model(v, models->at[m], to->at, err)))
                return status;
        }
    return LM_OK;
}

/* Compares models with measurements. */
static lm_status print_models(validation *v, lm_error *err)
{
    judging   all = { &v->p, &v->by, &v->groups, v->judge, 0, v->a->power };
    lm_status status;

    v->p.layers      = v->layers ? v->layers->layers : NULL;
    v->p.wants_power = all.power;
    if ((status = judge_models(v, &all.n, err)))
        return status;
    if (v->a->rule.kind != SPLIT_NONE && judging_without_intervals(&all))
        fprintf(stderr,
                "layermeter: %s: intervals are unknown: they take %d groups or more beside the one "
                "that is left out\n",
                v->path, INTERVAL_GROUPS);
    status = judging_print(&all, &v->a->form, err);
    if (!status && all.power && !judging_tells_power(&all))
        fprintf(
            stderr,
            "layermeter: --power: nothing to tell: no row has power_w, these models tell none, or, "
            "of whole networks, neither --machine nor --layers is there\n");
    return status;
}

static lm_status validate(validation *v, lm_error *err)
{
    lm_status status;

    if ((status = open_files(v, err)))
        return status;
    if (launches_only(v->obs))
        return print_launches(v, err);
    if ((status = open_points(v, err)))
        return status;
    if (v->a->rule.kind != SPLIT_NONE && (!v->by.n_folds || v->by.points[0] == v->p.n_points))
        fprintf(stderr,
                "layermeter: %s: nothing is left to fit to without what --leave-out %s leaves out: "
                "no predictions\n",
                v->path, option_text(v->o, &v->a->rule));
    print_flagged(v->obs, &v->p);
    return v->a->form.q == N_TIMES ? print_clocks(v, err) : print_models(v, err);
}

static void validation_free(validation *v)
{
    for (size_t m = 0; m < JUDGED_MAX; m++)
        free(v->judge[m].at);
    calibration_free(v->cal);
    calibration_free(v->layers);
    devices_free(v->devices);
    split_free(&v->groups);
    split_free(&v->by);
    points_free(&v->p);
    observations_free(v->obs);
    workloads_free(v->loads);
    registry_free(v->reg);
}

/* Sets of features are of models that have such. */
static lm_status check_features(options *o, validate_options *a, lm_error *err)
{
    static const char *const usual[] = { "convmeter" };
    const char              *known[N_FEATURES];
    lm_error                 why;

    if (!a->features.n)
        return LM_OK;
    if (a->rule.kind == SPLIT_DEVICE)
        return misused(o, &a->features, err, "not where devices are left out");
    if (!option_given(o, &a->models))
        a->models = (option_texts){ usual, 1 };
    for (size_t m = 0; m < a->models.n; m++) {
        const char  *name = a->models.at[m];
        const size_t at   = form_find(name, PHASE_FORWARD);

        if (layerwise_find(name))
            continue;
        if (at == n_forms || !forms[at].n_features)
            return misused(o, &a->features, err,
                           "%s has no features to choose from; convmeter, nnls, counts and learned "
                           "models do",
                           name);
        for (size_t s = 0; s < a->features.n; s++)
            if (feature_set_check(a->features.at[s], known, feature_choices(known), name, &why))
                return misused(o, &a->features, err, "%s", why.text);
    }
    return LM_OK;
}

static lm_status check(options *o, lm_error *err)
{
    validate_options *a = o->filled;

    a->rule.seed = a->seed;
    if (a->machine)
        a->rule.kind = SPLIT_NONE;
    if (a->form.q == N_TIMES && (!a->machine || a->form.plot))
        return misused(o, &a->form.q, err,
                       "clocks are told by a machine file (--machine), in tables: no --plot");
    if (check_features(o, a, err))
        return LM_E_ARG;
    if (a->models.n * (a->features.n ? a->features.n : 1) > JUDGED_MAX)
        return misused(o, &a->models, err, "more than %d", JUDGED_MAX);
    if (a->rule.kind == SPLIT_DEVICE)
        return validate_machines_check(o, err);
    if (o->n_arguments > 1)
        return lm_error_set(err, LM_E_ARG, "%s: several files are for --leave-out device",
                            o->argument[1]);
    for (size_t m = 0; m < a->models.n; m++)
        if (check_model(o, a, a->models.at[m], err))
            return LM_E_ARG;
    return LM_OK;
}

static lm_status run(const options *o, lm_error *err)
{
    const validate_options *a = o->filled;
    validation              v = { .o = o, .a = a, .path = o->argument[0] };
    lm_status               status;

    if (a->rule.kind == SPLIT_DEVICE)
        return validate_machines(o, err);
    status = validate(&v, err);
    validation_free(&v);
    return status;
}

const command cmd_validate =
    COMMAND("validate", "OBSERVATIONS.csv...",
            "Compare the models on observations that were left out of their fits", validate_options,
            1, VALIDATE_DEVICES, check, run);
