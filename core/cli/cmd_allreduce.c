/* layermeter allreduce: times of collectives by a machine file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "machine/machine.h"
#include "report/table.h"

typedef struct allreduce_options {
    option_counts bytes, nodes, devices;
    const char   *collective, *algorithm, *model;
    interconnect  link;
    format        format;
} allreduce_options;

#define AT(member) OPTION_AT(allreduce_options, member)

static const option_row option_rows[] = {
    { "bytes", AT(bytes), &type_sizes, "LIST", "64KiB..1GiB*4", HELP_WHAT,
      "of the vector that each rank has" },
    { "nodes", AT(nodes), .fallback = "2..64*2" },
    { "devices-per-node", AT(devices), &type_counts, "LIST", "1" },
    { "collective", AT(collective), &type_text, "NAME", "allreduce", HELP_WHAT,
      "kind of collective, as rows of observations name it" },
    { "algorithm", AT(algorithm), &type_text, "NAME", NULL, HELP_HOW,
      "algorithm that was forced, such as ring (default: the library's own choice)" },
    { "model", AT(model), &type_text, "NAME", "layermeter", HELP_HOW,
      "or a published formula: convmeter, hockney, log2, paleo_one_to_all, paleo_tree, "
      "paleo_butterfly, paleo_butterfly_mixing" },
    OPTION_GROUP(allreduce_options, link, link_option_rows),
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] =
    "A machine file holds prices of all-reduces, within a node and between nodes, of each measured\n"
    "algorithm: by layermeter-calibrate, or imported from nccl-tests or OSU's benchmarks ('layermeter\n"
    "import'). Algorithm bandwidth is bytes over time; bus bandwidth is that times 2 (n - 1) / n, the\n"
    "rate of a rank's link if the algorithm was a ring. low and high are the central 90 % of measured /\n"
    "predicted on networks, or numbers of nodes, left out. 'beyond' names what leaves the measured range,\n"
    "and by what factor. What was not measured is refused; --bandwidth tells what connects nodes, and is\n"
    "then assumed.\n";

static const char examples[] =
    "  layermeter allreduce machine.ini --bytes 64KiB..1GiB*4 --nodes 2..64*2 --devices-per-node 4\n"
    "  layermeter allreduce machine.ini --bytes 25MiB --nodes 8 --algorithm ring --format csv\n"
    "  layermeter allreduce machine.ini --bytes 100MB --nodes 1 --devices-per-node 2,4,8 --model hockney\n";

static void add_columns(table *t)
{
    table_column(t, "bytes", "bytes", 0);
    table_column(t, "nodes", "nodes", 0);
    table_column(t, "devices_per_node", "x devices", 0);
    table_column(t, "ms", "time [ms]", TABLE_MS(3));
    table_column(t, "low_ms", "low", TABLE_MS(3));
    table_column(t, "high_ms", "high", TABLE_MS(3));
    table_column(t, "algorithm_gb_per_s", "algorithm [GB/s]", TABLE_POSITIVE(2));
    table_column(t, "bus_gb_per_s", "bus [GB/s]", TABLE_POSITIVE(2));
    table_column(t, "beyond", "beyond", 0);
}

static void print_beyond(const collective_answer *a, char *out, size_t size)
{
    size_t n = 0;

    *out = '\0';
    for (size_t i = 0; i < a->n_beyond && n < size; i++) {
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", a->beyond[i].what);
        if (a->beyond[i].factor > 0 && n < size)
            n += (size_t)snprintf(out + n, size - n, " x%.3g", a->beyond[i].factor);
    }
}

/* Bounds are known only for the model's own answers by the first algorithm. */
static void bounds(const calibration *cal, const allreduce_options *q, const collective_call *a,
                   const collective_answer *found, double *low, double *high)
{
    const bool own = sync_baseline_parse(q->model) == N_SYNC_BASELINES && !found->assumed;
    const bool first =
        a->kind == COLLECTIVE_ALLREDUCE &&
        (!q->algorithm || collective_algorithm(cal->collectives, a->kind, q->algorithm) ==
                              collective_algorithm(cal->collectives, a->kind, NULL));
    double seconds[N_TIMES];

    *low = *high = NAN;
    for (phase t = 0; t < N_TIMES; t++)
        seconds[t] = NAN;
    seconds[PHASE_SYNC] = found->seconds;
    if (own && first)
        intervals_at(calibration_intervals(cal, DEFAULT_MODEL), PHASE_SYNC, seconds,
                     &(interval_place){ .ranks = a->nodes * a->devices }, low, high);
}

static void add_row(table *t, const collective_call *a, const collective_answer *found, double low,
                    double high)
{
    const double n  = (double)a->nodes * (double)a->devices;
    const double gb = found->seconds > 0 ? a->bytes / found->seconds / 1e9 : NAN;
    char         beyond[240];

    print_beyond(found, beyond, sizeof beyond);
    table_count(t, (uint64_t)a->bytes);
    table_count(t, (uint64_t)a->nodes);
    table_count(t, (uint64_t)a->devices);
    table_real(t, 1e3 * found->seconds);
    table_real(t, 1e3 * low);
    table_real(t, 1e3 * high);
    table_real(t, gb);
    table_real(t, gb * collective_volume(a->kind, n));
    table_text(t, beyond);
}

/* One all-reduce by the model or by a baseline's formula; both have the same ranges. */
static lm_status ask(const calibration *cal, const allreduce_options *q, const collective_call *a,
                     collective_answer *out, lm_error *err)
{
    const sync_baseline b = sync_baseline_parse(q->model);
    lm_status status      = collective_ask(cal->collectives, q->algorithm, &q->link, a, out, err);

    if (status || b == N_SYNC_BASELINES)
        return status;
    out->seconds = collective_baseline(cal->collectives, q->algorithm, b, a);
    if (isnan(out->seconds))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "no coefficients of '%s' for %lld nodes of %lld devices: fit the "
                            "observations again",
                            sync_baseline_name(b), (long long)a->nodes, (long long)a->devices);
    return LM_OK;
}

static lm_status fill(const calibration *cal, const allreduce_options *q, table *t, lm_error *err)
{
    collective_kind kind;
    lm_status       status = collective_kind_parse(q->collective, &kind, err);

    add_columns(t);
    for (size_t d = 0; d < q->devices.n; d++)
        for (size_t n = 0; n < q->nodes.n; n++)
            for (size_t b = 0; b < q->bytes.n && !status; b++) {
                const collective_call a = { kind, (double)q->bytes.at[b], q->nodes.at[n],
                                            q->devices.at[d], 1 };
                collective_answer     found;
                double                low, high;

                if ((status = ask(cal, q, &a, &found, err)))
                    continue;
                bounds(cal, q, &a, &found, &low, &high);
                add_row(t, &a, &found, low, high);
            }
    return status;
}

static lm_status check(options *o, lm_error *err)
{
    const allreduce_options *q = o->filled;
    collective_kind          kind;

    if (collective_kind_parse(q->collective, &kind, err))
        return misused(o, &q->collective, err, "%s", err->text);
    if (formula_model_of(q->model)->prices || sync_baseline_parse(q->model) < N_SYNC_BASELINES)
        return LM_OK;
    return misused(o, &q->model, err,
                   "expected layermeter, convmeter, hockney, log2, paleo_one_to_all, paleo_tree, "
                   "paleo_butterfly or paleo_butterfly_mixing; found '%.40s'",
                   q->model);
}

static lm_status run(const options *o, lm_error *err)
{
    const allreduce_options *q      = o->filled;
    calibration             *cal    = NULL;
    table                   *t      = table_new();
    lm_status                status = machine_load(o->argument[0], &cal, err);

    if (!status) {
        if ((status = fill(cal, q, t, err)))
            lm_error_prefix(err, "%s", o->argument[0]);
        else
            status = table_print(t, q->format, stdout, err);
    }
    table_free(t);
    calibration_free(cal);
    return status;
}

const command cmd_allreduce = COMMAND("allreduce", "MACHINE.ini",
                                      "Predict all-reduces by a machine file: times and bandwidths",
                                      allreduce_options, 1, 1, check, run);
