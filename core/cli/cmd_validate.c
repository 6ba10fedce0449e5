/* layermeter validate: how good the models are on observations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "baselines/compare_paleo.h"
#include "cli/commands.h"
#include "cli/fit_layers.h"
#include "cli/learned_models.h"
#include "cli/validate_clocks.h"
#include "cli/validate_devices.h"
#include "cli/validate_launches.h"
#include "cli/validate_machines.h"
#include "cli/validate_print.h"
#include "fit/singles.h"
#include "observe/variants.h"

enum {
    LEAVE_OUT,
    SEED,
    MACHINE,
    WHERE,
    ALGORITHM,
    MODEL,
    LEARN,
    LAYERS,
    POWER,
    DEVICE,
    DEVICES,
    POOLED,
    POINTS,
    PHASE,
    PLOT,
    FORMAT
};

static const option_spec specs[] = {
    [LEAVE_OUT] = { "leave-out", "WHAT", "network",
                    "network, device, ranks, batch, image, bytes, kfold=K, a range (below), none: fit to all" },
    [SEED]      = { "seed", "N", "1", "of the parts that kfold draws" },
    [MACHINE]   = { "machine", "FILE", NULL, "coefficients of this machine file, instead of fits" },
    [WHERE]     = { "where", "WORDS", NULL,
                    "these networks only: dtype=bf16, layout=nhwc ... (all must hold)" },
    [ALGORITHM] = { "algorithm", "NAME", NULL,
                    "these all-reduces only: default, nonblocking or ring; else all but the last two" },
    [MODEL]     = { "model", "LIST", "layermeter,convmeter,nnls",
                    "models, side by side; residual, justus, prenet and nicolai too, and paleo of a --device" },
    [LEARN]     = OPTION_LEARN,
    [LAYERS]    = { "layers", "FILE", NULL,
                    "machine file of single layers on the same device, of which networks are composed" },
    [POWER]   = { "power", NULL, NULL, "power and energy beside times, of rows that have power_w" },
    [DEVICE]  = { "device", "NAME", NULL,
                  "what was measured on, by its datasheet: of paleo; a list where devices are left out" },
    [DEVICES] = OPTION_DEVICES,
    [POOLED]  = { "pooled", NULL, NULL, "only all groups together" },
    [POINTS]  = { "points", NULL, NULL, "every point as measured and as predicted, see --phase" },
    [PHASE]   = { "phase", "PHASE", "step",
                  "of --points and --plot; clocks: power, energy, time at each clock, with --machine" },
    [PLOT]    = { "plot", "FILE", NULL,
                  "draw predicted against measured times: FILE.svg, .png or .pdf" },
    [FORMAT]  = { "format", "FORMAT", "table", "table, csv or json" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "What is left out is predicted by fits that did not see it: each network in turn; with ranks each\n"
    "number of nodes; with batch or image each octave of batches or image heights (1, 2..3, 4..7 ...);\n"
    "with bytes each size of all-reduces by themselves;\n"
    "with kfold=K each of K parts of the configurations, drawn at random; with batch=64.., ranks=16..512,\n"
    "image=256.. or bytes=1MiB.. that range alone, by all that lies outside it. What has no such number, as an\n"
    "all-reduce by itself has no batch, stays in every fit. With device there is a file for each machine;\n"
    "each machine is predicted by what 'layermeter transfer' makes of all the others and its datasheet, and\n"
    "by learned models (--model layermeter,prenet) of all others' layers, whose datasheets are features.\n"
    "MAPE is mean |predicted - measured| / measured, NRMSE is RMSE over the range of the measurements.\n"
    "'in 90 %' is the share of points inside the stated interval, which nothing that was left out with\n"
    "them took part in, and 'width' the median of its high - low over the prediction.\n"
    "Of single kernels, and streams of them, parts at random are left out (kfold=10 if not said); errors\n"
    "are told by kind of operator and pass.\n"
    "With --machine the coefficients were fitted elsewhere, so every network here counts as unseen.\n"
    "Of all-reduces (phase sync) there are formulas of others by name, too: hockney, log2, paleo_tree and\n"
    "PALEO's other schemes; convmeter's is T_grad with relative weights.\n"
    "The model residual is layermeter with what its prices of single layers and kernels leave over, learned\n"
    "without what is left out (layermeter fit --residual); with --machine as that file has it.\n"
    "So are justus and prenet learned without what is left out; with --machine they are that file's\n"
    "(fit --model, --learn).\n"
    "--layers names a machine file that single layers on the same device were fitted to: layermeter then\n"
    "composes networks of their layers, corrected by the networks that are not left out.\n"
    "--power tells powers and energies beside times, of one device, where rows have power_w: layermeter by\n"
    "what the time goes to, residual with trees on what that leaves over, nicolai by forests.\n"
    "'grad' is all-reduce and update; 'backward+grad' uses the joint fit where a model has one.\n";

static const char examples[] =
    "  layermeter validate observations.csv\n"
    "  layermeter validate observations.csv --leave-out batch=32.. --model layermeter --plot batch.svg\n"
    "  layermeter validate new.csv --machine machine.ini --points\n"
    "  layermeter validate observations.csv --model layermeter,paleo --device 'Tesla T4' --pooled\n"
    "  layermeter validate t4.csv p100.csv v100.csv --leave-out device --device T4,P100-PCIE-16GB,V100-SXM2-16GB\n"
    "  layermeter validate observations.csv --leave-out none --pooled --format csv\n"
    "  layermeter validate networks.csv --layers layers.ini --power\n";

/* Fits that leave something out must not mix element types and settings either. */
static lm_status choose(const options *o, points *p, lm_error *err)
{
    lm_status status = o->value[WHERE] ? points_where(p, o->value[WHERE], err) : LM_OK;

    if (!status && o->value[ALGORITHM])
        status = points_choose_algorithm(p, o->value[ALGORITHM], err);
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

static bool choose_phase(const options *o, quantity *out, int *code)
{
    lm_error err = { 0 };

    for (quantity q = 0; q < N_QUANTITIES; q++)
        if (!strcmp(quantity_name(q), o->value[PHASE])) {
            *out = q;
            return true;
        }
    if (!strcmp(o->value[PHASE], PHASE_CLOCKS) && o->value[MACHINE] && !o->value[PLOT]) {
        *out = N_QUANTITIES;
        return true;
    }
    if (!strcmp(o->value[PHASE], PHASE_CLOCKS))
        lm_error_set(&err, LM_E_ARG,
                     "clocks are told by a machine file (--machine), in tables: no --plot");
    else
        lm_error_set(&err, LM_E_ARG,
                     "expected forward, backward, update, sync, grad, backward+grad, step, "
                     "inference or clocks; found '%.40s'",
                     o->value[PHASE]);
    *code = report_misuse("--phase", &err);
    return false;
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

/* PALEO has no formulas in machine files: its percents of peak are fitted to these points, and it
 * takes a datasheet. */
static bool choose_model(const options *o, const char *name, int *code)
{
    const bool paleo = !strcmp(name, "paleo");
    lm_error   err   = { 0 };
    char       learned[100];

    if (paleo && (!o->value[DEVICE] || o->value[MACHINE])) {
        lm_error_set(&err, LM_E_ARG,
                     o->value[MACHINE]
                         ? "paleo has no coefficients in machine files"
                         : "paleo needs a device; 'layermeter devices' lists those there are");
        *code = report_misuse(o->value[MACHINE] ? "--machine" : "--device", &err);
        return false;
    }
    if (paleo || model_known(name) || !strcmp(name, MODEL_RESIDUAL) || layerwise_find(name) ||
        sync_baseline_parse(name) < N_SYNC_BASELINES)
        return true;
    lm_error_set(
        &err, LM_E_ARG,
        "expected some of layermeter,convmeter,nnls,residual,paleo,%s, or of all-reduces hockney,log2,"
        "paleo_tree ...; found '%.40s'",
        layerwise_names(",", learned, sizeof learned), name);
    *code = report_misuse("--model", &err);
    return false;
}

/* A command line, and what it is asked of. */
typedef struct validation {
    const options *o;
    split_rule     rule;
    judging_form   form;
    char           list[128], *name[JUDGED_MAX]; /* of models, n_models of them */
    size_t         n_models;

    observations *obs;
    calibration  *cal, *layers; /* NULL: fits to the points; no file of layers */
    registry     *reg;
    workloads    *loads;
    points        p;
    split         by, groups;
    device_list  *devices;
    const device *on; /* NULL: none was named */
    judged        judge[JUDGED_MAX];
} validation;

static lm_status judge_learned(const validation *v, const layerwise_kind *kind, comparison *out,
                               lm_error *err)
{
    layerwise_source from = { v->obs, &v->p, v->on };
    layerwise_model *m    = NULL;
    device_list     *list = NULL;
    double           setting[LAYERWISE_SETTINGS];
    lm_status        status = LM_OK;

    if (!from.on)
        status = learned_models_device(NULL, observations_provenance(v->obs, "device"),
                                       v->o->value[DEVICES], &list, &from.on, err);
    if (!status && v->cal) {
        status = learned_models_read(v->cal, v->o->value[MACHINE], kind, &m, err);
        if (!status)
            status = compare_by_layerwise(m, &from, out, err);
    } else if (!status && !(status = layerwise_settings(kind, v->o->value[LEARN], setting, err))) {
        status = compare_layerwise(kind, setting, &from, &v->by, out, err);
    }
    layerwise_free(m);
    devices_free(list);
    return status;
}

static lm_status judge_model(const validation *v, const char *name, comparison *out, lm_error *err)
{
    const layerwise_kind *kind = layerwise_find(name);
    const points         *p    = &v->p;
    lm_status             status;

    if (!strcmp(name, "paleo"))
        return compare_paleo(p, &v->by, v->reg, v->on, out, err);
    status =
        kind ? judge_learned(v, kind, out, err) : compare_points(p, name, &v->by, v->cal, out, err);
    if (!status && !v->cal && !kind)
        status = compare_left_out(p, name, &v->by, out, err);
    return status;
}

/* False: *code says what is wrong. */
static bool read_words(validation *v, int *code)
{
    const options *o   = v->o;
    lm_error       err = { 0 };

    if (format_parse(o->value[FORMAT], &v->form.f, &err)) {
        *code = report_misuse("", &err);
        return false;
    }
    v->form.points = o->value[POINTS] != NULL;
    v->form.pooled = o->value[POOLED] != NULL;
    v->form.plot   = o->value[PLOT];
    if (!choose_rule(o, &v->rule, code) || !choose_phase(o, &v->form.q, code))
        return false;
    if (v->rule.kind == SPLIT_DEVICE)
        return true;
    if (o->n_arguments > 1) {
        lm_error_set(&err, LM_E_ARG, "several files are for --leave-out device");
        *code = report_misuse(o->argument[1], &err);
        return false;
    }
    snprintf(v->list, sizeof v->list, "%s", o->value[MODEL]);
    v->n_models = text_split(v->list, ',', v->name, JUDGED_MAX);
    for (size_t m = 0; m < v->n_models; m++)
        if (!choose_model(o, v->name[m], code))
            return false;
    return true;
}

static lm_status open_files(validation *v, lm_error *err)
{
    const options *o = v->o;
    lm_status      status;

    if (!(status = observations_load(o->argument[0], &v->obs, err)) && o->value[MACHINE])
        status = calibration_load(o->value[MACHINE], &v->cal, err);
    if (!status && o->value[LAYERS])
        status = fit_layers_load(o->value[LAYERS], v->obs, &v->p, &v->layers, err);
    return status;
}

static lm_status open_points(validation *v, lm_error *err)
{
    const options *o = v->o;
    lm_status      status;

    if ((status = open_registry(o, &v->reg, err)) ||
        (status = workloads_new(v->reg, &v->loads, err)) ||
        (status = points_from(v->obs, v->loads, &v->p, err)) || (status = choose(o, &v->p, err)) ||
        (status = split_points(o, &v->p, &v->rule, &v->by, &v->groups, err)) || !o->value[DEVICE])
        return status;
    status = devices_open(o->value[DEVICES], &v->devices, err);
    return status ? status : devices_find(v->devices, o->value[DEVICE], &v->on, err);
}

/* Files of kernels alone have no points of networks. */
static lm_status print_launches(const validation *v, lm_error *err)
{
    const split_rule      parts    = { .kind = SPLIT_KFOLD, .k = 10, .seed = v->rule.seed };
    const bool            chosen   = v->o->given[LEAVE_OUT] || v->cal;
    const launch_question question = { v->obs, chosen ? &v->rule : &parts, v->cal, v->name,
                                       v->n_models };
    table                *t        = table_new();
    lm_status             status   = validate_launches(&question, t, err);

    if (!status)
        status = table_print(t, v->form.f, stdout, err);
    table_free(t);
    return status;
}

static lm_status print_clocks(const validation *v, lm_error *err)
{
    table    *t      = table_new();
    lm_status status = validate_clocks(&v->p, v->cal, v->obs->path, v->form.points, t, err);

    if (!status)
        status = table_print(t, v->form.f, stdout, err);
    table_free(t);
    return status;
}

/* The models beside what was measured. */
static lm_status print_models(validation *v, lm_error *err)
{
    const options *o   = v->o;
    const judging  all = {
         &v->p, &v->by, &v->groups, v->judge, v->n_models, o->value[POWER] != NULL
    };

    v->p.layers      = v->layers ? v->layers->layers : NULL;
    v->p.wants_power = all.power;
    for (size_t m = 0; m < v->n_models; m++) {
        lm_status status;

        v->judge[m] = (judged){ v->name[m], calloc(v->p.n_points + 1, sizeof(comparison)) };
        if (!v->judge[m].at)
            return no_memory(err);
        if ((status = judge_model(v, v->name[m], v->judge[m].at, err)))
            return status;
    }
    if (v->rule.kind != SPLIT_NONE && judging_without_intervals(&all))
        fprintf(stderr,
                "layermeter: %s: intervals are unknown: they take %d groups or more beside the one "
                "that is left out\n",
                o->argument[0], INTERVAL_GROUPS);
    return judging_print(&all, &v->form, err);
}

static lm_status validate(validation *v, lm_error *err)
{
    const options *o = v->o;
    lm_status      status;

    if ((status = open_files(v, err)))
        return status;
    if (launches_only(v->obs))
        return print_launches(v, err);
    if ((status = open_points(v, err)))
        return status;
    if (v->rule.kind != SPLIT_NONE && (!v->by.n_folds || v->by.points[0] == v->p.n_points))
        fprintf(stderr,
                "layermeter: %s: nothing is left to fit to without what --leave-out %s leaves out: "
                "no predictions\n",
                o->argument[0], o->value[LEAVE_OUT]);
    print_flagged(v->obs, &v->p);
    return v->form.q == N_QUANTITIES ? print_clocks(v, err) : print_models(v, err);
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

static int left_out_machines(const validation *v)
{
    const options          *o = v->o;
    const machines_question q = { .o          = o,
                                  .names      = o->value[DEVICE],
                                  .datasheets = o->value[DEVICES],
                                  .models     = o->given[MODEL] ? o->value[MODEL] : NULL,
                                  .learn      = o->value[LEARN],
                                  .where      = o->value[WHERE],
                                  .form       = v->form };

    return validate_machines(&q);
}

static int run(const options *o)
{
    validation v    = { .o = o };
    lm_error   err  = { 0 };
    int        code = EXIT_DONE;

    if (!read_words(&v, &code))
        return code;
    if (v.rule.kind == SPLIT_DEVICE)
        return left_out_machines(&v);
    if (validate(&v, &err))
        code = report_failure(&err);
    validation_free(&v);
    return code;
}

const command cmd_validate = {
    .name          = "validate",
    .arguments     = "OBSERVATIONS.csv...",
    .doc           = "Compare the models on observations that were left out of their fits",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = VALIDATE_DEVICES,
    .run           = run,
};
