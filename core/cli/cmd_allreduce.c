/* layermeter allreduce: times of collectives by a machine file. */
#include <stdio.h>

#include "cli/commands.h"
#include "machine/machine.h"
#include "predict/asked_collective.h"
#include "report/fields.h"

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

/* "bytes x4, nodes" */
static const char *beyond_of(const void *record, size_t i, char *room)
{
    const asked_collective *r = record;
    size_t                  n = 0;

    (void)i;
    *room = '\0';
    for (size_t k = 0; k < r->of.n_beyond && n < FIELD_TEXT_MAX; k++) {
        n += (size_t)snprintf(room + n, FIELD_TEXT_MAX - n, "%s%s", k ? ", " : "",
                              r->of.beyond[k].what);
        if (r->of.beyond[k].factor > 0 && n < FIELD_TEXT_MAX)
            n += (size_t)snprintf(room + n, FIELD_TEXT_MAX - n, " x%.3g", r->of.beyond[k].factor);
    }
    return room;
}

COUNT_OF(bytes_of, asked_collective, r->call.bytes)

#define IN_GB_S .unit = "GB/s", .per = 1e9, .digits = TABLE_POSITIVE(2)

static const field fields[] = {
    { "bytes", "bytes", .count = bytes_of },
    { "nodes", "nodes", FIELD_AT(asked_collective, call.nodes) },
    { "devices_per_node", "x devices", FIELD_AT(asked_collective, call.devices) },
    { "ms", "time [ms]", FIELD_AT(asked_collective, of.seconds), .times = 1e3,
      .digits = TABLE_MS(3) },
    { "low_ms", "low", FIELD_AT(asked_collective, low), .times = 1e3, .digits = TABLE_MS(3) },
    { "high_ms", "high", FIELD_AT(asked_collective, high), .times = 1e3, .digits = TABLE_MS(3) },
    { "algorithm_gb_per_s", "algorithm [GB/s]", FIELD_AT(asked_collective, rate), IN_GB_S },
    { "bus_gb_per_s", "bus [GB/s]", FIELD_AT(asked_collective, bus_rate), IN_GB_S },
    { "beyond", "beyond", .text = beyond_of },
    { 0 },
};

static lm_status fill(const calibration *cal, const allreduce_options *q, field_rows *rows,
                      lm_error *err)
{
    const asked_by  by = { q->model, q->algorithm, q->link };
    collective_kind kind;
    lm_status       status = collective_kind_parse(q->collective, &kind, err);

    for (size_t d = 0; d < q->devices.n; d++)
        for (size_t n = 0; n < q->nodes.n; n++)
            for (size_t b = 0; b < q->bytes.n && !status; b++) {
                const collective_call a = { kind, (double)q->bytes.at[b], q->nodes.at[n],
                                            q->devices.at[d], 1 };
                asked_collective      found;

                if (!(status = asked_collective_of(cal, &by, &a, &found, err)))
                    field_row(rows, &found);
            }
    return status;
}

static lm_status check(options *o, lm_error *err)
{
    const allreduce_options *q = o->filled;
    collective_kind          kind;

    if (collective_kind_parse(q->collective, &kind, err))
        return misused(o, &q->collective, err, "%s", err->text);
    if (asked_model_known(q->model))
        return LM_OK;
    return misused(o, &q->model, err,
                   "expected layermeter, convmeter, hockney, log2, paleo_one_to_all, paleo_tree, "
                   "paleo_butterfly or paleo_butterfly_mixing; found '%.40s'",
                   q->model);
}

static lm_status run(const options *o, lm_error *err)
{
    const allreduce_options *q      = o->filled;
    const field_view         v      = { .fields = fields, .in = field_place_of(q->format) };
    field_rows               rows   = field_rows_of(&v);
    calibration             *cal    = NULL;
    lm_status                status = machine_load(o->argument[0], &cal, err);

    if (!status && (status = fill(cal, q, &rows, err)))
        lm_error_prefix(err, "%s", o->argument[0]);
    status = field_rows_print(&rows, q->format, stdout, status, err);
    calibration_free(cal);
    return status;
}

const command cmd_allreduce = COMMAND("allreduce", "MACHINE.ini",
                                      "Predict all-reduces by a machine file: times and bandwidths",
                                      allreduce_options, 1, 1, check, run);
