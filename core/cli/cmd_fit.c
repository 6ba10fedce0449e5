/* layermeter fit: observations to coefficients. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/fit_layers.h"
#include "cli/fit_like.h"
#include "cli/fit_pool.h"
#include "cli/fit_power.h"
#include "cli/fit_residual.h"
#include "cli/fit_runs.h"
#include "cli/learned_models.h"
#include "cli/validate_devices.h"
#include "fit/allreduces.h"
#include "fit/fit.h"
#include "observe/launches.h"
#include "observe/variants.h"
#include "report/table.h"
#include "single/model.h"
#include "single/operator_model.h"

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
                     "fit these all-reduces only: default or ring; else all but ring" },
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
    "--residual grows trees (XGBoost) on log(measured / priced), judges them by shapes that neither the\n"
    "prices nor the trees saw, and keeps them where their error is lower by 3 % or more: in a file beside\n"
    "the machine file, MACHINE.residual, of single kernels MACHINE.kernels. Outside of what they were grown\n"
    "on they say nothing.\n"
    "Several files are of a machine each. Each machine has its own prices of single layers; the residual is\n"
    "one for all, which knows the devices by their datasheets: a machine with 60 rows has it of the others.\n"
    "So is a model of --model, with features of devices.\n"
    "--model learns models that others published of single layers, to be compared or used: each goes into\n"
    "a file beside the machine file, MACHINE.NAME. justus: perceptrons on the keys of convolutions and\n"
    "fully connected layers (arXiv:1811.11880); prenet: on operations, memory and keys of these and of\n"
    "recurrent layers, attention, embeddings and layer norms the best of five learners for each type\n"
    "(arXiv:2412.15519); nicolai: random forests of time and of power on the attributes and sizes of any\n"
    "layer. 'held out' is the error on rows, of prenet on shapes, that were set apart.\n"
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

static void add_columns(table *t)
{
    table_column(t, "model", "model", 0);
    table_column(t, "part", "part", 0);
    table_column(t, "rows", "rows", 0);
    table_column(t, "coefficients", "coefficients", 0);
    table_column(t, "rank", "rank", 0);
    table_column(t, "condition", "condition", -1);
    table_column(t, "r2", "R2", 4);
    table_column(t, "rmse_ms", "RMSE [ms]", 3);
    table_column(t, "nrmse", "NRMSE", 3);
    table_column(t, "mape_percent", "MAPE [%]", 1);
    table_column(t, "held_out_mape_percent", "held out [%]", 1);
}

/* Of terms those that some row has. */
static size_t count_coefficients(size_t form_at, const fitted *f)
{
    size_t n = forms[form_at].n_features;

    for (size_t t = 0; !forms[form_at].n_features && t < N_TERMS; t++)
        n += f->term[t].low <= f->term[t].high;
    return n;
}

static void add_row(table *t, size_t form_at, const fitted *f)
{
    table_text(t, forms[form_at].model);
    table_text(t, part_name(forms[form_at].part));
    table_count(t, f->rows);
    if (f->by_allreduces) {
        table_text(t, "");
        table_text(t, "");
    } else {
        table_count(t, count_coefficients(form_at, f));
        table_count(t, f->rank);
    }
    table_real(t, f->condition);
    table_real(t, f->errors.r2);
    table_real(t, 1e3 * f->errors.rmse);
    table_real(t, f->errors.nrmse);
    table_real(t, 100 * f->errors.mape);
    table_real(t, 100 * f->held_out_mape);
}

/* Prices of one kind of kernels. */
static void add_operators(table *t, operator_class class, const operator_prices *p)
{
    char name[60];

    snprintf(name, sizeof name, "kernels %s", operator_class_name(class));
    table_text(t, "layermeter");
    table_text(t, name);
    table_count(t, p->rows);
    table_count(t, p->columns.n);
    table_text(t, "");
    for (int i = 0; i < 4; i++) /* condition, R2, RMSE, NRMSE */
        table_real(t, NAN);
    table_real(t, 100 * p->mape);
    table_real(t, NAN);
}

/* All-reduces by an algorithm, within a node and between nodes; those of 0 are not in use. */
static void add_allreduces(table *t, const collective_model *m)
{
    for (size_t i = 0; i < m->n; i++)
        for (fabric at = 0; at < N_FABRICS; at++) {
            const fabric_model *of   = &m->algorithm[i].of[at];
            size_t              used = 0;
            char                name[80];

            if (!of->rows)
                continue;
            for (size_t k = 0; k < of->n_planes; k++)
                for (sync_column c = 0; c < N_SYNC_COLUMNS; c++)
                    used += of->plane[k].price[c] > 0;
            snprintf(name, sizeof name, "allreduce.%s.%s", m->algorithm[i].name, fabric_name(at));
            table_text(t, model_at(0));
            table_text(t, name);
            table_count(t, of->rows);
            table_count(t, used);
            table_text(t, "");
            table_real(t, NAN);
            table_real(t, of->errors.r2);
            table_real(t, 1e3 * of->errors.rmse);
            table_real(t, of->errors.nrmse);
            table_real(t, 100 * of->errors.mape);
            table_real(t, NAN);
        }
}

/* Classes of single layers. */
static void add_layers(table *t, const layer_model *m)
{
    for (size_t c = 0; c < N_LAYER_CLASSES; c++) {
        const layer_prices *p    = &m->of[c];
        size_t              used = 0;
        char                part_text[40];

        if (!p->present)
            continue;
        for (size_t j = 0; j < p->columns.n; j++)
            used += p->columns.column[j].rows > 0;
        snprintf(part_text, sizeof part_text, "single.%s", layer_classes[c]->name);
        table_text(t, model_at(0));
        table_text(t, part_text);
        table_count(t, p->rows);
        table_count(t, p->columns.n);
        table_count(t, used);
        table_real(t, NAN);
        table_real(t, p->errors.r2);
        table_real(t, 1e3 * p->errors.rmse);
        table_real(t, NAN);
        table_real(t, 100 * p->errors.mape);
        table_real(t, NAN);
    }
}

/* Coefficients that the data cannot tell apart, in one line. */
static void print_undetermined(const form *f, const fitted *found)
{
    bool any = false, nodes = false;

    for (size_t k = 0; k < f->n_features && !found->by_allreduces; k++) {
        if (found->coefficient[k].determined)
            continue;
        if (!any)
            fprintf(stderr, "layermeter: %s.%s: the data cannot determine", f->model,
                    part_name(f->part));
        fprintf(stderr, "%s '%s'", any ? "," : "", feature_name(f->feature[k]));
        nodes |= f->feature[k] == FEATURE_NODES || f->feature[k] == FEATURE_RING_STEPS;
        any = true;
    }
    if (any)
        fprintf(stderr, ": measure more %s\n",
                nodes ? "node counts, or more networks" : "networks, batches or images");
}

/* Most terms are not told apart by the rows alone; families and their ratios do the rest. */
static void print_tied(size_t form_at, const fitted *f)
{
    const size_t n =
        forms[form_at].n_features || f->by_allreduces ? 0 : count_coefficients(form_at, f);

    if (n > 2 * f->rank)
        fprintf(stderr,
                "layermeter: %s.%s: the data tell %zu of %zu coefficients apart, the others go by "
                "similar kernels: measure more networks, batches or images\n",
                forms[form_at].model, part_name(forms[form_at].part), f->rank, n);
}

/* Networks, or what is left out like one. */
static size_t count_networks(const points *p)
{
    return p->n_groups - (p->collectives != NAMES_NONE);
}

/* Nothing but all-reduces, or nothing: no network is missed. */
static bool only_allreduces(const points *p)
{
    for (size_t i = 0; i < p->n_points; i++)
        if (p->point[i].row->kind != OBS_COLLECTIVE)
            return false;
    return true;
}

/* Too few networks for any interval. */
static void print_unknown_intervals(const observations *obs, const points *p,
                                    const calibration *cal)
{
    for (size_t m = 0; model_at(m); m++)
        for (size_t s = 0; s < N_INTERVALS; s++)
            if (interval_known(&cal->intervals[m].of[s]))
                return;
    if (count_networks(p) == 1)
        fprintf(
            stderr,
            "layermeter: %s: one network only: of others nothing is known but what similar kernels "
            "take, and no interval: measure %d networks or more\n",
            obs->path, INTERVAL_GROUPS);
    else
        fprintf(
            stderr,
            "layermeter: %s: intervals are unknown: they take %d %s or more that can be left out\n",
            obs->path, INTERVAL_GROUPS, only_allreduces(p) ? "numbers of nodes" : "networks");
}

/* What was measured of all-reduces leaves open. */
static void print_allreduces(const observations *obs, const points *p, const calibration *cal)
{
    const size_t uneven = allreduces_uneven(p);

    if (uneven)
        fprintf(stderr,
                "layermeter: %s: %zu all-reduce%s not used: their ranks are not the same number on "
                "each host\n",
                obs->path, uneven, uneven == 1 ? " is" : "s are");
    if (!cal->allreduces)
        return;
    if (strcmp(cal->allreduces->algorithm[0].name, ALGORITHM_DEFAULT) != 0 && !p->algorithm)
        fprintf(stderr,
                "layermeter: %s: no all-reduce by the library's own choice: '%s' answers for it\n",
                obs->path, cal->allreduces->algorithm[0].name);
    if (cal->allreduces->algorithm[0].of[FABRIC_MULTI].one_count)
        fprintf(
            stderr,
            "layermeter: %s: all-reduces between nodes were measured on one number of nodes: how "
            "their latency grows is assumed; measure two more, one of 8 nodes or more\n",
            obs->path);
}

/* What the data cannot say, in words. */
static void print_warnings(const observations *obs, const points *p, const calibration *cal,
                           bool corrected)
{
    if (obs->cut_short)
        fprintf(
            stderr,
            "layermeter: %s: the last line is cut short and left out (a run that was killed?)\n",
            obs->path);
    if (obs->n_skipped)
        fprintf(stderr, "layermeter: %zu rows hold no time (skipped when measured)\n",
                obs->n_skipped);
    for (size_t i = 0; i < p->n_points; i++)
        if (p->point[i].load.counts.layers_not_lowered) {
            fprintf(stderr,
                    "layermeter: %s has layers without kernels: no regressor holds their FLOPs\n",
                    p->point[i].row->name);
            break;
        }
    if (p->n_kernel_rows && !cal->operators)
        fprintf(stderr,
                "layermeter: %zu rows of single kernels are not used: of no kind there are %d\n",
                p->n_kernel_rows, OPERATOR_LEAST_ROWS);
    if (p->n_layer_rows)
        fprintf(stderr,
                "layermeter: %zu rows of single layers are not used beside whole networks\n",
                p->n_layer_rows);
    if (p->n_other_optimizer)
        fprintf(stderr, "layermeter: the update of %zu points is left out: another optimizer\n",
                p->n_other_optimizer);
    if (fit_steps_alone(p) && !corrected)
        fprintf(
            stderr,
            "layermeter: whole steps of %zu point%s are not used beside steps with their parts: "
            "--correct takes them\n",
            fit_steps_alone(p), fit_steps_alone(p) == 1 ? "" : "s");
    print_flagged(obs, p);
    print_allreduces(obs, p, cal);
    for (size_t c = 0; cal->layers && c < N_LAYER_CLASSES; c++)
        if (cal->layers->of[c].rows && !cal->layers->of[c].present)
            fprintf(stderr,
                    "layermeter: %s.single.%s is left out: %zu times of such layers, %zu are "
                    "needed\n",
                    model_at(0), layer_classes[c]->name, cal->layers->of[c].rows,
                    layer_classes[c]->fewest);
    for (size_t i = 0; i < n_forms && !only_allreduces(p); i++) {
        const fitted *f = &cal->fitted[i];

        if (!f->present) {
            /* what few files hold is not missed */
            if (!f->rows && !part_calibrated(forms[i].part))
                continue;
            fprintf(stderr, "layermeter: %s.%s is left out: too few rows, it needs %zu\n",
                    forms[i].model, part_name(forms[i].part), form_rows(&forms[i]));
            continue;
        }
        print_undetermined(&forms[i], f);
        print_tied(i, f);
    }
    if (p->n_points)
        print_unknown_intervals(obs, p, cal);
}

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
    return lm_error_set(err, LM_E_NOMEM, "out of memory");
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

static int run(const options *o)
{
    lm_error        err   = { 0 };
    registry       *reg   = NULL;
    workloads      *loads = NULL;
    observations   *obs   = NULL;
    calibration    *cal   = NULL;
    points          p     = { 0 };
    table          *t     = table_new();
    int             code  = EXIT_DONE;
    format          f;
    residual_choice choice;
    learned_models  learned = { .n = 0 };
    power_choice    power;
    calibration    *layers = NULL;
    fit_runs        runs   = { .path = NULL };

    if (format_parse(o->value[FORMAT], &f, &err)) {
        code = report_misuse("", &err);
        goto out;
    }
    if (!o->value[OUTPUT]) {
        lm_error_set(&err, LM_E_ARG, "-o MACHINE.ini is needed: where to write the coefficients");
        code = report_misuse("", &err);
        goto out;
    }
    if (residual_choice_parse(o->value[RESIDUAL], &choice, &err)) {
        code = report_misuse("--residual", &err);
        goto out;
    }
    if (!learned_models_parse(o->value[MODEL], o->value[LEARN], &learned, &code))
        goto out;
    if (o->value[CORRECT] && o->value[LAYERS]) {
        lm_error_set(&err, LM_E_ARG,
                     "networks of --layers are composed of single layers, which whole "
                     "steps do not tell apart");
        code = report_misuse("--correct", &err);
        goto out;
    }
    if (o->n_arguments > 1) {
        code = run_pool(o, choice, &learned, f);
        goto out;
    }
    if (!power_options_read(o, &(power_options){ IDLE_POWER, POWER_CAP, KNEE, -1, true }, &power,
                            &code))
        goto out;
    if (open_registry(o, &reg, &err) || workloads_new(reg, &loads, &err) ||
        observations_load(o->argument[0], &obs, &err) || points_from(obs, loads, &p, &err) ||
        (o->value[WHERE] && choose_where(o, obs, &p, &err)) ||
        (o->value[ALGORITHM] && choose_algorithm(o, obs, &p, &err)) ||
        (o->value[LAYERS] && fit_layers_load(o->value[LAYERS], obs, &p, &layers, &err)) ||
        fit_to(o, obs, &p, &cal, &err) || (layers && fit_layers_compose(&p, layers, cal, &err)) ||
        (o->value[LIKE] && fit_like(cal, o->argument[0], o->value[LIKE], &err)) ||
        fit_residual(obs, &p, choice, cal, &err) || learn(o, obs, &p, &learned, cal, &err) ||
        fit_power(obs, loads, &p, o->value[WHERE], o->value[DEVICE], &power, cal, &err) ||
        (o->value[CORRECT] && fit_runs_correct(o->value[CORRECT], loads, cal, &runs, &err))) {
        code = report_failure(&err);
        goto out;
    }
    if (note_algorithm(o, cal, &err) || calibration_save(cal, o->value[OUTPUT], &err)) {
        code = report_failure(&err);
        goto out;
    }
    print_warnings(obs, &p, cal, o->value[CORRECT] && !strcmp(o->value[CORRECT], obs->path));
    fit_runs_print(&runs);
    add_columns(t);
    for (size_t i = 0; i < n_forms; i++)
        if (cal->fitted[i].present)
            add_row(t, i, &cal->fitted[i]);
    for (operator_class c = 0; cal->operators && c < N_OPERATOR_CLASSES; c++)
        if (cal->operators->of[c].columns.n)
            add_operators(t, c, &cal->operators->of[c]);
    if (cal->layers)
        add_layers(t, cal->layers);
    add_residuals(t, cal);
    learned_models_rows(&learned, t);
    if (cal->allreduces)
        add_allreduces(t, cal->allreduces);
    if (cal->power)
        add_power(t, cal->power);
    if (table_print(t, f, stdout, &err))
        code = report_failure(&err);
out:
    fit_runs_free(&runs);
    learned_models_free(&learned);
    table_free(t);
    points_free(&p);
    calibration_free(cal);
    calibration_free(layers);
    observations_free(obs);
    workloads_free(loads);
    registry_free(reg);
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
