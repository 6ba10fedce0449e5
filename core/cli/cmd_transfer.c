/* layermeter transfer: coefficients of a device without measurements; times of runs on other GPUs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assemble/host_fit.h"
#include "base/text.h"
#include "cli/commands.h"
#include "crossgpu/elsewhere.h"
#include "crossgpu/pairs.h"
#include "machine/machine.h"
#include "report/fit_notes.h"
#include "single/learned.h"
#include "transfer/carry.h"

typedef struct transfer_command {
    option_texts from, to; /* devices */
    const char  *learned;  /* NULL: machine files are carried over, not runs */
    const char  *devices;
    struct {
        const char      *output, *with, *where, *host;
        transfer_options how; /* without doubt_most */
    } machines;
    struct {
        const char *prices;
        bool        spot;
        enum { RUNS_TIME, RUNS_COST } sort;
    } runs;
    format format;
} transfer_command;

#define AT(member) OPTION_AT(transfer_command, member)

static const option_row option_rows[] = {
    { "from", AT(from), &type_names, "LIST", NULL, HELP_WHERE,
      "devices of the machine files, in the same order: A,B (required)" },
    { "to", AT(to), &type_names, "DEVICE", NULL, HELP_WHERE,
      "target device (required); for runs also several: A,B" },
    { "devices", AT(devices) },
    { "with", AT(machines.with), &type_text, "FILE", NULL, HELP_WHAT,
      "a few observations of the new device, which correct the result" },
    { "where", AT(machines.where), .needs = "with",
      .refusal = "is for the observations of --with, which is missing",
      .help    = "use only networks of --with that have these settings: dtype=bf16,layout=nhwc" },
    { "host", AT(machines.host), &type_text, "FILE", NULL, HELP_WHAT,
      "steps and inference of small batches on the new device, measured by examples/pytorch/collect.py; "
      "they determine the host's time per operation (predict --framework)" },
    { "learned", AT(learned), &type_text, "FILE", NULL, HELP_WHAT,
      "file of 'layermeter learn': the argument is then RUNS.csv" },
    { "power", AT(machines.how.power), &type_real, "EXPONENT", "0.5", HELP_HOW,
      "exponent of the peak per watt of power limit; 0: scale by peaks alone",
      .outside = "expected a number from 0 up, found" },
    { "near", AT(machines.how.near), &type_real, "WIDTH", "0.5", HELP_HOW,
      "width of the Gaussian that weighs machines by the distance of their datasheets",
      .least = 0.01, .outside = "expected a number from 0.01 up, found" },
    { "prices", AT(runs.prices) },
    { "spot", AT(runs.spot) },
    { "sort", AT(runs.sort), &type_choice, "KEY", "time", HELP_OUTPUT, "order of the GPUs of a run",
      .choices = "time or cost" },
    { "output", AT(machines.output), .help = "machine file to write (also -o; required)" },
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] =
    "Each coefficient is scaled by the datasheet figure that bounds it ('layermeter devices'):\n"
    "  arithmetic: by the peak of the element type, and by (peak per watt of power limit)^--power,\n"
    "    because a higher demand on the limit lowers the clock\n"
    "  memory traffic: by the bandwidth\n"
    "  planes of a small image: by the peak of a multiprocessor\n"
    "  launches and all-reduces: not scaled\n"
    "\n"
    "Results from several machines are averaged; similar devices weigh more. The new file has the default\n"
    "model of whole networks and the coefficients of single layers. It has no residuals and no single\n"
    "kernels; for these see 'layermeter fit --like'.\n"
    "\n"
    "--with takes a few networks or single layers that were measured on the new device. Five networks or\n"
    "twenty layers are plenty. The command fits one correction factor for each resource. For layers it\n"
    "fits one factor for forward passes and one for the rest of training. 'factor' shows the factors;\n"
    "'share' is the resource's share of the time before the correction.\n"
    "\n"
    "Intervals are those of the machines, widened by the errors when each machine is left out. With one\n"
    "machine they are widened by a factor of 1.5, in squares of logarithms; or by 3, if only one of the\n"
    "devices is older than Maxwell and there is no correction. With three networks or layers in --with,\n"
    "they are widened by the errors when these are left out. 'beyond' marks predictions from the new file\n"
    "as 'transferred'.\n"
    "\n"
    "With --learned the argument is a file of runs (columns gpu, seconds and the learned metrics; see\n"
    "'layermeter learn --help'). The command predicts the time of each run on the GPUs of --to (default:\n"
    "all learned GPUs), with its cost and a 90 % interval. 'basis' shows whether the prediction comes\n"
    "from runs on both GPUs, or from datasheets. With --from only runs on that GPU are used.\n";

static const char examples[] =
    "  layermeter transfer v100.ini --from V100-SXM2-16GB --to A100-SXM4-40GB -o a100.ini\n"
    "  layermeter transfer p4.ini v100.ini --from P4,V100-SXM2-16GB --to T4 --with few.csv -o t4.ini\n"
    "  layermeter transfer mine.ini --devices boards.ini --from 'my board' --to 'next board' -o next.ini\n"
    "  layermeter transfer job.csv --learned gpus.txt --to V100-SXM2-16GB,A10G --sort cost\n";

/* Options that machine files need: "--to is needed: device ..." */
static lm_status check_needed(const options *o, const transfer_command *a, lm_error *err)
{
    if (!a->from.n)
        return lm_error_set(err, LM_E_ARG,
                            "--from is needed: devices of the machine files, in their order: A,B");
    if (!a->to.n)
        return lm_error_set(err, LM_E_ARG,
                            "--to is needed: device to carry the coefficients over to");
    if (!a->machines.output)
        return lm_error_set(err, LM_E_ARG,
                            "--output is needed: machine file to write (also -o; needed)");
    if (a->to.n > 1)
        return misused(o, &a->to, err, "takes one device: several are for runs, with --learned");
    return LM_OK;
}

/* Refuses options of runs for machine files, and the other way round. */
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

/* A factor of what is carried over from one device. */
typedef struct factor_row {
    const carried         *w;
    const transfer_source *from;
    size_t                 at;
} factor_row;

enum { CORRECTED = 1 };

TEXT_OF(device_of, factor_row, r->from->device->name)
REAL_OF(weight_of, factor_row, r->from->weight)
REAL_OF(scale_of, factor_row, r->from->scale.of[r->at % N_RESOURCES])
REAL_OF(factor_of, factor_row, r->w->factors.of[r->at])
REAL_OF(share_of, factor_row, r->w->share[r->at])

static const char *resource_of(const void *record, size_t i, char *room)
{
    const factor_row *r = record;

    (void)i;
    snprintf(room, FIELD_TEXT_MAX, "%s%s", resource_name((resource)(r->at % N_RESOURCES)),
             r->at < CORRECT_BACKWARD ? "" : ", backward");
    return room;
}

static const field factor_fields[] = {
    { "device", "device", .text = device_of },
    { "weight", "weight", .real = weight_of, .digits = 2 },
    { "resource", "resource", .text = resource_of },
    { "scale", "scale", .real = scale_of, .digits = 3 },
    { "factor", "factor", .real = factor_of, .digits = 3, .when = CORRECTED },
    { "share", "share", .real = share_of, .digits = 2, .when = CORRECTED },
    { 0 },
};

static lm_status print_factors(const carried *w, bool corrected, format f, lm_error *err)
{
    const field_view v = { .fields = factor_fields,
                           .in     = field_place_of(f),
                           .facts  = corrected ? CORRECTED : 0 };
    field_rows       t = field_rows_of(&v);

    for (size_t i = 0; i < w->n; i++)
        for (size_t k = 0; k < carried_factors(w); k++)
            field_row(&t, &(factor_row){ w, &w->from[i], k });
    return field_rows_print(&t, f, stdout, LM_OK, err);
}

/* Parts of a machine file that are left out, since they hold for that device alone. */
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
            note_begin("%s: of that device alone, and left out: ", path);
        fprintf(stderr, "%s%s%s", between, model ? "the learned model " : "", what);
        between = ", ";
    }
    if (*between)
        fputc('\n', stderr);
}

/* Reports what stays unknown. */
static void print_words(const options *o, const carried *w)
{
    const transfer_command *a    = o->filled;
    const char             *with = a->machines.with;

    for (size_t i = 0; i < w->n; i++)
        print_left_out(o->argument[i], w->machine[i]);
    if (with)
        fit_notes_flagged(w->obs, &w->p);
    if (with && !isnan(w->errors.mape))
        note(
            "%s: %.1f %% off by datasheets alone, %.1f %% with each of %zu %s left out of the correction",
            with, 100 * w->errors.mape_before, 100 * w->errors.mape, w->errors.groups,
            carried_groups_name(w));
    for (size_t s = 0; s < N_TIMES; s++)
        if (interval_known(&w->cal->intervals[0].of[s]))
            return;
    note("intervals are unknown: those of the machine files are");
}

static lm_status fit_host(const char *path, const registry *reg, calibration *cal, lm_error *err)
{
    workloads *loads  = NULL;
    lm_status  status = workloads_new(reg, &loads, err);

    if (!status && !(status = host_fit(path, loads, cal, err)))
        host_print(&cal->host, stderr);
    workloads_free(loads);
    return status;
}

static lm_status carry(const options *o, lm_error *err)
{
    const transfer_command *a    = o->filled;
    const char             *with = a->machines.with;
    const carry_question    q    = { .machine = { o->argument, (size_t)o->n_arguments },
                                     .from    = a->from,
                                     .to      = a->to.at[0],
                                     .devices = a->devices,
                                     .with    = with,
                                     .where   = a->machines.where,
                                     .how     = a->machines.how };
    registry               *reg  = NULL;
    carried                 w    = { .n = 0 };
    lm_status               status;

    if (!((with || a->machines.host) && (status = open_registry(o, &reg, err))) &&
        !(status = carry_over(&q, reg, &w, err)) &&
        !(a->machines.host && (status = fit_host(a->machines.host, reg, w.cal, err))) &&
        !(status = machine_save(w.cal, a->machines.output, err))) {
        if (w.obs)
            note_cut_short(w.obs->cut_short, w.obs->path);
        print_words(o, &w);
        status = print_factors(&w, with, a->format, err);
    }
    carried_free(&w);
    registry_free(reg);
    return status;
}

/* ---- runs ---- */

/* At most this many metrics beyond the learned range are named. */
#define TOLD_MOST 3

/* Names metrics beyond the learned range, in one line. */
static void tell_outside(const elsewhere *w, const gpu_run *of, const gpu *from)
{
    char   text[300] = "";
    size_t n         = 0;

    for (size_t i = 0; i < w->c->s.n_metrics; i++) {
        const space_metric *m = &w->c->s.metric[i];

        if (!elsewhere_outside(w, i))
            continue;
        if (n++ < TOLD_MOST && strlen(text) + 100 < sizeof text)
            text_add(text, sizeof text, "%s%.80s %.4g", *text ? ", " : "", m->name,
                     of->value[w->place[i]]);
    }
    if (n)
        note("%s:%d: outside the range of the learned runs on '%s': %s%s (%zu of %zu metrics)",
             w->r->path, of->line, from->name, text, n > TOLD_MOST ? ", ..." : "", n,
             w->c->s.n_metrics);
}

/* A run, and a GPU that it could move to. */
typedef struct run_row {
    gpu_run    of;
    gpu        from;
    uint64_t   rank;
    gpu_target to;
} run_row;

enum { PRICED = 1 };

TEXT_OF(workload_of, run_row, *r->of.workload ? r->of.workload : "-")
TEXT_OF(basis_of, run_row,
        r->to.here                          ? "measured"
        : r->to.said.basis == BASIS_LEARNED ? "learned"
                                            : "datasheet")
TEXT_OF(currency_of, run_row, isnan(r->to.hour.amount) ? "" : r->to.hour.currency)
REAL_OF(speedup_of, run_row, r->of.seconds / r->to.said.seconds)

static const field run_fields[] = {
    { "workload", "workload", .text = workload_of },
    { "from", "from", FIELD_AT(run_row, from.name) },
    { "from_seconds", "from [s]", FIELD_AT(run_row, of.seconds), .digits = -1 },
    { "rank", "rank", FIELD_AT(run_row, rank) },
    { "to", "to", FIELD_AT(run_row, to.to.name) },
    { "seconds", "seconds", FIELD_AT(run_row, to.said.seconds), .digits = -1 },
    { "low_seconds", "low", FIELD_AT(run_row, to.said.low), .digits = -1 },
    { "high_seconds", "high", FIELD_AT(run_row, to.said.high), .digits = -1 },
    { "speedup", "speed-up", .real = speedup_of, .digits = 2 },
    { "basis", "basis", .text = basis_of },
    { "cost", "cost [%s]", FIELD_AT(run_row, to.cost), .digits = 5, .each = field_named,
      .worth = PRICED },
    { "currency", .text = currency_of },
    { "price_per_hour", FIELD_AT(run_row, to.hour.amount) },
    { 0 },
};

static lm_status predict_run(elsewhere *w, const gpu_run *of, bool by_cost, field_rows *t,
                             lm_error *err)
{
    gpu             from;
    const lm_status status = elsewhere_predict(w, of, by_cost, &from, err);

    if (status)
        return status;
    tell_outside(w, of, &from);
    for (size_t i = 0; i < w->n; i++)
        field_row(t, &(run_row){ *of, from, i + 1, w->target[i] });
    return LM_OK;
}

static void tell_unlearned(const elsewhere *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (crossgpu_gpu(w->c, w->target[i].to.name) == w->c->n_gpus)
            note("'%s' was not learned from: told by its datasheet, roughly%s",
                 w->target[i].to.name,
                 w->target[i].base_told ? ""
                                        : "; its base clock is assumed, at the same share of its "
                                          "clock as that of the run's GPU");
    for (size_t i = 0; i < w->r->n; i++)
        if (crossgpu_gpu(w->c, w->r->run[i].gpu) == w->c->n_gpus) {
            note("%s:%d: '%s' was not learned from: all is told by datasheets, roughly", w->r->path,
                 w->r->run[i].line, w->r->run[i].gpu);
            return;
        }
}

static lm_status predict_runs(elsewhere *w, const transfer_command *a, field_rows *t, lm_error *err)
{
    const char *from   = a->from.n ? a->from.at[0] : NULL;
    size_t      n      = 0;
    lm_status   status = LM_OK;

    for (size_t i = 0; i < w->r->n && !status; i++) {
        if (from && !device_same_name(w->r->run[i].gpu, from))
            continue;
        status = predict_run(w, &w->r->run[i], a->runs.sort == RUNS_COST, t, err);
        n++;
    }
    if (!status && !n)
        status = lm_error_set(err, LM_E_NOTFOUND, "%s: no run on '%s' (--from)", w->r->path, from);
    return status;
}

/* Reports missing prices, if prices were asked for. */
static lm_status check_prices(const elsewhere *w, const transfer_command *a, lm_error *err)
{
    const bool by_cost = a->runs.sort == RUNS_COST;

    if (by_cost && !w->n_priced)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "--sort cost: no single price of any of %s: write some into a file of "
                            "your own, --prices FILE",
                            w->unpriced);
    if ((by_cost || a->runs.prices || a->runs.spot) && *w->unpriced)
        note("no single price of %s: write it into a file of your own, --prices FILE", w->unpriced);
    return LM_OK;
}

static lm_status transfer_runs(const char *path, const transfer_command *a, lm_error *err)
{
    const elsewhere_question q = { .runs    = path,
                                   .learned = a->learned,
                                   .to      = a->to,
                                   .devices = a->devices,
                                   .prices  = a->runs.prices,
                                   .tier    = a->runs.spot ? PRICE_SPOT : PRICE_LIST };
    elsewhere                w = { .n = 0 };
    lm_status                status;

    if (!(status = elsewhere_open(&q, &w, err)) && !(status = check_prices(&w, a, err))) {
        const field_view v = { .fields = run_fields,
                               .in     = field_place_of(a->format),
                               .facts  = *w.currency ? PRICED : 0,
                               .whole  = w.currency };
        field_rows       t = field_rows_of(&v);

        tell_unlearned(&w);
        status = predict_runs(&w, a, &t, err);
        status = field_rows_print(&t, a->format, stdout, status, err);
    }
    elsewhere_free(&w);
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    const transfer_command *a = o->filled;

    return a->learned ? transfer_runs(o->argument[0], a, err) : carry(o, err);
}

const command cmd_transfer =
    COMMAND("transfer", "MACHINE.ini... | RUNS.csv",
            "Scale coefficients, or runs, to a device that was not measured", transfer_command, 1,
            TRANSFER_SOURCES, check, run);
