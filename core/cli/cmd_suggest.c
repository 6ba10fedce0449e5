/* layermeter suggest: what to measure next. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "machine/machine.h"
#include "report/fields.h"
#include "report/notes.h"
#include "suggest/job.h"

typedef struct suggest_options {
    suggest_question q;
    const char      *output; /* a sweep; NULL: none */
    format           format;
} suggest_options;

#define AT(member) OPTION_AT(suggest_options, member)

static const option_row option_rows[] = {
    { "for", AT(q.asked), .help = "networks to be predicted (needed)",
      .needed = "--for NETWORKS is needed: the networks to be predicted" },
    { "batch", AT(q.batch), .fallback = "1,8,64",
      .help = "predictions at these samples per device" },
    { "nodes", AT(q.nodes), .fallback = "1", .help = "predictions on so many nodes of one device" },
    { "where", AT(q.where),
      .help = "only networks in OBSERVATIONS with these settings: dtype=bf16" },
    { "from", AT(q.from), &type_names, "NETWORKS", NULL, HELP_WHAT,
      "networks that may be measured (default: the shipped ones and those of --for)" },
    { "try-batch", AT(q.try_batch), &type_counts, "LIST", "1..64*4", HELP_WHAT,
      "batches that may be measured" },
    { "try-image", AT(q.try_image), &type_counts, "LIST", "64,128", HELP_WHAT,
      "image sizes that may be measured, besides the size in the network's file" },
    { "machine", AT(q.machine),
      .help = "machine file with the first estimates, instead of guesses" },
    { "memory", AT(q.memory), .help = "memory of a device, 16GiB: suggest only what fits" },
    { "max-nodes", AT(q.max_nodes), &type_count, "COUNT", NULL, HELP_WHERE,
      "available nodes (default: as many as in OBSERVATIONS)" },
    { "budget", AT(q.budget), &type_seconds, "TIME", NULL, HELP_HOW,
      "limit of the measuring time: 5min", .least = OPTION_ABOVE_0,
      .outside = "must be above 0, found" },
    { "points", AT(q.points), &type_count, "COUNT", "10", HELP_HOW, "largest number of points" },
    { "backend", AT(q.backend), &type_text, "NAME", NULL, HELP_OUTPUT,
      "backend of the sweep (default: the one of OBSERVATIONS, else onednn)", .needs = "output",
      .refusal = "it is for the sweep: give -o SWEEP.ini too" },
    { "output", AT(output), .help = "sweep to write (also -o), for 'layermeter calibrate'" },
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] =
    "The next point is the one that reduces the expected variance of the predictions most, per second of\n"
    "measurement: a V-optimal sequential design for the model 'counts'. Measured points are not suggested\n"
    "again. '+-' is half the expected width of a step's 90 % interval after this point and the points\n"
    "above it. Some width remains, because networks differ from any formula. Without OBSERVATIONS all\n"
    "widths are guesses.\n"
    "\n"
    "Measure the sweep of -o into a new folder. Append its rows to those of OBSERVATIONS; then fit, or\n"
    "suggest again. --memory limits the memory of a step ('layermeter memory').\n";

static const char examples[] =
    "  layermeter suggest observations.csv --for resnet50,vgg16 --budget 5min --memory 16GiB -o next.ini\n"
    "  layermeter calibrate next.ini -o next/\n"
    "  (cat observations.csv; sed '/^#/d; /^kind,/d' next/observations.csv) > all.csv\n"
    "  layermeter fit all.csv -o machine.ini\n"
    "  layermeter suggest --for bert_base --points 5\n";

static lm_status check(options *o, lm_error *err)
{
    suggest_options *a = o->filled;

    if (a->q.where && !o->n_arguments)
        return misused(o, &a->q.where, err, "it chooses among OBSERVATIONS: name them");
    if (a->q.backend && !strcmp(a->q.backend, "sim") && !a->q.machine)
        return misused(o, &a->q.backend, err,
                       "simulated times are by coefficients: give --machine FILE");
    return LM_OK;
}

/* An interval that keeps more than this share of its width is hardly narrower. */
#define HARDLY 0.98

/* A point; number 0: the present state. Numbers below 0 and NAN: unknown. */
typedef struct row {
    uint64_t      number;
    const char   *network, *input;
    int64_t       batch, ranks;
    double        step, seconds, total;
    const double *width; /* of the interval of each network asked for, as a share */
} row;

static const char *asked_name(const void *whole, size_t i)
{
    const word_list *asked = whole;

    return i < asked->n ? asked->at[i] : NULL;
}

REAL_OF(half_width, row, r->width[i] / 2)

static const field fields[] = {
    { "point", "point", FIELD_AT(row, number) },
    { "network", "network", FIELD_AT(row, network) },
    { "input", "input", FIELD_AT(row, input) },
    { "batch", "batch", FIELD_AT(row, batch) },
    { "ranks", "ranks", FIELD_AT(row, ranks) },
    { "step_ms", "step [ms]", FIELD_AT(row, step), IN_MS },
    { "seconds", "measure [s]", FIELD_AT(row, seconds), .digits = 2 },
    { "total_seconds", "in all [s]", FIELD_AT(row, total), .digits = 2 },
    { "%s_percent", "%s +- [%]", .real = half_width, IN_PERCENT, .each = asked_name },
    { 0 },
};

/* Returns the seconds of all points together. */
static double add_rows(const suggest_job *q, field_rows *rows)
{
    const size_t n = q->a->asked.n;
    row          r = { 0, "", "", -1, -1, NAN, NAN, 0, q->s.width };

    field_row(rows, &r);
    for (size_t i = 0; i < q->s.n; i++) {
        const size_t     at = q->s.at[i];
        const candidate *c  = &q->c.item[at];

        r = (row){ i + 1,
                   c->name,
                   c->input,
                   c->batch,
                   c->ranks,
                   q->step[at],
                   q->cost[at],
                   r.total + q->cost[at],
                   q->s.width + (i + 1) * n };
        field_row(rows, &r);
    }
    return r.total;
}

/* The narrower interval; also reported if measuring no longer helps. */
static void print_gain(const suggest_job *q, size_t k, double total, FILE *out)
{
    const double before = 50 * q->s.width[k], after = 50 * q->s.width[q->s.n * q->a->asked.n + k];

    if (after > HARDLY * before)
        fprintf(
            out,
            "%zu point%s in %.3g s would hardly narrow the interval of %s, +-%.3g %%: what is left is how "
            "much networks and repetitions differ from any formula\n",
            q->s.n, q->s.n == 1 ? "" : "s", total, q->a->asked.at[k], before);
    else
        fprintf(
            out,
            "%zu point%s in %.3g s would narrow the interval of %s from +-%.3g %% to +-%.3g %%\n",
            q->s.n, q->s.n == 1 ? "" : "s", total, q->a->asked.at[k], before, after);
}

static void print_words(const suggest_job *q, double total, const char *sweep, FILE *out)
{
    for (size_t k = 0; k < q->a->asked.n; k++)
        print_gain(q, k, total, out);
    if (q->s.n_refused)
        fprintf(out, "%zu point%s that would tell more %s not fit into %s\n", q->s.n_refused,
                q->s.n_refused == 1 ? "" : "s", q->s.n_refused == 1 ? "does" : "do", q->memory);
    if (!q->n_learned)
        fprintf(
            out, "%s: times, costs and intervals are guesses %s\n",
            q->obs
                ? "no time of a network's forward or backward pass, update or all-reduce is known"
                : "nothing is measured yet",
            q->known ? "around the machine file's" : "of a CPU core's");
    if (sweep)
        fprintf(out, "to measure them: layermeter calibrate %s -o FOLDER (a new one)\n", sweep);
}

static lm_status print(const suggest_job *q, const suggest_options *a, lm_error *err)
{
    const format     f      = a->format;
    const field_view v      = { .fields = fields, .in = field_place_of(f), .whole = &q->a->asked };
    field_rows       rows   = field_rows_of(&v);
    const double     total  = add_rows(q, &rows);
    const lm_status  status = field_rows_print(&rows, f, stdout, LM_OK, err);

    if (!status)
        print_words(q, total, a->output, f == FORMAT_TABLE ? stdout : stderr);
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    const suggest_options *a     = o->filled;
    registry              *reg   = NULL;
    calibration           *known = NULL;
    suggest_job            q     = { .a      = &a->q,
                                     .asked  = option_text(o, &a->q.asked),
                                     .memory = option_text(o, &a->q.memory),
                                     .dtype  = LM_F32,
                                     .update = OPTIMIZER_MOMENTUM };
    lm_status              status;

    if (!(status = open_registry(o, &reg, err)) &&
        !(a->q.machine && (status = machine_load(a->q.machine, &known, err)))) {
        q.known = known;
        status  = suggest_job_run(&q, reg, o->n_arguments ? o->argument[0] : NULL, err);
    }
    if (!status && q.obs)
        note_cut_short(q.obs->cut_short, q.obs->path);
    if (!status && a->output)
        status = suggest_sweep_write(&q, a->output, err);
    if (!status)
        status = print(&q, a, err);
    suggest_job_free(&q);
    calibration_free(known);
    registry_free(reg);
    return status;
}

const command cmd_suggest =
    COMMAND("suggest", "[OBSERVATIONS.csv]",
            "Suggest what to measure next, for predictions of given networks", suggest_options, 0,
            1, check, run);
