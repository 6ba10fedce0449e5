/* layermeter fit: fits coefficients to observations. */
#include "cli/cmd_fit.h"

#include <stdio.h>
#include <string.h>

#include "base/no_memory.h"
#include "counts/feature_set.h"
#include "fit/fit.h"
#include "machine/machine.h"
#include "models/learned.h"
#include "observe/launches.h"
#include "observe/variants.h"

static const char *learned_words(char *buffer, size_t size)
{
    return layerwise_names(", ", buffer, size);
}

#define AT(member) OPTION_AT(fit_options, member)

static const option_row option_rows[] = {
    { "where", AT(where) },
    { "algorithm", AT(algorithm), &type_text, "NAME", NULL, HELP_WHAT,
      "only these all-reduces: default, nonblocking or ring (default: each by itself)" },
    { "device", AT(device), &type_names, "NAME",
      .help = "what was measured on, by its datasheet, for --model; of several files A,B (default: "
              "as the files say)" },
    { "devices", AT(devices) },
    { "idle-power", .help = "of the device at rest, 30W, where power was measured" },
    OPTION_GROUP(fit_options, power, power_option_rows),
    OPTION_GROUP(fit_options, power, knee_option_rows),
    { "like", AT(like), &type_names, "FILES", NULL, HELP_HOW,
      "machine files that price single kernels which were not measured, by datasheets" },
    { "residual", AT(residual), &type_choice, "WHEN", "off", HELP_HOW,
      "learn what prices of single layers and kernels leave over (auto: if the build can)",
      .choices = "on, off or auto" },
    { "model", AT(models), &type_names, "LIST", NULL, HELP_HOW,
      "also learn these models of single layers", .words = learned_words },
    { "learn", AT(learn), .needs = "model", .refusal = "is for --model" },
    { "importance", AT(importance), &type_flag, NULL, NULL, HELP_OUTPUT,
      "print by how much the error of --model rises where a feature is shuffled, instead",
      .needs = "model", .refusal = "is for --model" },
    { "features", AT(features), &type_text, "SET", NULL, HELP_HOW,
      "only these regressors, or features of --model: flops+inputs ('validate --help')" },
    { "layers", AT(layers) },
    { "correct", AT(correct), &type_text, "FILE", NULL, HELP_HOW,
      "correct the fit by these runs of whole steps, if that lowers the error",
      .excludes = "layers",
      .refusal  = "networks of --layers are composed of single layers, which whole steps do not "
                  "tell apart" },
    { "output", AT(outputs), &type_names, "FILE",
      .needed = "-o MACHINE.ini is needed: where to write the coefficients",
      .help   = "machine file to write (also -o; needed); of several files as many, A,B" },
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] =
    "Fits all models: 'convmeter' as published, by ordinary least squares; 'nnls', the same regressors\n"
    "with relative weights and non-negative coefficients; 'layermeter', ours. 'held out' is the error on\n"
    "networks that the fit did not see, each left out in turn. 'rank' is how many coefficients the rows\n"
    "determine; 'layermeter' takes the others from similar kernels. A fit needs no device: fit old\n"
    "observations again anywhere, or those of another framework (columns: OBSERVATIONS.md). Each element\n"
    "type and each setting has coefficients of its own: --where selects one. All-reduces belong to all of\n"
    "them.\n"
    "\n"
    "Without networks, 'layermeter' is fitted to single layers: convolutions and products of few rows by\n"
    "their algorithms (single.conv, single.dense), all others by their kernels (single.other: launches,\n"
    "bytes and FLOPs of each kind). It then predicts layers, and networks of them. Single kernels are\n"
    "priced by kind of operator, from 20 rows of a kind, and networks are streams of them; --like takes\n"
    "other kinds from other machines, scaled by the datasheets of both devices ('device' in the\n"
    "observations' provenance).\n"
    "\n"
    "--residual grows trees (XGBoost; $LAYERMETER_XGBOOST names another library) on log(measured /\n"
    "priced), judges them by shapes that neither the prices nor the trees saw, and keeps them if the\n"
    "error falls by 3 % or more: in MACHINE.residual beside the machine file, of single kernels in\n"
    "MACHINE.kernels. Outside the range they were grown on they have no effect.\n"
    "\n"
    "Several files are of one machine each. Each machine has its own prices of single layers. The\n"
    "residual and the models of --model are shared and know the devices by their datasheets: a machine\n"
    "with 60 rows profits from the others.\n"
    "\n"
    "--model learns published models of single layers, into MACHINE.NAME beside the machine file. justus:\n"
    "perceptrons on the keys of convolutions, fully connected, pooling and recurrent layers\n"
    "(arXiv:1811.11880). prenet: on operations, memory and keys of convolutions, fully connected and\n"
    "recurrent layers, attention, embeddings and layer norms, the best of five learners for each type\n"
    "(arXiv:2412.15519). nicolai: random forests of time and power on attributes and sizes of any layer.\n"
    "'held out' is the error on rows, for prenet on shapes, that were set apart. A model with too few\n"
    "rows is left out, and stderr says so; if all have too few, the fit fails.\n"
    "\n"
    "--learn sets, of justus: layers (4 hidden ones), epochs, rows (of a batch), rate, halve (epochs\n"
    "after which the rate halves), l2, dropout, epsilon (of Adam). Of prenet: learner (0 the best, 1\n"
    "least squares, 2 forest, 3 boosted trees, 4 XGBoost's, 5 perceptron; 6 extra trees, no candidate for\n"
    "the best), logs (1 logarithms, 0 seconds as published, 2 the better), parts (5 parts of shapes, each\n"
    "left out in turn to choose), drawn (6,000 rows for that), passes (300,000 rows that a perceptron\n"
    "sees in all). Of all: gpu=1 makes features of what several devices are called: their names, for\n"
    "justus architecture and connection; a device that was not learned from has none of these.\n"
    "encoding=1 gives nicolai the features of its published code: modules' attributes and input sizes.\n"
    "'published' stands for the settings of the published model: of justus\n"
    "epochs=300,rate=0.1,epsilon=0.1, of prenet logs=0, of nicolai encoding=1.\n"
    "\n"
    "--layers composes networks of single layers that were fitted on the same device: the machine file\n"
    "then holds these, and a factor for each part of a step. --correct takes runs of whole steps\n"
    "('layermeter watch --observations'; FILE may be the observations themselves) and finds one factor\n"
    "for each resource, held near 1. It is kept if the error falls on networks left out of it (of one\n"
    "network: on configurations); intervals are never narrower than these errors. Runs whose all-reduces\n"
    "are more than a fifth of the step are not used.\n"
    "\n"
    "If power was measured (power_w), a power model is fitted: the power of the device while its time is\n"
    "bound by arithmetic, traffic or launches. Measurements at several clocks (settings clock=MHZ, one of\n"
    "them chosen by --where) also tell idle power and the knee of the voltage.\n";

static const char examples[] =
    "  layermeter fit observations.csv -o machine.ini\n"
    "  layermeter fit layers.csv -o machine.ini --model justus,prenet --learn layers=6\n"
    "  layermeter fit networks.csv --layers layers.ini -o machine.ini\n"
    "  layermeter fit observations.csv --correct runs.csv -o machine.ini\n"
    "  layermeter fit observations.csv --where dtype=bf16,layout=nhwc -o machine-bf16.ini\n"
    "  layermeter fit t4.csv v100.csv -o t4.ini,v100.ini --residual on --device T4,V100-SXM2-16GB\n";

/* A command line and its results. */
typedef struct fitting {
    const fit_options *a;
    const char        *output, *device; /* of one file */
    registry          *reg;
    workloads         *loads;
    observations      *obs;
    points             p;
    learned_models     learned;
    field_rows         worth;        /* of features, where it is asked */
    calibration       *layers, *cal; /* machine file of single layers, or NULL; the new one */
    fit_runs           runs;
} fitting;

/* The points that --where and --algorithm choose. */
static lm_status choose_points(fitting *w, lm_error *err)
{
    lm_status status = points_from(w->obs, w->loads, &w->p, err);

    if (status)
        return status;
    if (w->a->where)
        status = points_where(&w->p, w->a->where, err);
    if (!status && w->a->algorithm)
        status = points_choose_algorithm(&w->p, w->a->algorithm, err);
    if (status)
        lm_error_prefix(err, "%s", w->obs->path);
    return status;
}

/* Names of regressors; learned models have features of their own. */
static lm_status choose_features(fitting *w, lm_error *err)
{
    const char *known[N_FEATURES];
    lm_status   status = LM_OK;

    w->p.features = w->a->features;
    if (!w->a->models.n)
        status = feature_set_check(w->a->features, known, feature_choices(known), "a formula", err);
    if (status)
        lm_error_prefix(err, "--features");
    return status;
}

/* Nothing can be fitted to streams alone; other machines can price them. */
static lm_status fit_to(fitting *w, lm_error *err)
{
    if (w->a->like.n && launches_only(w->obs) && !w->p.n_kernel_rows)
        return fit_none(w->obs, &w->p, &w->cal, err);
    return fit_all(w->obs, &w->p, &w->cal, err);
}

static lm_status learn_residual(fitting *w, lm_error *err)
{
    fit_residuals   found;
    const lm_status status = fit_residual(w->obs, &w->p, w->a->residual, w->cal, &found, err);

    fit_residuals_print(w->obs->path, &found, w->cal);
    return status;
}

/* Learns models of single layers, on the device that the options or the file name. */
static lm_status learn(fitting *w, lm_error *err)
{
    layerwise_source from   = { .obs = w->obs, .p = &w->p };
    device_list     *list   = NULL;
    points           clocks = { 0 };
    bool             more   = false;
    lm_status        status = LM_OK;

    for (size_t i = 0; i < w->learned.n && !more && !status; i++)
        if (w->learned.kind[i]->clocks)
            status = fit_every_clock(w->obs, w->loads, w->a->where, &clocks, &more, err);
    from.clocks = more ? &clocks : NULL;

    if (!status && w->learned.n)
        status = learned_device(w->device, observations_provenance(w->obs, "device"), w->a->devices,
                                &list, &from.on, err);
    if (!status && w->device && from.on && !calibration_measured_on(w->cal, from.on->name))
        status = no_memory(err);
    if (!status)
        status = learned_models_fit(&w->learned, &from, 1, &w->cal, err);
    devices_free(list);
    if (more)
        points_free(&clocks);
    return status;
}

/* Reason to refuse several files; NULL: none. */
static const char *refused_of_several(const options *o, const fit_options *a)
{
    if (a->residual == RESIDUAL_OFF && !a->models.n)
        return "several files are machines that share a residual, or learned models: --residual on "
               "or --model, or one file each";
    if (a->algorithm || a->like.n || a->layers || a->correct || a->features || a->importance)
        return "--algorithm, --like, --layers, --correct, --features and --importance are of one "
               "file";
    if (power_asks_device(o, &a->power) || option_given(o, &a->power.model.knee_mhz))
        return "--idle-power, --power-cap and --voltage-knee are of one device: one file each";
    return NULL;
}

static lm_status fit_files(const options *o, const fit_options *a, learned_models *learned,
                           lm_error *err)
{
    registry  *reg   = NULL;
    workloads *loads = NULL;
    field_rows t     = fit_table(a->format, true);
    lm_status  status;

    if (!(status = open_registry(o, &reg, err)) && !(status = workloads_new(reg, &loads, err)))
        status = fit_pool(o, a, learned, loads, &t, err);
    status = field_rows_print(&t, a->format, stdout, status, err);
    workloads_free(loads);
    registry_free(reg);
    return status;
}

static lm_status fit_file(const options *o, fitting *w, lm_error *err)
{
    const fit_options *a = w->a;
    lm_status          status;

    if ((status = open_registry(o, &w->reg, err)) ||
        (status = workloads_new(w->reg, &w->loads, err)) ||
        (status = observations_load(o->argument[0], &w->obs, err)) ||
        (status = choose_points(w, err)) || (status = choose_features(w, err)) ||
        (a->layers && (status = fit_layers_load(a->layers, w->obs, &w->p, &w->layers, err))) ||
        (status = fit_to(w, err)) ||
        (w->layers && (status = fit_layers_compose(&w->p, w->layers, w->cal, err))) ||
        (a->like.n && (status = fit_like(w->cal, o->argument[0], &a->like, err))) ||
        (status = learn_residual(w, err)) || (status = learn(w, err)) ||
        (status =
             fit_powers(w->obs, w->loads, &w->p, a->where, w->device, &a->power, w->cal, err)) ||
        (a->correct && (status = fit_runs_correct(a->correct, w->loads, w->cal, &w->runs, err))))
        return status;
    if ((a->algorithm && !calibration_note(w->cal, "fitted_algorithm", a->algorithm)) ||
        (a->features && !calibration_note(w->cal, "fitted_features", a->features)))
        return no_memory(err);
    return machine_save(w->cal, w->output, err);
}

static lm_status print_fit(const fitting *w, lm_error *err)
{
    const char *correct = w->a->correct;
    field_rows  t       = w->worth;

    fit_print_warnings(w->obs, &w->p, w->cal, correct && !strcmp(correct, w->obs->path));
    fit_runs_print(&w->runs);
    if (w->a->importance)
        return field_rows_print(&t, w->a->format, stdout, LM_OK, err);
    t = fit_table(w->a->format, false);
    fit_table_formulas(&t, w->cal);
    for (size_t i = 0; i < w->learned.n; i++)
        if (w->learned.model[i])
            fit_table_learned(&t, w->learned.model[i]);
    fit_table_others(&t, w->cal);
    return field_rows_print(&t, w->a->format, stdout, LM_OK, err);
}

static void fitting_free(fitting *w)
{
    fit_runs_free(&w->runs);
    points_free(&w->p);
    calibration_free(w->cal);
    calibration_free(w->layers);
    observations_free(w->obs);
    workloads_free(w->loads);
    registry_free(w->reg);
}

static lm_status check(options *o, lm_error *err)
{
    fit_options *a      = o->filled;
    lm_status    status = learned_models_parse(o, &a->models, &a->learn, &a->learned, err);
    const char  *why;

    power_choice_begin(o, &a->power, true);
    if (!status && o->n_arguments > 1 && (why = refused_of_several(o, a)))
        status = lm_error_set(err, LM_E_ARG, "%s: %s", o->argument[1], why);
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    const fit_options *a = o->filled;
    fitting            w = { .a       = a,
                             .output  = option_text(o, &a->outputs),
                             .device  = option_text(o, &a->device),
                             .learned = a->learned };
    lm_status          status;

    if (a->importance) {
        w.worth         = fit_table_worth(a->format);
        w.learned.worth = &w.worth;
    }
    if (o->n_arguments > 1)
        status = fit_files(o, a, &w.learned, err);
    else if (!(status = fit_file(o, &w, err)))
        status = print_fit(&w, err);
    else if (a->importance)
        status = field_rows_print(&w.worth, a->format, stdout, status, err);
    fitting_free(&w);
    return status;
}

const command cmd_fit =
    COMMAND("fit", "OBSERVATIONS.csv...", "Fit coefficients to observations, write a machine file",
            fit_options, 1, VALIDATE_DEVICES, check, run);
