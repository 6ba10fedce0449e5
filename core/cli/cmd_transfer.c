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
#include "crossgpu/pairs.h"
#include "machine/machine.h"
#include "observe/variants.h"
#include "report/table.h"
#include "single/learned.h"
#include "transfer/correct.h"
#include "transfer/transfer.h"

#define AT(member) OPTION_AT(transfer_command, member)

static const option_row option_rows[] = {
    { "from", AT(from), &type_names, "LIST", NULL, HELP_WHERE,
      "devices of the machine files, in their order: A,B (needed)" },
    { "to", AT(to), &type_names, "DEVICE", NULL, HELP_WHERE,
      "device to carry the coefficients over to (needed); of runs several: A,B" },
    { "devices", AT(devices) },
    { "with", AT(machines.with), &type_text, "FILE", NULL, HELP_WHAT,
      "a few observations of the new device, to correct by" },
    { "where", AT(machines.where), .needs = "with",
      .refusal = "is about the observations of --with, which is not there",
      .help    = "only networks of --with that were measured so: dtype=bf16,layout=nhwc" },
    { "learned", AT(learned), &type_text, "FILE", NULL, HELP_WHAT,
      "written by 'layermeter learn': the argument is a file of runs, not of a machine" },
    { "power", AT(machines.how.power), &type_real, "EXPONENT", "0.5", HELP_HOW,
      "of peaks per watt of power limit; 0: by peaks alone",
      .outside = "expected a number from 0 up, found" },
    { "near", AT(machines.how.near), &type_real, "WIDTH", "0.5", HELP_HOW,
      "of the Gaussian that averages machines, in distances of datasheets", .least = 0.01,
      .outside = "expected a number from 0.01 up, found" },
    { "prices", AT(runs.prices) },
    { "spot", AT(runs.spot) },
    { "sort", AT(runs.sort), &type_choice, "KEY", "time", HELP_OUTPUT, "order of the GPUs of a run",
      .choices = "time or cost" },
    { "output", AT(machines.output), .help = "machine file to write (also -o; needed)" },
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] =
    "Each coefficient is scaled by the datasheet figure that bounds it ('layermeter devices'): arithmetic\n"
    "by the peak of the element type, traffic by the bandwidth, planes of a small image by peak per\n"
    "multiprocessor, launches and all-reduces not at all; arithmetic also by (peak per watt of\n"
    "limit)^--power, since a higher demand on the limit means a lower clock. Several machines are\n"
    "averaged, near devices first. The new file has the default model of whole networks and the prices of\n"
    "single layers, without residuals; for single kernels see 'layermeter fit --like'.\n"
    "\n"
    "--with takes a few networks or single layers that were measured on the new device (five networks or\n"
    "twenty layers are many) and finds one factor for each resource; for layers one for forward passes\n"
    "and one for the rest of training. 'factor' shows them; 'share' is the resource's share of the time\n"
    "before the correction. Intervals are those of the machines, wider by what leaving each machine out\n"
    "shows. With one machine they are wider by a factor of 2 (1.5 if corrected), in squares of\n"
    "logarithms; with three networks or layers to correct by, by leaving these out. Predictions from the\n"
    "new file are marked 'transferred' under 'beyond'.\n"
    "\n"
    "With --learned the argument is a file of runs (columns gpu, seconds and the learned metrics; see\n"
    "'layermeter learn --help'). It prints the time of each run on the GPUs of --to (default: all that\n"
    "were learned from), its cost and its 90 % interval. 'basis' says whether runs on both GPUs were\n"
    "learned from, or datasheets. --from takes only the runs on that GPU.\n";

static const char examples[] =
    "  layermeter transfer v100.ini --from V100-SXM2-16GB --to A100-SXM4-40GB -o a100.ini\n"
    "  layermeter transfer p4.ini v100.ini --from P4,V100-SXM2-16GB --to T4 --with few.csv -o t4.ini\n"
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

/* What is needed of machine files: "--to is needed: device ..." */
static lm_status check_needed(const options *o, const transfer_command *a, lm_error *err)
{
    if (!a->from.n)
        return lm_error_set(err, LM_E_ARG,
                            "--from is needed: devices of the machine files, in their order: A,B");
    if (!a->to.n)
        return lm_error_set(err, LM_E_ARG,
                            "--to is needed: device to carry the coefficients over to (needed)");
    if (!a->machines.output)
        return lm_error_set(err, LM_E_ARG,
                            "--output is needed: machine file to write (also -o; needed)");
    if (a->to.n > 1)
        return misused(o, &a->to, err, "takes one device: several are for runs, with --learned");
    return LM_OK;
}

/* Runs go by what was learned from others, machine files by datasheets. Options of the one are not
 * for the other. */
static lm_status check(options *o, lm_error *err)
{
    transfer_command *a = o->filled;
    lm_status         status =
        a->learned
                    ? refused(o, &a->machines, sizeof a->machines, "machine files, without --learned", err)
                    : refused(o, &a->runs, sizeof a->runs, "runs, with --learned", err);

    if (status)
        return status;
    if (!a->learned)
        return check_needed(o, a, err);
    if (a->to.n > GPUS_MAX)
        return misused(o, &a->to, err, "more than %d", GPUS_MAX);
    return o->n_arguments == 1 ? LM_OK
                               : misused(o, &a->learned, err,
                                         "goes with one file of runs, not with %d", o->n_arguments);
}

static lm_status open_sources(const options *o, work *w, lm_error *err)
{
    const transfer_command *a      = o->filled;
    const size_t            n      = a->from.n;
    lm_status               status = devices_open(a->devices, &w->devices, err);

    if (status)
        return status;
    if (n != (size_t)o->n_arguments)
        return lm_error_set(err, LM_E_ARG,
                            "--from: %zu devices for %d machine files: it takes one each, and at "
                            "most %d",
                            n, o->n_arguments, TRANSFER_SOURCES);
    for (size_t i = 0; i < n && !status; i++) {
        status = devices_find(w->devices, a->from.at[i], &w->from[i].device, err);
        if (!status)
            status = machine_load(o->argument[i], &w->machine[i], err);
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
    return devices_find(w->devices, a->to.at[0], &w->to, err);
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

static lm_status note_correction(const char *with, work *w, lm_error *err)
{
    char   text[300];
    size_t n = (size_t)snprintf(text, sizeof text, "%zu times of %zu %s:", w->factors.rows,
                                w->errors.groups, groups_name(w));

    for (size_t r = 0; r < n_factors(w); r++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %s x%.3g",
                              r == CORRECT_BACKWARD ? ", backward" : "",
                              resource_name((resource)(r % N_RESOURCES)), w->factors.of[r]);
    snprintf(text + n, sizeof text - n, ", of %.60s", with);
    return calibration_note(w->cal, "corrected_by", text) ? LM_OK : no_memory(err);
}

static lm_status correct(const options *o, work *w, lm_error *err)
{
    const transfer_command *a      = o->filled;
    const char             *path   = a->machines.with;
    double                  sum    = 0;
    lm_status               status = open_registry(o, &w->reg, err);

    if (status || (status = workloads_new(w->reg, &w->loads, err)) ||
        (status = observations_load(path, &w->obs, err)) ||
        (status = points_from(w->obs, w->loads, &w->p, err)))
        return status;
    if (a->machines.where && (status = points_where(&w->p, a->machines.where, err))) {
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
    return status ? status : note_correction(path, w, err);
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
    const transfer_command *a    = o->filled;
    const char             *with = a->machines.with;

    for (size_t i = 0; i < w->n; i++)
        print_left_out(o->argument[i], w->machine[i]);
    if (with)
        print_flagged(w->obs, &w->p);
    if (with && !isnan(w->errors.mape))
        fprintf(stderr,
                "layermeter: %s: %.1f %% off by datasheets alone, %.1f %% with each of %zu %s "
                "left out of the correction\n",
                with, 100 * w->errors.mape_before, 100 * w->errors.mape, w->errors.groups,
                groups_name(w));
    for (size_t s = 0; s < N_TIMES; s++)
        if (interval_known(&w->cal->intervals[0].of[s]))
            return;
    fprintf(stderr, "layermeter: intervals are unknown: those of the machine files are\n");
}

static lm_status carry_over(const options *o, lm_error *err)
{
    const transfer_command *a    = o->filled;
    transfer_options        how  = a->machines.how;
    work                    w    = { .n = 0 };
    table                  *t    = table_new();
    const char             *with = a->machines.with;
    lm_status               status;

    how.doubt_most = with ? TRANSFER_DOUBT_CORRECTED : transfer_default.doubt_most;
    if (!(status = open_sources(o, &w, err)) &&
        !(status = transfer_prepare(w.from, w.n, w.to, &how, err)) &&
        !(status = transfer_pool(w.from, w.n, w.to, &how, &w.cal, err)) &&
        !(status = widen(&w, &how, err)) && !(with && (status = correct(o, &w, err))) &&
        !(status = machine_save(w.cal, a->machines.output, err))) {
        print_words(o, &w);
        add_columns(t, with);
        add_rows(t, &w, with);
        status = table_print(t, a->format, stdout, err);
    }
    table_free(t);
    work_free(&w);
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    const transfer_command *a = o->filled;

    return a->learned ? transfer_runs(o->argument[0], a, err) : carry_over(o, err);
}

const command cmd_transfer =
    COMMAND("transfer", "MACHINE.ini... | RUNS.csv",
            "Carry coefficients, or runs, over to a device that was not measured", transfer_command,
            1, TRANSFER_SOURCES, check, run);
