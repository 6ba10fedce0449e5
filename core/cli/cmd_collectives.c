/* layermeter collectives: times of collectives by a machine file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "report/collectives/view.h"
#include "report/step_fields.h"

typedef struct collectives_options {
    option_counts bytes, nodes, devices;
    const char   *kind, *algorithm, *model, *plot, *device, *devices_file;
    int64_t       groups;
    bool          keep_script;
    interconnect  link;
    format        format;
} collectives_options;

static const char *kind_words(char *buffer, size_t size)
{
    *buffer = '\0';
    for (collective_kind k = 0; k < N_COLLECTIVE_KINDS; k++)
        text_add(buffer, size, "%s%s", k ? ", " : "", collective_types[k].title);
    return buffer;
}

static const char *model_words(char *buffer, size_t size)
{
    snprintf(buffer, size, "%s", DEFAULT_MODEL);
    for (sync_baseline b = 0; b < N_SYNC_BASELINES; b++)
        text_add(buffer, size, ", %s", sync_baseline_name(b));
    return buffer;
}

#define AT(member) OPTION_AT(collectives_options, member)

static const option_row option_rows[] = {
    { "bytes", AT(bytes), &type_sizes, "LIST", "64KiB..1GiB*4", HELP_WHAT,
      "size S of the vector that each rank has or receives (the larger of the two)" },
    { "nodes", AT(nodes), .fallback = "2..64*2" },
    { "devices-per-node", AT(devices), &type_counts, "LIST", "1" },
    { "kind", AT(kind), &type_text, "NAME", "all-reduce", HELP_WHAT, "kind of collective",
      .words = kind_words },
    { "groups", AT(groups), &type_whole, "N", "1", HELP_WHAT,
      "groups of devices on the same nodes that communicate at the same time", .least = 1,
      .most = 1e6, .outside = "must be 1 to 1000000" },
    { "algorithm", AT(algorithm), &type_text, "NAME", NULL, HELP_HOW,
      "algorithm, such as ring (default: the library's choice)" },
    { "model", AT(model), &type_text, "NAME", "layermeter", HELP_HOW,
      "model of the times, or a published formula", .words = model_words },
    { "device", AT(device),
      .help = "instead of a machine file: the shipped file of this device, with its interconnect" },
    { "devices", AT(devices_file) },
    OPTION_GROUP(collectives_options, link, link_option_rows),
    { "plot", AT(plot), .argument = "FILE", .heading = HELP_OUTPUT,
      .help = "plot times over bytes: FILE.svg, .png or .pdf (needs gnuplot)" },
    { "keep-script", AT(keep_script) },
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] =
    "A machine file has coefficients of collectives, within a node and between nodes, for each measured\n"
    "kind and algorithm. 'layermeter calibrate' measures them. 'layermeter import' reads them from logs\n"
    "of nccl-tests or of OSU's benchmarks.\n"
    "\n"
    "S is the size that nccl-tests prints. In an all-gather it is what a rank receives; in a\n"
    "reduce-scatter or an all-to-all it is what a rank has. Algorithm bandwidth is S divided by the time.\n"
    "Bus bandwidth is algorithm bandwidth times the bytes that a rank of a ring sends for each byte of S.\n"
    "This factor is 2 (n - 1) / n in an all-reduce; (n - 1) / n in an all-gather, a reduce-scatter and an\n"
    "all-to-all; 1 in the others.\n"
    "\n"
    "low and high are a 90 % prediction interval, from measured / predicted of held-out networks or\n"
    "numbers of nodes. 'beyond' names values outside the measured range, with the factor. If a kind was\n"
    "not measured, its time follows from all-reduces, by its bytes and messages; the output says so. Any\n"
    "other prediction without a measurement is refused. --bandwidth describes the network between nodes;\n"
    "its times then count as assumed.\n"
    "'layermeter allreduce' is the same command.\n";

static const char examples[] =
    "  layermeter collectives machine.ini --bytes 64KiB..1GiB*4 --nodes 2..64*2 --devices-per-node 4\n"
    "  layermeter collectives --device H100 --nodes 1..16*2 --devices-per-node 8 --bytes 1GiB\n"
    "  layermeter collectives machine.ini --kind all-gather --bytes 64KiB..1GiB*4 --plot gathers.svg\n"
    "  layermeter collectives machine.ini --bytes 25MiB --nodes 8 --algorithm ring --format csv\n"
    "  layermeter collectives machine.ini --bytes 100MB --nodes 2,4,8 --model hockney\n";

/* All answers, those of as many nodes and devices behind each other. */
static lm_status fill(const calibration *cal, const collectives_options *q, asked_collective *row,
                      lm_error *err)
{
    const asked_by  by = { q->model, q->algorithm, q->link };
    collective_kind kind;
    lm_status       status = collective_kind_find(q->kind, &kind, err);

    for (size_t d = 0; d < q->devices.n; d++)
        for (size_t n = 0; n < q->nodes.n; n++)
            for (size_t b = 0; b < q->bytes.n && !status; b++) {
                const collective_call a = { kind, (double)q->bytes.at[b], q->nodes.at[n],
                                            q->devices.at[d], q->groups };

                status = asked_collective_of(cal, &by, &a, row++, err);
            }
    return status;
}

static lm_status check(options *o, lm_error *err)
{
    const collectives_options *q = o->filled;
    collective_kind            kind;
    char                       words[200];

    if (!o->n_arguments == !q->device)
        return lm_error_set(
            err, LM_E_ARG,
            o->n_arguments ? "--device: takes the place of a machine file: give one of the two"
                           : "no machine is given: give a machine file, or --device NAME, such "
                             "as H100");
    if (collective_kind_find(q->kind, &kind, err))
        return misused(o, &q->kind, err, "%s", err->text);
    if (asked_model_known(q->model))
        return LM_OK;
    return misused(o, &q->model, err, "expected one of %s; found '%.40s'",
                   model_words(words, sizeof words), q->model);
}

static lm_status print(const collectives_options *q, const asked_collective *row, size_t n,
                       lm_error *err)
{
    const field_view v    = { .fields = collective_fields,
                              .in     = field_place_of(q->format),
                              .facts  = q->groups > 1 ? COLLECTIVE_GROUPS : 0 };
    field_rows       rows = field_rows_of(&v);

    for (size_t i = 0; i < n; i++)
        field_row(&rows, &row[i]);
    return field_rows_print(&rows, q->format, stdout, LM_OK, err);
}

static lm_status draw(const collectives_options *q, const char *machine,
                      const asked_collective *row, size_t n, lm_error *err)
{
    const char *slash = strrchr(machine, '/');
    char        title[200];

    snprintf(title, sizeof title, "%ss of %.120s", collective_types[row->call.kind].title,
             slash ? slash + 1 : machine);
    return plot_collectives(q->plot, title, row, n, q->keep_script, err);
}

/* The machine of the argument, or of --device. */
static lm_status open_machine(const options *o, const collectives_options *q, lm_machine **out,
                              lm_error *err)
{
    machine_asked  asked = { .path = o->argument[0], .devices = q->devices_file, .link = q->link };
    device_machine found;

    if (!q->device)
        return machine_handle_open(&asked, out, err);
    if (device_machine_find(q->device, q->devices_file, 0, &found, err)) {
        lm_error_prefix(err, "--device");
        return err->code;
    }
    asked.path    = NULL;
    asked.shipped = &found;
    asked.device  = found.device;
    return machine_handle_open(&asked, out, err);
}

/* The sources of what ships. */
static void print_sources(const collectives_options *q, const lm_machine *m)
{
    bool between = false;

    for (size_t i = 0; i < q->nodes.n; i++)
        between |= q->nodes.at[i] > 1;
    links_explain(m->cal, &m->link, between, NULL, q->format == FORMAT_TABLE ? stdout : stderr);
}

static lm_status run(const options *o, lm_error *err)
{
    collectives_options q      = *(const collectives_options *)o->filled;
    const size_t        n      = q.devices.n * q.nodes.n * q.bytes.n;
    lm_machine         *m      = NULL;
    asked_collective   *row    = calloc(n, sizeof *row);
    lm_status           status = row ? open_machine(o, &q, &m, err) : no_memory(err);

    if (!status) {
        q.link = m->link;
        if ((status = fill(m->cal, &q, row, err)))
            lm_error_prefix(err, "%s", m->path);
    }
    if (!status && q.plot)
        status = draw(&q, m->path, row, n, err);
    if (!status && !(status = print(&q, row, n, err)) && q.device)
        print_sources(&q, m);
    free(row);
    lm_machine_close(m);
    return status;
}

const command cmd_collectives = {
    .name          = "collectives",
    .also          = "allreduce",
    .arguments     = "[MACHINE.ini]",
    .doc           = "Predict all-reduces and other collectives from a machine file",
    .details       = details,
    .examples      = examples,
    .rows          = option_rows,
    .size          = sizeof(collectives_options),
    .min_arguments = 0,
    .max_arguments = 1,
    .check         = check,
    .run           = run,
};
