/* layermeter fit: observations to coefficients. */
#include <stdio.h>
#include <string.h>

#include "base/no_memory.h"
#include "cli/commands.h"
#include "cli/fit_layers.h"
#include "cli/fit_like.h"
#include "cli/fit_pool.h"
#include "cli/fit_power.h"
#include "cli/fit_print.h"
#include "cli/fit_residual.h"
#include "cli/fit_runs.h"
#include "cli/learned_models.h"
#include "cli/validate_devices.h"
#include "fit/fit.h"
#include "observe/launches.h"
#include "observe/variants.h"

enum {
    OUTPUT,
    WHERE,
    ALGORITHM,
    LIKE,
    RESIDUAL,
    MODEL,
    LEARN,
    LAYERS,
    CORRECT,
    DEVICE,
    DEVICES,
    IDLE_POWER,
    POWER_CAP,
    KNEE,
    FORMAT
};

static const option_spec specs[] = {
    [OUTPUT]     = { "output", "FILE", NULL,
                     "machine file to write (also -o; needed); of several files as many, A,B" },
    [WHERE]      = { "where", "WORDS", NULL,
                     "fit these networks only: dtype=bf16, layout=nhwc ... (all must hold)" },
    [ALGORITHM]  = { "algorithm", "NAME", NULL,
                     "fit these all-reduces only: default, nonblocking or ring; else each by itself" },
    [LIKE]       = { "like", "FILES", NULL,
                     "single kernels that were not measured: by these machine files and datasheets" },
    [RESIDUAL]   = { "residual", "WHEN", "off",
                     "learn what prices of single layers and kernels leave over: on, auto (where the build can) or off" },
    [MODEL]      = { "model", "LIST", NULL,
                     "learn these models of single layers, too: justus, prenet, nicolai" },
    [LEARN]      = OPTION_LEARN,
    [LAYERS]     = { "layers", "FILE", NULL,
                     "machine file of single layers on the same device, of which networks are composed" },
    [CORRECT]    = { "correct", "FILE", NULL,
                     "correct by these runs, whole steps as 'layermeter watch' appends them, where that helps" },
    [DEVICE]     = { "device", "NAME", NULL,
                     "what was measured on, by its datasheet, for --model; of several files a list; else as they say" },
    [DEVICES]    = OPTION_DEVICES,
    [IDLE_POWER] = { "idle-power", "WATTS", NULL,
                     "of the device at rest, 30W, where power was measured" },
    [POWER_CAP]  = OPTION_POWER_CAP,
    [KNEE]       = OPTION_KNEE,
    [FORMAT]     = { "format", "FORMAT", "table", "table, csv or json" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "Fits every model: 'convmeter' as published, by ordinary least squares; 'nnls', the same regressors\n"
    "with relative weights and non-negative coefficients; 'layermeter', ours. 'held out' is the error on\n"
    "networks that the fit did not see, each left out in turn; 'rank' is how many of the coefficients the\n"
    "rows tell apart, of 'layermeter' the others go by similar kernels. Needs no device: old observations can be\n"
    "fitted again anywhere, and so can those of another framework (its columns: OBSERVATIONS.md).\n"
    "Where no network was measured, single layers are: 'layermeter' prices convolutions and products of\n"
    "few rows by their algorithms (single.conv, single.dense), all others by their kernels (single.other:\n"
    "launches, bytes and FLOPs of each kind), and predicts them and networks of them.\n"
    "--residual grows trees (XGBoost; $LAYERMETER_XGBOOST names another library of it) on log(measured / priced),\n"
    "judges them by shapes that neither the prices nor the trees saw, and keeps them where their error is\n"
    "lower by 3 % or more: in a file beside the machine file, MACHINE.residual, of single kernels\n"
    "MACHINE.kernels. Outside of what they were grown on they say nothing.\n"
    "Several files are of a machine each. Each machine has its own prices of single layers; the residual is\n"
    "one for all, which knows the devices by their datasheets: a machine with 60 rows has it of the others.\n"
    "So is a model of --model, with features of devices.\n"
    "--model learns models that others published of single layers, to be compared or used: each goes into\n"
    "a file beside the machine file, MACHINE.NAME. justus: perceptrons on the keys of convolutions and\n"
    "fully connected layers (arXiv:1811.11880); prenet: on operations, memory and keys of these and of\n"
    "recurrent layers, attention, embeddings and layer norms the best of five learners for each type\n"
    "(arXiv:2412.15519); nicolai: random forests of time and of power on the attributes and sizes of any\n"
    "layer. 'held out' is the error on rows, of prenet on shapes, that were set apart. Of several one that\n"
    "has too few rows is left out, and stderr says so; only where all have too few the fit fails.\n"
    "--learn sets layers (4, hidden ones), epochs, rows (of a batch), rate, halve (the rate, each so many\n"
    "epochs), l2 and dropout of justus' perceptrons; of prenet learner (0 the best, 1 least squares,\n"
    "2 forest, 3 boosted trees, 4 XGBoost's, 5 perceptron), logs (1: of logarithms, 0: of seconds, as\n"
    "published, 2: which is better), parts (5, of shapes, each left out in turn to choose), drawn (6,000\n"
    "rows for that) and passes (300,000 rows that a perceptron sees in all).\n"
    "--layers names a machine file that single layers on the same device were fitted to: layermeter then\n"
    "composes networks of their layers, and the file holds these and a factor for each part of a step.\n"
    "--correct takes runs, whole steps of networks of which no parts were measured ('layermeter watch\n"
    "--observations'; FILE may be the observations themselves): one factor for each resource, held near 1,\n"
    "brings what bounds a step to what was run. It is kept where the error falls on networks that are left\n"
    "out of it (of one network: on configurations), and intervals are never narrower than these errors.\n"
    "Runs whose all-reduces are more than a fifth of the step say little of the device and are not used.\n"
    "Each element type and each choice of settings has coefficients of its own: of a file with several,\n"
    "--where says which. All-reduces by themselves belong to all of them.\n"
    "Single kernels are priced by kind of operator, 20 rows or more of a kind; kinds without, by --like,\n"
    "take the prices of other machines, carried over by the datasheets of both devices: see layermeter\n"
    "devices, and `device` in the observations' provenance.\n"
    "Where power was measured (power_w) a power model is fitted, too: what a device draws while its time is\n"
    "bound by arithmetic, traffic or launches, of several clocks (settings clock=MHZ, one of them chosen by\n"
    "--where) also at rest, and the knee of its voltage.\n";

static const char examples[] =
    "  layermeter fit observations.csv -o machine.ini\n"
    "  layermeter fit layers.csv -o machine.ini --model justus,prenet --learn layers=6\n"
    "  layermeter fit networks.csv --layers layers.ini -o machine.ini\n"
    "  layermeter fit observations.csv --correct runs.csv -o machine.ini\n"
    "  layermeter fit observations.csv --where dtype=bf16,layout=nhwc -o machine-bf16.ini\n"
    "  layermeter fit t4.csv v100.csv -o t4.ini,v100.ini --residual on --device T4,V100-SXM2-16GB\n";

static lm_status choose_where(const options *o, const observations *obs, points *p, lm_error *err)
{
    const lm_status status = points_where(p, o->value[WHERE], err);

    if (status)
        lm_error_prefix(err, "%s", obs->path);
    return status;
}

static lm_status choose_algorithm(const options *o, const observations *obs, points *p,
                                  lm_error *err)
{
    const lm_status status = points_choose_algorithm(p, o->value[ALGORITHM], err);

    if (status)
        lm_error_prefix(err, "%s", obs->path);
    return status;
}

/* A machine file says what it was fitted to. */
static lm_status note_algorithm(const options *o, calibration *cal, lm_error *err)
{
    if (!o->value[ALGORITHM] || calibration_note(cal, "fitted_algorithm", o->value[ALGORITHM]))
        return LM_OK;
    return no_memory(err);
}

/* Streams alone are nothing to fit to; other machines can price them. */
static lm_status fit_to(const options *o, const observations *obs, const points *p,
                        calibration **cal, lm_error *err)
{
    if (o->value[LIKE] && launches_only(obs) && !p->n_kernel_rows)
        return fit_none(obs, p, cal, err);
    return fit_all(obs, p, cal, err);
}

/* Learned models of single layers, on the device that is told or that the file names. */
static lm_status learn(const options *o, const observations *obs, const points *p,
                       learned_models *l, calibration *cal, lm_error *err)
{
    layerwise_source from = { .obs = obs, .p = p };
    device_list     *list = NULL;
    lm_status        status =
        l->n ? learned_models_device(o->value[DEVICE], observations_provenance(obs, "device"),
                                            o->value[DEVICES], &list, &from.on, err)
                    : LM_OK;

    if (!status)
        status = learned_models_fit(l, &from, 1, &cal, err);
    devices_free(list);
    return status;
}

/* What several files have none of; NULL: all is well. */
static const char *refused_of_several(const options *o, residual_choice choice)
{
    if (choice == RESIDUAL_OFF && !o->value[MODEL])
        return "several files are machines that share a residual, or learned models: --residual on "
               "or --model, or one file each";
    if (o->value[ALGORITHM] || o->value[LIKE] || o->value[LAYERS] || o->value[CORRECT])
        return "--algorithm, --like, --layers and --correct are of one file";
    if (o->value[IDLE_POWER] || o->value[POWER_CAP] || o->value[KNEE])
        return "--idle-power, --power-cap and --voltage-knee are of one device: one file each";
    return NULL;
}

static int run_pool(const options *o, residual_choice choice, learned_models *learned, format f)
{
    const pool_question q       = { .path    = o->argument,
                                    .n       = (size_t)o->n_arguments,
                                    .outputs = o->value[OUTPUT],
                                    .devices = o->value[DEVICE],
                                    .own     = o->value[DEVICES],
                                    .where   = o->value[WHERE],
                                    .alone   = choice == RESIDUAL_OFF,
                                    .learned = learned };
    const char         *refused = refused_of_several(o, choice);
    lm_error            err     = { 0 };
    registry           *reg     = NULL;
    workloads          *loads   = NULL;
    table              *t       = table_new();
    int                 code    = EXIT_DONE;

    if (refused) {
        lm_error_set(&err, LM_E_ARG, "%s", refused);
        code = report_misuse(o->argument[1], &err);
    } else if (open_registry(o, &reg, &err) || workloads_new(reg, &loads, &err) ||
               fit_pool(&q, loads, t, &err) || table_print(t, f, stdout, &err)) {
        code = report_failure(&err);
    }
    table_free(t);
    workloads_free(loads);
    registry_free(reg);
    return code;
}

/* A command line, and what comes of it. */
typedef struct fitting {
    const options  *o;
    format          f;
    residual_choice choice;
    learned_models  learned;
    power_choice    power;

    registry     *reg;
    workloads    *loads;
    observations *obs;
    points        p;
    calibration  *layers, *cal; /* machine file of single layers, or NULL; the new one */
    fit_runs      runs;
} fitting;

/* False: *code says what is wrong. */
static bool read_words(fitting *w, int *code)
{
    const options *o   = w->o;
    lm_error       err = { 0 };

    if (format_parse(o->value[FORMAT], &w->f, &err)) {
        *code = report_misuse("", &err);
        return false;
    }
    if (!o->value[OUTPUT]) {
        lm_error_set(&err, LM_E_ARG, "-o MACHINE.ini is needed: where to write the coefficients");
        *code = report_misuse("", &err);
        return false;
    }
    if (residual_choice_parse(o->value[RESIDUAL], &w->choice, &err)) {
        *code = report_misuse("--residual", &err);
        return false;
    }
    if (!learned_models_parse(o->value[MODEL], o->value[LEARN], &w->learned, code))
        return false;
    if (o->value[CORRECT] && o->value[LAYERS]) {
        lm_error_set(&err, LM_E_ARG,
                     "networks of --layers are composed of single layers, which whole "
                     "steps do not tell apart");
        *code = report_misuse("--correct", &err);
        return false;
    }
    return o->n_arguments > 1 ||
           power_options_read(o, &(power_options){ IDLE_POWER, POWER_CAP, KNEE, -1, true },
                              &w->power, code);
}

static lm_status fit_file(fitting *w, lm_error *err)
{
    const options *o = w->o;
    lm_status      status;

    if ((status = open_registry(o, &w->reg, err)) ||
        (status = workloads_new(w->reg, &w->loads, err)) ||
        (status = observations_load(o->argument[0], &w->obs, err)) ||
        (status = points_from(w->obs, w->loads, &w->p, err)) ||
        (o->value[WHERE] && (status = choose_where(o, w->obs, &w->p, err))) ||
        (o->value[ALGORITHM] && (status = choose_algorithm(o, w->obs, &w->p, err))) ||
        (o->value[LAYERS] &&
         (status = fit_layers_load(o->value[LAYERS], w->obs, &w->p, &w->layers, err))) ||
        (status = fit_to(o, w->obs, &w->p, &w->cal, err)) ||
        (w->layers && (status = fit_layers_compose(&w->p, w->layers, w->cal, err))) ||
        (o->value[LIKE] && (status = fit_like(w->cal, o->argument[0], o->value[LIKE], err))) ||
        (status = fit_residual(w->obs, &w->p, w->choice, w->cal, err)) ||
        (status = learn(o, w->obs, &w->p, &w->learned, w->cal, err)) ||
        (status = fit_power(w->obs, w->loads, &w->p, o->value[WHERE], o->value[DEVICE], &w->power,
                            w->cal, err)) ||
        (o->value[CORRECT] &&
         (status = fit_runs_correct(o->value[CORRECT], w->loads, w->cal, &w->runs, err))) ||
        (status = note_algorithm(o, w->cal, err)))
        return status;
    return calibration_save(w->cal, o->value[OUTPUT], err);
}

static lm_status print_fit(const fitting *w, lm_error *err)
{
    const char *correct = w->o->value[CORRECT];
    table      *t       = table_new();
    lm_status   status;

    fit_print_warnings(w->obs, &w->p, w->cal, correct && !strcmp(correct, w->obs->path));
    fit_runs_print(&w->runs);
    fit_table(t, w->cal, &w->learned);
    status = table_print(t, w->f, stdout, err);
    table_free(t);
    return status;
}

static void fitting_free(fitting *w)
{
    fit_runs_free(&w->runs);
    learned_models_free(&w->learned);
    points_free(&w->p);
    calibration_free(w->cal);
    calibration_free(w->layers);
    observations_free(w->obs);
    workloads_free(w->loads);
    registry_free(w->reg);
}

static int run(const options *o)
{
    fitting  w    = { .o = o };
    lm_error err  = { 0 };
    int      code = EXIT_DONE;

    if (read_words(&w, &code)) {
        if (o->n_arguments > 1)
            code = run_pool(o, w.choice, &w.learned, w.f);
        else if (fit_file(&w, &err) || print_fit(&w, &err))
            code = report_failure(&err);
    }
    fitting_free(&w);
    return code;
}

const command cmd_fit = {
    .name          = "fit",
    .arguments     = "OBSERVATIONS.csv...",
    .doc           = "Fit coefficients to observations, write a machine file",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = VALIDATE_DEVICES,
    .run           = run,
};
