/* layermeter transfer: coefficients for a device that nobody measured; times of runs on other GPUs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/transfer_runs.h"
#include "observe/variants.h"
#include "report/table.h"
#include "single/learned.h"
#include "transfer/correct.h"
#include "transfer/transfer.h"

enum { FROM, TO, OUTPUT, WITH, WHERE, POWER, NEAR, LEARNED, SORT, PRICES, SPOT, DEVICES, FORMAT };

static const option_spec specs[] = {
    [FROM] = { "from", "LIST", NULL, "devices of the machine files, in their order: A,B (needed)" },
    [TO]   = { "to", "DEVICE", NULL, "device to carry the coefficients over to (needed)" },
    [OUTPUT] = { "output", "FILE", NULL, "machine file to write (also -o; needed)" },
    [WITH]   = { "with", "FILE", NULL, "a few observations of the new device, to correct by" },
    [WHERE]  = { "where", "WORDS", NULL,
                 "of these, such networks only: dtype=bf16, layout=nhwc ... (all must hold)" },
    [POWER] = { "power", "EXPONENT", "0.5", "of peaks per watt of power limit; 0: by peaks alone" },
    [NEAR]  = { "near", "WIDTH", "0.5",
                "of the Gaussian that averages machines, in distances of datasheets" },
    [LEARNED] = { "learned", "FILE", NULL,
                  "of 'layermeter learn': the argument is a file of runs, not of a machine" },
    [SORT]    = { "sort", "KEY", "time", "runs: GPUs in the order of time or cost" },
    [PRICES]  = OPTION_PRICES,
    [SPOT]    = OPTION_SPOT,
    [DEVICES] = OPTION_DEVICES,
    [FORMAT]  = { "format", "FORMAT", "table", "table, csv or json" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "Each coefficient is scaled by what bounds it, as datasheets have it ('layermeter devices'):\n"
    "arithmetic by the peak of the element type, traffic by the bandwidth, what each plane of a small\n"
    "image costs by peak per multiprocessor, launches and all-reduces not at all; arithmetic also by\n"
    "(peak per watt of limit)^--power, as what asks more of a limit keeps a lower clock. Of several\n"
    "machines the mean is taken, near devices first. Carried over are what the default model says of whole\n"
    "networks and prices of single layers, without their residuals; single kernels: 'layermeter fit --like'.\n"
    "--with takes a few networks or single layers that were measured on the new device (five networks or\n"
    "twenty layers are many), finds one factor for each resource, of layers one for forward passes and one\n"
    "for the rest of training, and corrects by it; 'factor' shows them, 'share' what part of the time that\n"
    "they correct was the resource's.\n"
    "Intervals are those of the machines, wider by what leaving each machine out shows, or by a factor of\n"
    "2 where there is but one (1.5 if corrected), in squares of logarithms; with three networks or layers or\n"
    "more to correct by, by leaving these out. Predictions from the new file are marked 'transferred' under 'beyond'.\n"
    "\n"
    "With --learned the argument is a file of runs (columns gpu, seconds, and the metrics that were learned from;\n"
    "'layermeter learn --help'): each run's time on the GPUs of --to (all that were learned from), with what it costs\n"
    "there and its 90 % interval. 'basis' says whether runs on both GPUs were learned from, or datasheets tell.\n"
    "--from takes the runs on that GPU only.\n";

static const char examples[] =
    "  layermeter transfer v100.ini --from V100-SXM2-16GB --to A100-SXM4-40GB -o a100.ini\n"
    "  layermeter transfer p100.ini v100.ini --from P100-PCIE-16GB,V100-SXM2-16GB --to T4 --with few.csv "
    "-o t4.ini\n"
    "  layermeter transfer mine.ini --devices boards.ini --from 'my board' --to 'next board' -o next.ini\n"
    "  layermeter transfer job.csv --learned gpus.txt --to V100-SXM2-16GB,A10G --sort cost\n";

/* Everything that is opened. */
typedef struct work {
    device_list    *devices;
    calibration    *machine[TRANSFER_SOURCES];
    transfer_source from[TRANSFER_SOURCES];
    size_t          n;
    const device   *to;
    calibration    *cal;
    registry       *reg;
    workloads      *loads;
    observations   *obs;
    points          p;
    correct_row    *row;
    size_t          n_rows;
    correct_factors factors;
    correct_errors  errors;
    intervals       own;              /**< of the machines, before they are widened */
    double          share[N_CORRECT]; /**< of what corrects, before */
    bool            of_layers;        /**< factors of single layers, too */
} work;

static void work_free(work *w)
{
    for (size_t i = 0; i < w->n; i++)
        calibration_free(w->machine[i]);
    calibration_free(w->cal);
    devices_free(w->devices);
    free(w->row);
    points_free(&w->p);
    observations_free(w->obs);
    workloads_free(w->loads);
    registry_free(w->reg);
}

static bool real_option(const options *o, int at, double least, double *out, int *code)
{
    lm_error err;
    char     name[40];

    if (!text_real(o->value[at], out, &err) && *out >= least && isfinite(*out))
        return true;
    lm_error_set(&err, LM_E_ARG, "expected a number from %g up, found '%.40s'", least,
                 o->value[at]);
    snprintf(name, sizeof name, "--%s", o->command->options[at].name);
    *code = report_misuse(name, &err);
    return false;
}

/* What can be told from the command line alone. */
static bool parse(const options *o, transfer_options *how, format *f, int *code)
{
    static const int needed[] = { FROM, TO, OUTPUT };
    lm_error         err      = { 0 };

    *how = transfer_default;
    if (format_parse(o->value[FORMAT], f, &err)) {
        *code = report_misuse("", &err);
        return false;
    }
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!o->value[needed[i]]) {
            lm_error_set(&err, LM_E_ARG, "--%s is needed: %s", specs[needed[i]].name,
                         specs[needed[i]].doc);
            *code = report_misuse("", &err);
            return false;
        }
    if (o->value[WHERE] && !o->value[WITH]) {
        lm_error_set(&err, LM_E_ARG, "is about the observations of --with, which is not there");
        *code = report_misuse("--where", &err);
        return false;
    }
    if (o->value[WITH])
        how->doubt_most = TRANSFER_DOUBT_CORRECTED;
    return real_option(o, POWER, 0, &how->power, code) &&
           real_option(o, NEAR, 0.01, &how->near, code);
}

static lm_status open_sources(const options *o, work *w, lm_error *err)
{
    char      list[1024], *name[TRANSFER_SOURCES + 1];
    size_t    n;
    lm_status status = devices_open(o->value[DEVICES], &w->devices, err);

    if (status)
        return status;
    snprintf(list, sizeof list, "%s", o->value[FROM]);
    n = text_split(list, ',', name, TRANSFER_SOURCES + 1);
    if (n != (size_t)o->n_arguments)
        return lm_error_set(err, LM_E_ARG,
                            "--from: %zu devices for %d machine files: it takes one each, and at "
                            "most %d",
                            n, o->n_arguments, TRANSFER_SOURCES);
    for (size_t i = 0; i < n && !status; i++) {
        status = devices_find(w->devices, name[i], &w->from[i].device, err);
        if (!status)
            status = calibration_load(o->argument[i], &w->machine[i], err);
        if (status)
            return status;
        w->n           = i + 1;
        w->from[i].cal = w->machine[i];
        if (w->machine[i]->transferred)
            return lm_error_set(err, LM_E_ARG,
                                "%s was itself carried over from another device: name the machine "
                                "that was measured",
                                o->argument[i]);
    }
    return devices_find(w->devices, o->value[TO], &w->to, err);
}

static lm_status widen(work *w, const transfer_options *how, lm_error *err)
{
    double    doubt;
    lm_status status = transfer_doubt(w->from, w->n, w->to, how, &doubt, err);

    w->own = w->cal->intervals[0];
    if (status)
        return status;
    return transfer_widen(w->cal, doubt, w->n < 2 ? "assumed" : "machines left out")
               ? LM_OK
               : no_memory(err);
}

/* Times of the new device must be of what the coefficients are of. */
static lm_status check_variant(const work *w, const char *path, lm_error *err)
{
    for (size_t i = 0; i < w->p.n_points; i++) {
        const observation *row = w->p.point[i].row;

        if (row->kind != OBS_COLLECTIVE && w->cal->dtype && row->dtype != w->cal->dtype)
            return lm_error_set(err, LM_E_ARG, "%s:%d: dtype %s, but the machines are of %s", path,
                                row->line, text_dtype_name(row->dtype),
                                text_dtype_name(w->cal->dtype));
    }
    return points_check_variants(&w->p, path, err);
}

static const char *groups_name(const work *w)
{
    return w->of_layers ? "single layers" : "networks";
}

static size_t n_factors(const work *w)
{
    return w->of_layers ? N_CORRECT : N_RESOURCES;
}

static lm_status note_correction(const options *o, work *w, lm_error *err)
{
    char   text[300];
    size_t n = (size_t)snprintf(text, sizeof text, "%zu times of %zu %s:", w->factors.rows,
                                w->errors.groups, groups_name(w));

    for (size_t r = 0; r < n_factors(w); r++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %s x%.3g",
                              r == CORRECT_BACKWARD ? ", backward" : "",
                              resource_name((resource)(r % N_RESOURCES)), w->factors.of[r]);
    snprintf(text + n, sizeof text - n, ", of %.60s", o->value[WITH]);
    return calibration_note(w->cal, "corrected_by", text) ? LM_OK : no_memory(err);
}

static lm_status correct(const options *o, work *w, lm_error *err)
{
    const char *path   = o->value[WITH];
    double      sum    = 0;
    lm_status   status = open_registry(o, &w->reg, err);

    if (status || (status = workloads_new(w->reg, &w->loads, err)) ||
        (status = observations_load(path, &w->obs, err)) ||
        (status = points_from(w->obs, w->loads, &w->p, err)))
        return status;
    if (o->value[WHERE] && (status = points_where(&w->p, o->value[WHERE], err))) {
        lm_error_prefix(err, "%s", path);
        return status;
    }
    if ((status = check_variant(w, path, err)) ||
        (status = points_count_terms(&w->p, w->loads, &w->cal->settings, err)))
        return status;
    if ((status = correct_rows(w->cal, &w->p, &w->row, &w->n_rows, err))) {
        lm_error_prefix(err, "%s", path);
        return status;
    }
    for (size_t i = 0; i < w->p.n_points; i++)
        w->of_layers |= w->p.point[i].shape && w->cal->layers;
    for (size_t i = 0; i < w->n_rows; i++)
        for (size_t r = 0; r < N_CORRECT; r++)
            w->share[r] += w->row[i].part[r] / w->row[i].seconds;
    for (size_t r = 0; r < N_CORRECT; r++)
        sum += w->share[r];
    for (size_t r = 0; r < N_CORRECT; r++)
        w->share[r] /= sum;
    status = correct_calibration(w->cal, w->row, w->n_rows, &w->own, &w->factors, &w->errors, err);
    return status ? status : note_correction(o, w, err);
}

static void add_columns(table *t, bool corrected)
{
    table_column(t, "device", "device", 0);
    table_column(t, "weight", "weight", 2);
    table_column(t, "resource", "resource", 0);
    table_column(t, "scale", "scale", 3);
    if (corrected) {
        table_column(t, "factor", "factor", 3);
        table_column(t, "share", "share", 2);
    }
}

static void add_rows(table *t, const work *w, bool corrected)
{
    for (size_t i = 0; i < w->n; i++)
        for (size_t r = 0; r < n_factors(w); r++) {
            const char *of = resource_name((resource)(r % N_RESOURCES));
            char        name[40];

            snprintf(name, sizeof name, "%s%s", of, r < CORRECT_BACKWARD ? "" : ", backward");
            table_text(t, w->from[i].device->name);
            table_real(t, w->from[i].weight);
            table_text(t, name);
            table_real(t, w->from[i].scale.of[r % N_RESOURCES]);
            if (corrected) {
                table_real(t, w->factors.of[r]);
                table_real(t, w->share[r]);
            }
        }
}

/* What of a machine file says nothing of another device. */
static void print_left_out(const char *path, const calibration *cal)
{
    const struct {
        bool        there;
        const char *what;
    } of[] = {
        { cal->layers && learned_any(cal->layers), "the residual of its single layers" },
        { cal->operators, "prices of single kernels" },
        { cal->composed, "factors of networks composed of single layers" },
        { cal->overlapping.rows, "what buckets hide" },
        { cal->power, "powers" },
    };
    const char *between = "";

    for (size_t k = 0; k < sizeof of / sizeof of[0] + cal->n_learned; k++) {
        const bool  model = k >= sizeof of / sizeof of[0];
        const char *what  = model ? cal->learned[k - sizeof of / sizeof of[0]].name : of[k].what;

        if (!model && !of[k].there)
            continue;
        if (!*between)
            fprintf(stderr, "layermeter: %s: of that device alone, and left out: ", path);
        fprintf(stderr, "%s%s%s", between, model ? "the learned model " : "", what);
        between = ", ";
    }
    if (*between)
        fputc('\n', stderr);
}

/* What there is no knowing, in words. */
static void print_words(const options *o, const work *w)
{
    for (size_t i = 0; i < w->n; i++)
        print_left_out(o->argument[i], w->machine[i]);
    if (o->value[WITH])
        print_flagged(w->obs, &w->p);
    if (o->value[WITH] && !isnan(w->errors.mape))
        fprintf(stderr,
                "layermeter: %s: %.1f %% off by datasheets alone, %.1f %% with each of %zu %s "
                "left out of the correction\n",
                o->value[WITH], 100 * w->errors.mape_before, 100 * w->errors.mape, w->errors.groups,
                groups_name(w));
    for (size_t s = 0; s < N_INTERVALS; s++)
        if (interval_known(&w->cal->intervals[0].of[s]))
            return;
    fprintf(stderr, "layermeter: intervals are unknown: those of the machine files are\n");
}

/* Runs by what was learned from others; machine files by datasheets. Options of the one are not for
 * the other. */
static int run_learned(const options *o)
{
    static const int                   of_machines[] = { OUTPUT, WITH, WHERE, POWER, NEAR };
    static const transfer_runs_options at            = { .learned = LEARNED,
                                                         .from    = FROM,
                                                         .to      = TO,
                                                         .sort    = SORT,
                                                         .prices  = PRICES,
                                                         .spot    = SPOT,
                                                         .devices = DEVICES,
                                                         .format  = FORMAT };
    const int code = options_refuse(o, of_machines, sizeof of_machines / sizeof of_machines[0],
                                    "machine files, without --learned");

    return code == EXIT_DONE ? transfer_runs(o, &at) : code;
}

static int run_machines(const options *o)
{
    static const int of_runs[] = { SORT, PRICES, SPOT };
    lm_error         err       = { 0 };
    work             w         = { .n = 0 };
    table           *t         = table_new();
    transfer_options how;
    format           f;
    int              code =
        options_refuse(o, of_runs, sizeof of_runs / sizeof of_runs[0], "runs, with --learned");

    if (code != EXIT_DONE || !parse(o, &how, &f, &code))
        goto out;
    if (open_sources(o, &w, &err) || transfer_prepare(w.from, w.n, w.to, &how, &err) ||
        transfer_pool(w.from, w.n, w.to, &how, &w.cal, &err) || widen(&w, &how, &err) ||
        (o->value[WITH] && correct(o, &w, &err)) ||
        calibration_save(w.cal, o->value[OUTPUT], &err)) {
        code = report_failure(&err);
        goto out;
    }
    print_words(o, &w);
    add_columns(t, o->value[WITH]);
    add_rows(t, &w, o->value[WITH]);
    if (table_print(t, f, stdout, &err))
        code = report_failure(&err);
out:
    table_free(t);
    work_free(&w);
    return code;
}

static int run(const options *o)
{
    return o->value[LEARNED] ? run_learned(o) : run_machines(o);
}

const command cmd_transfer = {
    .name          = "transfer",
    .arguments     = "MACHINE.ini... | RUNS.csv",
    .doc           = "Carry coefficients, or runs, over to a device that was not measured",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = TRANSFER_SOURCES,
    .run           = run,
};
