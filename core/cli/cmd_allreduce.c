/* layermeter allreduce: times of all-reduces by a machine file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "report/table.h"

enum { BYTES, NODES, DEVICES_PER_NODE, ALGORITHM, MODEL, BANDWIDTH, LATENCY, FORMAT };

static const option_spec specs[] = {
    [BYTES]            = { "bytes", "LIST", "64KiB..1GiB*4", "of the vector that each rank has" },
    [NODES]            = { "nodes", "LIST", "2..64*2", "nodes: what a network connects" },
    [DEVICES_PER_NODE] = { "devices-per-node", "LIST", "1", "devices a node" },
    [ALGORITHM]        = { "algorithm", "NAME", NULL,
                           "the one that was forced: ring ...; else the library's own choice" },
    [MODEL]            = { "model", "NAME", "layermeter",
                           "or a formula of others: convmeter, hockney, log2, paleo_tree ..." },
    [BANDWIDTH]        = OPTION_BANDWIDTH,
    [LATENCY]          = OPTION_LATENCY,
    [FORMAT]           = { "format", "FORMAT", "table", "table, csv or json" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "A machine file holds prices of all-reduces, within a node and between nodes, of each algorithm that\n"
    "was measured: by layermeter-calibrate, or imported from nccl-tests or OSU's benchmarks (layermeter\n"
    "import). Algorithm bandwidth is bytes over time; bus bandwidth is that times 2 (n - 1) / n, the rate of\n"
    "a rank's link if the algorithm was a ring. low and high hold the central 90 % of measured / predicted\n"
    "on networks left out, or numbers of nodes. 'beyond' names what leaves the measured range, and by what factor.\n"
    "What was not measured is refused; --bandwidth tells what connects nodes, and is then assumed.\n";

static const char examples[] =
    "  layermeter allreduce machine.ini --bytes 64KiB..1GiB*4 --nodes 2..64*2 --devices-per-node 4\n"
    "  layermeter allreduce machine.ini --bytes 25MiB --nodes 8 --algorithm ring --format csv\n"
    "  layermeter allreduce machine.ini --bytes 100MB --nodes 1 --devices-per-node 2,4,8 --model hockney\n";

typedef struct lists {
    int64_t *bytes, *nodes, *devices;
    size_t   n_bytes, n_nodes, n_devices;
} lists;

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

static void print_beyond(const allreduce_answer *a, char *out, size_t size)
{
    size_t n = 0;

    *out = '\0';
    for (size_t i = 0; i < a->n_beyond && n < size; i++) {
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", a->beyond[i].what);
        if (a->beyond[i].factor > 0 && n < size)
            n += (size_t)snprintf(out + n, size - n, " x%.3g", a->beyond[i].factor);
    }
}

/* Bounds are known of the model's own answers by the first algorithm. */
static void bounds(const calibration *cal, const options *o, const allreduce *a,
                   const allreduce_answer *found, double *low, double *high)
{
    const bool own = !strcmp(o->value[MODEL], model_at(0)) && !found->assumed;
    const bool first =
        !o->value[ALGORITHM] || collective_algorithm(cal->allreduces, o->value[ALGORITHM]) ==
                                    collective_algorithm(cal->allreduces, NULL);
    double seconds[N_QUANTITIES];

    *low = *high = NAN;
    for (quantity q = 0; q < N_QUANTITIES; q++)
        seconds[q] = NAN;
    seconds[QUANTITY_SYNC] = found->seconds;
    if (own && first)
        intervals_at(calibration_intervals(cal, model_at(0)), QUANTITY_SYNC, seconds,
                     &(interval_place){ .ranks = a->nodes * a->devices }, low, high);
}

static void add_row(table *t, const allreduce *a, const allreduce_answer *found, double low,
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
    table_real(t, gb * 2 * (n - 1) / n);
    table_text(t, beyond);
}

/* One all-reduce by the model, or by a baseline's formula, of which ranges are the same. */
static lm_status ask(const calibration *cal, const options *o, const allreduce *a,
                     allreduce_answer *out, lm_error *err)
{
    const sync_baseline b = sync_baseline_parse(o->value[MODEL]);
    lm_status           status =
        collective_ask(cal->allreduces, o->value[ALGORITHM], &cal->link, a, out, err);

    if (status || b == N_SYNC_BASELINES)
        return status;
    out->seconds = collective_baseline(cal->allreduces, o->value[ALGORITHM], b, a);
    if (isnan(out->seconds))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "no coefficients of '%s' for %lld nodes of %lld devices: fit the "
                            "observations again",
                            sync_baseline_name(b), (long long)a->nodes, (long long)a->devices);
    return LM_OK;
}

static lm_status fill(const calibration *cal, const options *o, const lists *l, table *t,
                      lm_error *err)
{
    lm_status status = LM_OK;

    add_columns(t);
    for (size_t d = 0; d < l->n_devices; d++)
        for (size_t n = 0; n < l->n_nodes; n++)
            for (size_t b = 0; b < l->n_bytes && !status; b++) {
                const allreduce  a = { (double)l->bytes[b], l->nodes[n], l->devices[d] };
                allreduce_answer found;
                double           low, high;

                if ((status = ask(cal, o, &a, &found, err)))
                    continue;
                bounds(cal, o, &a, &found, &low, &high);
                add_row(t, &a, &found, low, high);
            }
    return status;
}

static bool choose_model(const options *o, int *code)
{
    lm_error err = { 0 };

    if (!strcmp(o->value[MODEL], model_at(0)) ||
        sync_baseline_parse(o->value[MODEL]) < N_SYNC_BASELINES)
        return true;
    lm_error_set(&err, LM_E_ARG,
                 "expected layermeter, convmeter, hockney, log2, paleo_one_to_all, paleo_tree, "
                 "paleo_butterfly or paleo_butterfly_mixing; found '%.40s'",
                 o->value[MODEL]);
    *code = report_misuse("--model", &err);
    return false;
}

static bool read_bytes(const options *o, lists *l, int *code)
{
    lm_error err = { 0 };

    if (!text_list(o->value[BYTES], text_bytes, &l->bytes, &l->n_bytes, &err))
        return true;
    *code = report_misuse("--bytes", &err);
    return false;
}

static int run(const options *o)
{
    lm_error     err  = { 0 };
    calibration *cal  = NULL;
    lists        l    = { 0 };
    table       *t    = table_new();
    int          code = EXIT_DONE;
    interconnect link;
    format       f;

    if (format_parse(o->value[FORMAT], &f, &err)) {
        code = report_misuse("", &err);
        goto out;
    }
    if (!choose_model(o, &code) || !read_bytes(o, &l, &code) ||
        !option_list(o, NODES, &l.nodes, &l.n_nodes, &code) ||
        !option_list(o, DEVICES_PER_NODE, &l.devices, &l.n_devices, &code) ||
        !option_link(o, BANDWIDTH, LATENCY, &link, &code))
        goto out;
    if (calibration_load(o->argument[0], &cal, &err)) {
        code = report_failure(&err);
        goto out;
    }
    cal->link = link;
    if (fill(cal, o, &l, t, &err)) {
        lm_error_prefix(&err, "%s", o->argument[0]);
        code = report_failure(&err);
    } else if (table_print(t, f, stdout, &err)) {
        code = report_failure(&err);
    }
out:
    table_free(t);
    calibration_free(cal);
    free(l.bytes);
    free(l.nodes);
    free(l.devices);
    return code;
}

const command cmd_allreduce = {
    .name          = "allreduce",
    .arguments     = "MACHINE.ini",
    .doc           = "Predict all-reduces by a machine file: times and bandwidths",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
