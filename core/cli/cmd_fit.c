/* layermeter fit: fits coefficients to observations. */

#include <stdio.h>
#include <stdlib.h>

#include "api/handles.h"
#include "base/blas.h"
#include "base/no_memory.h"
#include "base/parallel.h"
#include "cli/commands.h"
#include "cli/power_options.h"
#include "machine/machine.h"
#include "observe/workloads.h"
#include "report/fit_notes.h"
#include "report/fit_view.h"

typedef struct fit_options {
    option_texts    outputs, device; /* several: of as many files of observations */
    option_texts    models, like;
    const char     *features; /* one set (feature_set.h) */
    const char     *where, *algorithm, *learn, *layers, *correct, *host, *devices, *from;
    interconnect    link; /* of steps under layouts */
    bool            kernels;
    residual_choice residual;
    bool            importance;
    power_choice    power;
    format          format;
    taught_models   taught; /* of `models` */
} fit_options;

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
      .help = "measured device, for --model; for several files A,B (default: as the files state)" },
    { "devices", AT(devices) },
    { "idle-power", .help = "idle power of the device, 30W, if power was measured" },
    OPTION_GROUP(fit_options, power, power_option_rows),
    OPTION_GROUP(fit_options, power, knee_option_rows),
    { "like", AT(like), &type_names, "FILES", NULL, HELP_HOW,
      "machine files with the kinds of single kernels that OBSERVATIONS lack, scaled by datasheets" },
    { "residual", AT(residual), &type_choice, "WHEN", "off", HELP_HOW,
      "fit trees to the residuals of single layers and kernels (auto: if XGBoost is available)",
      .choices = "on, off or auto" },
    { "model", AT(models), &type_names, "LIST", NULL, HELP_HOW,
      "also learn these models of single layers", .words = learned_words },
    { "learn", AT(learn), .needs = "model", .refusal = "is for --model" },
    { "importance", AT(importance), &type_flag, NULL, NULL, HELP_OUTPUT,
      "print how much the error of --model rises if a feature is shuffled, and write no file",
      .needs = "model", .refusal = "is for --model" },
    { "features", AT(features), &type_text, "SET", NULL, HELP_HOW,
      "use only these regressors, or features of --model: flops+inputs ('validate --help')" },
    { "layers", AT(layers) },
    { "host", AT(host), &type_text, "FILE", NULL, HELP_HOW,
      "steps and inference of small batches, measured by examples/pytorch/collect.py; they determine the host's "
      "time per operation (predict --framework)" },
    { "correct", AT(correct), &type_text, "FILE", NULL, HELP_HOW,
      "correct the fit by these runs of whole steps, if that lowers the error",
      .excludes = "layers",
      .refusal =
          "--layers adds up single layers, and whole steps cannot correct these one by one" },
    { "from", AT(from), &type_text, "FILE", NULL, HELP_HOW,
      "machine file to correct by measured steps under layouts (default: the shipped one)" },
    { "kernels", AT(kernels), &type_flag, NULL, NULL, HELP_HOW,
      "with steps under layouts: correct only matrix products and attention, from steps that do not "
      "wait for messages or the host; any --interconnect may then be given" },
    OPTION_GROUP(fit_options, link, link_option_rows),
    { "output", AT(outputs), &type_names, "FILE",
      .needed = "-o MACHINE.ini is required: the file for the coefficients",
      .help   = "machine file to write (also -o; required); one for each input file: A,B" },
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] =
    "Three models are fitted. 'convmeter' is the published formula, by ordinary least squares. 'nnls' has\n"
    "the same regressors, with relative weights and non-negative coefficients. 'layermeter' is the\n"
    "default model of predictions. 'held out' is the error when each network in turn is left out of the\n"
    "fit. 'rank' is the number of coefficients that the rows determine; 'layermeter' takes the others\n"
    "from similar kernels. A fit needs no device: it also reads old observations, or those of another\n"
    "framework (columns: OBSERVATIONS.md). Each element type and setting has its own coefficients;\n"
    "--where selects one. All of them share the all-reduces.\n"
    "\n"
    "If the file has no networks, 'layermeter' is fitted to single layers. Convolutions and products of\n"
    "few rows are fitted by their algorithms (single.conv, single.dense). Other layers are fitted by the\n"
    "launches, bytes and FLOPs of their kernels (single.other). A network is then the sum of its layers.\n"
    "Single kernels have coefficients for each kind of operator with 20 rows or more. --like takes other\n"
    "kinds from other machine files, scaled by the datasheets of both devices ('device' in the provenance\n"
    "of the observations).\n"
    "\n"
    "--residual fits trees (XGBoost; $LAYERMETER_XGBOOST names another library) to log(measured /\n"
    "predicted). They are kept if they lower the error on held-out shapes by 3 % or more. They are\n"
    "written beside the machine file: MACHINE.residual, or MACHINE.kernels for single kernels. Outside\n"
    "their training range they have no effect.\n"
    "\n"
    "Each of several files is from one machine, which gets its own coefficients of single layers. All\n"
    "share the residual and the models of --model, which identify a device by its datasheet.\n"
    "\n"
    "--model trains published models of single layers, and writes MACHINE.NAME beside the machine file:\n"
    "  justus: perceptrons on the keys of convolutions, fully connected, pooling and recurrent layers\n"
    "    (arXiv:1811.11880)\n"
    "  prenet: the best of five learners for each type, on operations, memory and keys of convolutions,\n"
    "    fully connected and recurrent layers, attention, embeddings and layer norms (arXiv:2412.15519)\n"
    "  nicolai: random forests of time and power on attributes and sizes of any layer\n"
    "\n"
    "'held out' is the error on held-out rows (prenet: shapes). A model with too few rows is skipped,\n"
    "with a message; if all are, the fit fails.\n"
    "\n"
    "--learn sets how these models are trained:\n"
    "  justus: layers (4 hidden ones), epochs, rows (per batch), rate, halve (epochs after which the rate\n"
    "    halves), l2, dropout, epsilon (of Adam)\n"
    "  prenet: learner (0 the best, 1 least squares, 2 forest, 3 boosted trees, 4 XGBoost's, 5\n"
    "    perceptron, 6 extra trees, never chosen as best), logs (1 logarithms, 0 seconds as published, 2\n"
    "    the better), parts (5 parts of the shapes for cross-validation), drawn (6,000 rows for it),\n"
    "    passes (300,000 rows that a perceptron sees in all)\n"
    "  all: gpu=1 adds features of several devices by name; justus: by architecture and connection. Other\n"
    "    devices lack them\n"
    "  nicolai: encoding=1 uses the features of its published code: modules' attributes and input sizes\n"
    "  published: settings as published: justus epochs=300,rate=0.1,epsilon=0.1, prenet logs=0, nicolai\n"
    "    encoding=1\n"
    "\n"
    "--layers predicts networks from single layers that were fitted on the same device. The machine file\n"
    "has these layers, and a factor for each part of a step. --correct fits one factor for each resource,\n"
    "held near 1, to runs of whole steps ('layermeter watch --observations'; FILE may be the observations\n"
    "themselves). The factors are kept if they lower the error on held-out networks (with one network: on\n"
    "configurations). Intervals are never narrower than these errors. Runs whose all-reduces take more\n"
    "than a fifth of the step are skipped.\n"
    "\n"
    "If power was measured (power_w), a power model is fitted: the power of the device while arithmetic,\n"
    "memory traffic or launches bound the time. Measurements at several clocks (settings clock=MHZ;\n"
    "--where selects one, clock=none the rows without) also determine idle power and the voltage knee.\n";

static const char examples[] =
    "  layermeter fit observations.csv -o machine.ini\n"
    "  layermeter fit layers.csv -o machine.ini --model justus,prenet --learn layers=6\n"
    "  layermeter fit networks.csv --layers layers.ini -o machine.ini\n"
    "  layermeter fit observations.csv --correct runs.csv -o machine.ini\n"
    "  layermeter fit steps.csv --device H100 --interconnect nvlink4+efa3200 -o machine.ini\n"
    "  layermeter fit observations.csv --where dtype=bf16,layout=nhwc -o machine-bf16.ini\n"
    "  layermeter fit t4.csv v100.csv -o t4.ini,v100.ini --residual on --device T4,V100-SXM2-16GB\n";

/* Reason to refuse several files; NULL: none. */
static const char *refused_of_several(const options *o, const fit_options *a)
{
    if (a->residual == RESIDUAL_OFF && !a->models.n)
        return "several files are several machines that share a residual or learned models: add "
               "--residual on or --model, or fit each file alone";
    if (a->algorithm || a->like.n || a->layers || a->correct || a->host || a->features ||
        a->importance)
        return "--algorithm, --like, --layers, --correct, --host, --features and --importance are of one "
               "file";
    if (power_asks_device(o, &a->power) || option_given(o, &a->power.model.knee_mhz))
        return "--idle-power, --power-cap and --voltage-knee are for one device: fit each file separately";
    return NULL;
}

/* The models to be taught, with the settings of --learn. */
static lm_status check_models(options *o, lm_error *err)
{
    fit_options *a = o->filled;
    lm_error     why;

    a->taught = (taught_models){ .n = 0 };
    if (taught_models_named(&a->models, &a->taught, &why))
        return misused(o, &a->models, err, "%s", why.text);
    if (taught_models_set(&a->taught, a->learn, &why))
        return misused(o, &a->learn, err, "%s", why.text);
    return LM_OK;
}

static lm_status check(options *o, lm_error *err)
{
    fit_options *a      = o->filled;
    lm_status    status = check_models(o, err);
    const char  *why;

    power_choice_begin(o, &a->power, true);
    if (!(a->link.bytes_per_second > 0)) /* not given */
        a->link = (interconnect){ .name = a->link.name };
    if (!status && o->n_arguments > 1 && (why = refused_of_several(o, a)))
        status = lm_error_set(err, LM_E_ARG, "%s: %s", o->argument[1], why);
    return status;
}

static assembly_question question_of(const options *o)
{
    const fit_options *a = o->filled;

    return (assembly_question){ .paths     = { o->argument, (size_t)o->n_arguments },
                                .outputs   = a->outputs,
                                .devices   = a->device,
                                .sheets    = a->devices,
                                .where     = a->where,
                                .algorithm = a->algorithm,
                                .features  = a->features,
                                .layers    = a->layers,
                                .correct   = a->correct,
                                .host      = a->host,
                                .like      = a->like,
                                .residual  = a->residual,
                                .power     = { a->power.model.idle_w, a->power.cap_w,
                                               a->power.model.knee_mhz } };
}

static void put_taught(field_rows *t, const taught_models *models)
{
    for (size_t i = 0; i < models->n; i++)
        if (models->of[i].model)
            fit_table_learned(t, models->of[i].model);
}

static lm_status fit_several(const options *o, workloads *loads, taught_models *models,
                             lm_error *err)
{
    const fit_options      *a     = o->filled;
    const assembly_question q     = question_of(o);
    assemblies             *found = calloc(1, sizeof *found);
    field_rows              t     = fit_table(a->format, true);
    lm_status status = found ? assemblies_of(&q, loads, models, found, err) : no_memory(err);

    if (found)
        fit_notes_several(found, models, a->residual != RESIDUAL_OFF, !status);
    if (!status) {
        for (size_t i = 0; i < found->n; i++)
            fit_table_machine(&t, found->machine[i].on->name, found->machine[i].cal->layers);
        for (size_t c = 0; c < N_LAYER_CLASSES; c++)
            if (found->residual[c].judged)
                fit_table_residual(&t, c, &found->residual[c]);
        put_taught(&t, models);
    }
    status = field_rows_print(&t, a->format, stdout, status, err);
    if (found)
        assemblies_free(found);
    free(found);
    return status;
}

static lm_status fit_one(const options *o, observations *obs, workloads *loads,
                         taught_models *models, lm_error *err)
{
    const fit_options *a      = o->filled;
    const char        *output = option_text(o, &a->outputs), *on = option_text(o, &a->device);
    assembly_question  q     = question_of(o);
    assembly           found = { .obs = obs };
    field_rows         t     = { 0 };
    lm_status          status;

    q.outputs = (word_list){ &output, 1 }; /* names with commas, too */
    q.devices = (word_list){ &on, on != NULL };
    if (a->importance) {
        t               = fit_table_worth(a->format);
        models->worth   = fit_table_add_worth;
        models->context = &t;
    }
    status = assembly_of(&q, loads, models, &found, err);
    fit_notes_found(o->argument[0], &found, models);
    if (!status)
        fit_notes_warnings(&found);
    if (!status && !a->importance) {
        t = fit_table(a->format, false);
        fit_table_formulas(&t, found.cal);
        put_taught(&t, models);
        fit_table_others(&t, found.cal);
    }
    if (t.t)
        status = field_rows_print(&t, a->format, stdout, status, err);
    assembly_free(&found);
    return status;
}

/* ---- steps under layouts ---- */

/* The measured device; NULL: unknown. */
static const char *device_of(const options *o, const observations *obs)
{
    const char *on = option_text(o, &((const fit_options *)o->filled)->device);

    return on ? on : observations_provenance(obs, "device");
}

/* A file, or the machine file that ships for the measured device; q->shipped points to `shipped`. */
static lm_status find_corrected(const options *o, const observations *obs, device_machine *shipped,
                                machine_asked *q, lm_error *err)
{
    const fit_options *a  = o->filled;
    const char        *on = device_of(o, obs);

    *q = (machine_asked){ .path = a->from, .devices = a->devices, .link = a->link };
    if (!q->path && !on)
        return lm_error_set(
            err, LM_E_ARG,
            "%s: steps under layouts correct a machine file: name it (--from), or the device (--device, or '# device: NAME')",
            obs->path);
    if (q->path)
        return LM_OK;
    q->shipped = shipped;
    return device_machine_find(on, a->devices, laid_rows_dtype(obs), shipped, err);
}

/* Saves the machine file as it was found, without interconnects, with the fitted kernels. */
static lm_status save_kernels(const options *o, const observations *obs, const machine_asked *q,
                              const laid_fit *found, calibration *by, lm_error *err)
{
    const fit_options *a   = o->filled;
    calibration       *cal = NULL;
    lm_status          status;

    if (!(status = q->shipped ? device_machine_load(q->shipped, q->devices, &cal, err)
                              : machine_load(q->path, &cal, err)) &&
        !(status = laid_fit_keep(found, obs, by, cal, err)))
        status = machine_save(cal, option_text(o, &a->outputs), err);
    calibration_free(cal);
    return status;
}

static lm_status fit_laid_out(const options *o, const observations *obs, workloads *loads,
                              lm_error *err)
{
    const fit_options *a = o->filled;
    lm_machine        *m = NULL;
    field_rows         t = { 0 };
    laid_fit           found;
    device_machine     shipped;
    machine_asked      q;
    lm_status          status = find_corrected(o, obs, &shipped, &q, err);

    if (!status && !(status = machine_handle_open(&q, &m, err)) &&
        !(status = laid_fit_steps(obs, loads, &m->link, a->kernels, m->cal, &found, err)) &&
        !(status = a->kernels ? save_kernels(o, obs, &q, &found, m->cal, err)
                              : machine_save(m->cal, option_text(o, &a->outputs), err))) {
        fit_notes_laid(obs->path, &found, a->kernels);
        t = fit_table(a->format, false);
        fit_table_formulas(&t, m->cal);
        fit_table_others(&t, m->cal);
        status = field_rows_print(&t, a->format, stdout, status, err);
    }
    lm_machine_close(m);
    return status;
}

/* A file while BLAS is loaded: each takes a tenth of a fit of 5,000 rows. */
typedef struct opening {
    const char   *path;
    observations *obs;
} opening;

static lm_status open_part(void *context, size_t part, lm_error *err)
{
    opening *o = context;

    return part ? blas_load(err) : observations_load(o->path, &o->obs, err);
}

/* A file of one machine: of steps under layouts, or of anything else. */
static lm_status fit_file(const options *o, workloads *loads, taught_models *models, lm_error *err)
{
    const fit_options *a      = o->filled;
    opening            f      = { .path = o->argument[0] };
    lm_status          status = parallel_for(2, open_part, &f, err);

    if (!status && !laid_rows_correct(f.obs, a->from, device_of(o, f.obs)))
        return fit_one(o, f.obs, loads, models, err); /* which takes them over */
    if (!status)
        status = fit_laid_out(o, f.obs, loads, err);
    observations_free(f.obs);
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    const fit_options *a      = o->filled;
    taught_models      models = a->taught;
    registry          *reg    = NULL;
    workloads         *loads  = NULL;
    lm_status          status;

    if (!(status = open_registry(o, &reg, err)) && !(status = workloads_new(reg, &loads, err)))
        status = (o->n_arguments > 1 ? fit_several : fit_file)(o, loads, &models, err);
    taught_models_free(&models);
    workloads_free(loads);
    registry_free(reg);
    return status;
}

const command cmd_fit =
    COMMAND("fit", "OBSERVATIONS.csv...", "Fit coefficients to observations, write a machine file",
            fit_options, 1, VALIDATE_DEVICES, check, run);
