/* layermeter validate: judges models on observations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assemble/validation.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "counts/feature_set.h"
#include "layerwise/layerwise.h"
#include "models/step_model.h"
#include "report/errors_view.h"
#include "report/fit_notes.h"

typedef struct validate_options {
    split_rule   rule; /* without the seed, until they are checked */
    uint64_t     seed;
    const char  *machine, *where, *algorithm, *learn, *layers, *devices;
    option_texts models, features, device; /* several devices: where they are left out */
    bool         power;
    errors_form  form;
} validate_options;

/* Word of `--phase` for powers at each clock. */
#define PHASE_CLOCKS "clocks"

/* "layermeter,convmeter,nnls,residual,paleo,justus,prenet,nicolai" */
static const char *model_words(char *buffer, size_t size)
{
    *buffer = '\0';
    for (size_t i = 0; step_model_compared(i); i++)
        text_add(buffer, size, "%s%s", i ? "," : "", step_model_compared(i));
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

VALUE_TYPE(type_rule, split_rule, split_rule_parse);
VALUE_TYPE(type_phase, phase, read_phase);

static const option_row option_rows[] = {
    { "leave-out", AT(rule), &type_rule, "WHAT", "network", HELP_HOW,
      "what is left out in turn: network, device, ranks, batch, image, bytes, clock, kfold=K, a range "
      "(below), or none",
      .excludes = "machine",
      .refusal =
          "with --machine nothing is fitted, so nothing can be left out: give one of the two" },
    { "seed", AT(seed), .help = "seed of the random parts of kfold" },
    { "where", AT(where) },
    { "algorithm", AT(algorithm), &type_text, "NAME", NULL, HELP_WHAT,
      "only these all-reduces: default, nonblocking or ring (default: all but the last two)" },
    { "power", AT(power), &type_flag, NULL, NULL, HELP_WHAT,
      "also compare power and energy, for rows with power_w" },
    { "machine", AT(machine), .help = "use the coefficients of this machine file instead of fits" },
    { "device", AT(device), &type_names, "NAME",
      .help = "measured device, for paleo; A,B with --leave-out device" },
    { "devices", AT(devices) },
    { "model", AT(models), &type_names, "LIST", "layermeter,convmeter,nnls", HELP_HOW,
      "models to compare, and formulas of all-reduces (below)", .words = model_words },
    { "learn", AT(learn) },
    { "features", AT(features), &type_names, "SETS", NULL, HELP_HOW,
      "compare sets of regressors or features: flops,inputs,flops+inputs,all (below)",
      .excludes = "machine", .refusal = "a machine file has its features" },
    { "layers", AT(layers) },
    { "pooled", AT(form.pooled), &type_flag, NULL, NULL, HELP_OUTPUT,
      "print only the error over all groups" },
    { "folds", AT(form.folds), &type_flag, NULL, NULL, HELP_OUTPUT,
      "mean error of the folds and its standard deviation, over all groups" },
    { "points", AT(form.points), &type_flag, NULL, NULL, HELP_OUTPUT,
      "print each point as measured and as predicted (--phase)" },
    { "phase", AT(form.q), &type_phase, "PHASE", "step", HELP_OUTPUT,
      "phase of --points and --plot; clocks: power, energy and time at each clock, with --machine" },
    { "plot", AT(form.plot),
      .help = "plot predicted against measured times: FILE.svg, .png or .pdf" },
    { "format", AT(form.f) },
    { .name = NULL },
};

static const char details[] =
    "Each group is left out in turn, and a fit to the others predicts it. --leave-out chooses the groups:\n"
    "  network: each network\n"
    "  ranks: each number of nodes\n"
    "  batch, image: each range of batches or image heights up to a factor of 2 (1, 2..3, 4..7 ...)\n"
    "  bytes: each size of all-reduces\n"
    "  clock: each fixed clock (--model nicolai, which learns several)\n"
    "  kfold=K: each of K random parts of the configurations\n"
    "  batch=64.., ranks=16..512, image=256.. or bytes=1MiB..: only that range\n"
    "  device: each machine, with one file each. 'layermeter transfer' predicts it from all others and\n"
    "    its datasheet; learned models (--model layermeter,prenet) learn from the layers of all others.\n"
    "\n"
    "Rows without the value that forms the groups stay in every fit. For single kernels and sequences of\n"
    "them, random parts are left out (kfold=10 by default); errors are grouped by kind of operator and\n"
    "pass.\n"
    "\n"
    "MAPE is the mean of |predicted - measured| / measured. NRMSE is RMSE divided by the range of the\n"
    "measurements. 'in 90 %' is the share of held-out points inside the interval; the interval does not\n"
    "use these points. 'width' is the median of (high - low) / predicted. CSV and JSON also have a score\n"
    "of the intervals (Gneiting and Raftery 2007, of logarithms, in percent). Wide intervals and missed\n"
    "points raise the score. 'grad' is all-reduce and update. 'backward+grad' uses the joint fit, if a\n"
    "model has one. 'p95' is the 95th percentile of the repetitions of inference.\n"
    "\n"
    "With --machine the coefficients come from that file: every network here counts as held out. For\n"
    "all-reduces (phase sync) the published formulas hockney, log2, paleo_tree and PALEO's other schemes\n"
    "are models, too; convmeter's is T_grad with relative weights. 'residual' is layermeter with the\n"
    "trees of 'fit --residual'. residual, justus, prenet and nicolai learn without the held-out rows;\n"
    "with --machine they come from that file. --layers predicts networks from single layers. The networks\n"
    "that are not left out correct it. Plain sums (--machine) have no interval. --power compares power\n"
    "and energy on one device: layermeter uses the bounds of the time, residual trees, nicolai forests.\n"
    "\n"
    "--features compares sets of names joined by +, for each model (default: convmeter). For convmeter,\n"
    "nnls and counts the names are regressors: flops, inputs, outputs, layers, weights; constants and\n"
    "nodes are always used. For learned models the names are features, the beginning of their names\n"
    "(activation), or groups; prenet's groups are baseline, co, cm and ct (operations, memory, time).\n"
    "'all' means all. A formula or layer type without any of the features has no prediction.\n";

static const char examples[] =
    "  layermeter validate observations.csv\n"
    "  layermeter validate observations.csv --leave-out batch=32.. --model layermeter --plot batch.svg\n"
    "  layermeter validate new.csv --machine machine.ini --points\n"
    "  layermeter validate observations.csv --model layermeter,paleo --device 'Tesla T4' --pooled\n"
    "  layermeter validate t4.csv p4.csv v100.csv --leave-out device --device T4,P4,V100-SXM2-16GB\n"
    "  layermeter validate observations.csv --leave-out none --pooled --format csv\n"
    "  layermeter validate networks.csv --layers layers.ini --power\n"
    "  layermeter validate observations.csv --features flops,inputs,outputs,all --pooled\n";

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
                       "%s needs a device; 'layermeter devices' lists the known ones", name);
    return LM_OK;
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

/* Checks that a model can be carried over: the default model and models that learn from datasheets
 * can. */
static lm_status check_carried(const validate_options *a, const char *name, lm_error *err)
{
    const layerwise_kind *kind = layerwise_find(name);
    double                setting[LAYERWISE_SETTINGS];
    char                  learned[100];

    if (kind && layerwise_settings(kind, a->learn, setting, err)) {
        lm_error_prefix(err, "--learn");
        return err->code;
    }
    if (step_model_carried(name))
        return LM_OK;
    return lm_error_set(err, LM_E_ARG,
                        "--leave-out device: only the models %s,%s are carried over to other "
                        "devices; found '%.40s'",
                        DEFAULT_MODEL, layerwise_names(",", learned, sizeof learned), name);
}

static lm_status check_machines(options *o, lm_error *err)
{
    validate_options *a = o->filled;
    const size_t      n = (size_t)o->n_arguments;

    if (!option_given(o, &a->models))
        a->models.n = 1; /* only the default model of the usual list */
    if (n < 2)
        return lm_error_set(
            err, LM_E_ARG,
            "--leave-out device: needs a file for each machine, two or more, and --device A,B to name them");
    if (a->device.n != n)
        return lm_error_set(
            err, LM_E_ARG,
            "--leave-out device: %zu of --device for %zu files: each needs one, in their order",
            a->device.n, n);
    for (size_t i = 0; i < a->models.n; i++)
        if (check_carried(a, a->models.at[i], err))
            return LM_E_ARG;
    return LM_OK;
}

static lm_status check(options *o, lm_error *err)
{
    validate_options *a = o->filled;

    a->rule.seed = a->seed;
    if (a->machine)
        a->rule.kind = SPLIT_NONE;
    if (a->form.q == N_TIMES && (!a->machine || a->form.plot))
        return misused(o, &a->form.q, err, "clocks needs --machine and has no plot");
    if (check_features(o, a, err))
        return LM_E_ARG;
    if (a->models.n * (a->features.n ? a->features.n : 1) > JUDGED_MAX)
        return misused(o, &a->models, err, "more than %d", JUDGED_MAX);
    if (a->rule.kind == SPLIT_DEVICE)
        return check_machines(o, err);
    if (o->n_arguments > 1)
        return lm_error_set(err, LM_E_ARG, "%s: several files are for --leave-out device",
                            o->argument[1]);
    for (size_t m = 0; m < a->models.n; m++)
        if (check_model(o, a, a->models.at[m], err))
            return LM_E_ARG;
    return LM_OK;
}

static validation_question question_of(const options *o)
{
    const validate_options *a = o->filled;

    return (validation_question){ .paths     = { o->argument, (size_t)o->n_arguments },
                                  .models    = a->models,
                                  .features  = a->features,
                                  .devices   = a->device,
                                  .sheets    = a->devices,
                                  .where     = a->where,
                                  .algorithm = a->algorithm,
                                  .machine   = a->machine,
                                  .layers    = a->layers,
                                  .learn     = a->learn,
                                  .rule      = a->rule,
                                  .rule_told = option_given(o, &a->rule),
                                  .power     = a->power,
                                  .clocks    = a->form.q == N_TIMES };
}

/* Names rows that were not used and networks without a prediction. */
static void say(const options *o, const validation_question *q, const validation *v)
{
    const validate_options *a = o->filled;

    if (validation_without_fit(v, q))
        note("%s: --leave-out %s leaves no rows for the fit: no predictions", o->argument[0],
             option_text(o, &a->rule));
    if (v->chosen)
        fit_notes_flagged(v->obs, &v->p);
    for (size_t i = 0; i < v->devices.n && v->all.n; i++)
        fit_notes_flagged(v->devices.machine[i].obs, &v->devices.machine[i].p);
    for (size_t m = 0; m < v->all.n; m++)
        if (v->untold[m].code)
            note("%s: no prediction: %s", o->argument[0], v->untold[m].text);
}

/* Compares models with measurements. */
static lm_status print_models(const options *o, const validation *v, lm_error *err)
{
    const validate_options *a    = o->filled;
    const bool              one  = v->chosen;
    bool                    told = false; /* is it said why nothing is predicted? */
    size_t                  predicted, stated;
    lm_status               status;

    judging_count(&v->all, &predicted, &stated);
    for (size_t m = 0; m < v->all.n; m++)
        told |= v->untold[m].code != LM_OK;
    if (a->machine && !predicted && !told)
        note("%s: these models predict none of the times of %s", a->machine, o->argument[0]);
    if (one && a->rule.kind != SPLIT_NONE && predicted && !stated)
        note(
            "%s: intervals are unknown: they need %d groups or more besides the one that is left out",
            o->argument[0], INTERVAL_GROUPS);
    status = judging_print(&v->all, &a->form, err);
    if (!status && v->all.power && !judging_tells_power(&v->all))
        note("--power: nothing to tell: no row has power_w, these models tell none, or, of "
             "whole networks, neither --machine nor --layers is there");
    return status;
}

static lm_status print(const options *o, const validation *v, lm_error *err)
{
    const validate_options *a = o->filled;

    switch (v->what) {
    case VALIDATED_MODELS: return print_models(o, v, err);
    case VALIDATED_LAUNCHES: return launch_errors_print(&v->launches, &a->form, err);
    case VALIDATED_CLOCKS: return clock_answers_print(&v->p, &v->clocks, &a->form, err);
    case VALIDATED_NOTHING: break;
    }
    return LM_OK;
}

static lm_status run(const options *o, lm_error *err)
{
    const validate_options *a      = o->filled;
    validation_question     q      = question_of(o);
    const char             *on     = option_text(o, &a->device);
    registry               *reg    = NULL;
    workloads              *loads  = NULL;
    validation             *v      = calloc(1, sizeof *v);
    lm_status               status = v ? open_registry(o, &reg, err) : no_memory(err);

    if (q.rule.kind != SPLIT_DEVICE)
        q.devices = (word_list){ &on, on != NULL }; /* a name with commas, too */
    if (!status && !(status = workloads_new(reg, &loads, err))) {
        status = validation_of(&q, loads, v, err);
        say(o, &q, v);
        if (!status)
            status = print(o, v, err);
    }
    if (v)
        validation_free(v);
    free(v);
    workloads_free(loads);
    registry_free(reg);
    return status;
}

const command cmd_validate =
    COMMAND("validate", "OBSERVATIONS.csv...",
            "Compare the models on observations that were left out of their fits", validate_options,
            1, VALIDATE_DEVICES, check, run);
