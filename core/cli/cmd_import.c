/* layermeter import: turns files of other programs into networks or observations. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/no_memory.h"
#include "cli/commands.h"
#include "import/extrap.h"
#include "import/logs.h"
#include "import/profile.h"
#include "network/write.h"
#include "report/fields.h"
#include "trace/power_log.h"

typedef struct import_options {
    const char     *output; /* NULL: to stdout */
    network_options network;
    log_options     log;
    struct {
        option_texts parameters, regions, fixed;
    } extrap;
    option_texts metrics; /* of Extra-P's files; of a power log the last one counts */
    struct {
        const char *gpu;
        double      interval;
        format      format;
    } power;
    extrap_options given; /* by import_extrap_check() */
} import_options;

#define AT(member) OPTION_AT(import_options, member)

static const option_row option_rows[] = {
    OPTION_GROUP(import_options, network, network_option_rows),
    { "ranks", AT(log.ranks), &type_whole, "N", NULL, HELP_WHAT,
      "logs: number of ranks, if the log does not state it", .least = 1, .most = 1e6,
      .outside = "must be 1 to 1000000" },
    { "hosts", AT(log.hosts), &type_whole, "N", NULL, HELP_WHAT,
      "logs: number of hosts of these ranks", .least = 1, .most = 1e6,
      .outside = "must be 1 to 1000000" },
    { "algorithm", AT(log.algorithm), &type_text, "NAME", NULL, HELP_WHAT,
      "logs: algorithm: default (the library's choice) or ring" },
    { "kind", AT(log.kind), &type_text, "NAME", NULL, HELP_WHAT,
      "nccl-tests: kind of collective, if the log does not name it (default: all-reduce)" },
    { "parameter", AT(extrap.parameters), &type_pair, "NAME=MEANING", NULL, HELP_WHAT,
      "extra-p: meaning of a parameter, such as p=ranks", .repeats = true },
    { "region", AT(extrap.regions), &type_pair, "NAME=NETWORK", NULL, HELP_WHAT,
      "network of a region of the file, such as ProfilerStep=resnet50; extra-p: also allreduce",
      .repeats = true },
    { "metric", AT(metrics), &type_text, "NAME=PHASE", .repeats = true,
      .help = "phase of a metric in seconds; power: NAME alone, the column to read" },
    { "fixed", AT(extrap.fixed), &type_pair, "KEY=VALUE", NULL, HELP_WHAT,
      "value that the file does not state, such as batch=32", .repeats = true },
    { "gpu", AT(power.gpu), .argument = "NAME", .help = "power: read only this GPU of the log" },
    { "interval", AT(power.interval), .heading = HELP_WHAT, .outside = "must be above 0",
      .least = OPTION_ABOVE_0, .help = "power: time between rows, if the log has no times" },
    { "output", AT(output) },
    { "format", AT(power.format), .help = "power" },
    { .name = NULL },
};

static const char details[] =
    "With a NETWORK the command reads a network of another program and writes it as an INI file, which\n"
    "you can read and change. Other commands also take such files directly.\n"
    "  ONNX, with or without weights; the weights are not read\n"
    "  Hugging Face's config.json of language models, ViT and Whisper (samples of up to 4096 tokens;\n"
    "    --set sequence=N for more)\n"
    "  PALEO's JSON; blocks and model-parallel parts are placed on one device\n"
    "\n"
    "An operator without a layer type is an error. The new file notes each --treat and --ignore, and\n"
    "every result repeats these notes.\n"
    "\n"
    "With a SOURCE the command reads measurements, and writes observations for 'layermeter fit' (power: a\n"
    "table).\n"
    "\n"
    "nccl-tests, osu: logs of benchmarks of collectives.\n"
    "  nccl-tests (NVIDIA's or AMD's): all_reduce_perf, all_gather_perf, reduce_scatter_perf,\n"
    "    alltoall_perf, sendrecv_perf, broadcast_perf. Times are those in place; of alltoall and\n"
    "    sendrecv, those out of place.\n"
    "  OSU: osu_allreduce, osu_allgather, osu_reduce_scatter, osu_alltoall, osu_bcast, osu_latency, and\n"
    "    osu_bw as the algorithm 'window'. These logs need --ranks and --hosts.\n"
    "\n"
    "Rows with a wrong result are skipped and counted. Times are means, as the tools print them.\n"
    "\n"
    "extra-p: files in Extra-P's text format. Parameters are nodes, devices (per node), ranks (in all),\n"
    "batch (per device), bytes, bucket_bytes, threads. A region is a network or allreduce; constant\n"
    "values follow the name ('resnet18 optimizer=adam'). Metrics are time (of a step), forward, backward,\n"
    "sync, update, step and inference, in seconds. Any other name is an error, which says what to do.\n"
    "Repetitions of a point become one row, their median.\n"
    "\n"
    "pytorch: traces of PyTorch's profiler (Chrome's JSON). All steps become one row: the median time\n"
    "from the start of a step to the start of the next. --region ProfilerStep=NETWORK names the network,\n"
    "--fixed batch=N its batch. NCCL's all-reduces become one row for each size, with the minimum time,\n"
    "because a kernel waits for the slowest rank. Other collectives are skipped and counted.\n"
    "\n"
    "nsys: a report of Nsight Systems with --trace=cuda,nvtx, as the SQLite file of 'nsys export --type\n"
    "sqlite' or the CSV of 'nsys stats --format csv --report nvtx_gpu_proj_trace'. NVTX ranges mark the\n"
    "steps: --region RANGE=NETWORK, also for numbered ranges (\"step 12\"). A range with the name of a\n"
    "layer gives the forward pass of the layer: the sum of the kernels that were launched within the\n"
    "range. NCCL's all-reduces are read as from pytorch, if the file has their sizes.\n"
    "\n"
    "tensorboard, wandb: the log of a training run. These are TensorBoard's event files, or the CSV that\n"
    "its page exports; or the history of a run of Weights & Biases, as CSV or JSON lines. The step time\n"
    "is the median time between two logged steps, divided by the number of steps between them. --metric\n"
    "NAME=step reads a step time that was logged in seconds. --region step=NETWORK names the network.\n"
    "\n"
    "power: logs of nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv, dcgmi dmon and other\n"
    "traces that 'epochs' reads. The command prints the mean power of each GPU in the steady state, for\n"
    "the column power_w of observations. It cuts off start and end where this makes the standard error of\n"
    "the rest smallest. Then it drops values beyond three standard deviations. Gaps do not count.\n";

static const char examples[] =
    "  layermeter import resnet50.onnx -o resnet50.ini\n"
    "  layermeter import Llama-3.2-1B/config.json -o llama.ini\n"
    "  layermeter import alex_v2.json -o alex_v2.ini\n"
    "  layermeter import net.onnx --treat Selu=relu --ignore Print\n"
    "  layermeter import nccl-tests 1node.log 4nodes.log -o allreduces.csv\n"
    "  layermeter import osu allreduce.log --ranks 64 --hosts 4 -o o.csv\n"
    "  layermeter import power smi.csv --gpu 0\n"
    "  layermeter import pytorch trace.json --region ProfilerStep=resnet50 --fixed batch=32\n"
    "  layermeter import nsys report.sqlite --region step=resnet50 --fixed batch=32\n"
    "  layermeter import tensorboard events.out.* --region step=resnet50 --fixed batch=32\n"
    "  layermeter import wandb history.csv --region step=gpt2 --fixed batch=8 --metric dt=step\n"
    "  layermeter import extra-p scaling.txt -o scaling.csv\n"
    "  layermeter import extra-p mine.txt --parameter p=nodes --region main=resnet50 --fixed batch=32\n";

/* The files after the source. */
static word_list files_of(const options *o)
{
    return (word_list){ o->argument + 1, (size_t)o->n_arguments - 1 };
}

/* A network, and the title of its file. */
typedef struct titled {
    const network *net;
    const char    *title;
} titled;

static lm_status write_network(void *context, FILE *out, lm_error *err)
{
    const titled *w = context;

    return network_write(w->net, w->title, out, err);
}

static lm_status import_network(const options *o, lm_error *err)
{
    const import_options *a       = o->filled;
    lm_library           *library = NULL;
    lm_network           *opened  = NULL;
    const network        *net     = NULL;
    const char           *slash   = strrchr(o->argument[0], '/');
    char                  title[256];
    lm_status             status;

    status = open_library(o, &library, err);
    if (!status)
        status = open_network(o, &a->network, library, &opened, err);
    if (!status) {
        net = opened->net;
        snprintf(title, sizeof title, "Imported from %.120s%s%.100s",
                 slash ? slash + 1 : o->argument[0], net->set ? ", with " : "",
                 net->set ? net->set : "");
        status = file_put(a->output, write_network, &(titled){ net, title }, err);
    }
    if (!status)
        print_note(net, stderr);
    lm_network_close(opened);
    lm_library_close(library);
    return status;
}

/* ---- logs of all-reduce benchmarks ---- */

static lm_status import_logs_check(options *o, lm_error *err)
{
    import_options *a   = o->filled;
    log_options    *log = &a->log;
    collective_kind kind;

    if (log->ranks && log->hosts > log->ranks)
        return misused(o, &log->hosts, err, "more hosts than ranks");
    if (log->algorithm && strcmp(log->algorithm, "default") && strcmp(log->algorithm, "ring"))
        return misused(o, &log->algorithm, err, "'%.40s' is none of default, ring", log->algorithm);
    if (log->kind && collective_kind_find(log->kind, &kind, err))
        return misused(o, &log->kind, err, "%s", err->text);
    if (log->kind)
        log->kind = collective_types[kind].name;
    return LM_OK;
}

/* Rows, and the files that they come from. */
typedef struct read_rows {
    const options  *o;
    const log_rows *rows;
} read_rows;

static lm_status write_rows(void *context, FILE *out, lm_error *err)
{
    const read_rows *w     = context;
    const word_list  paths = files_of(w->o);

    (void)err;
    log_print(w->rows, &paths, out);
    return LM_OK;
}

static lm_status import_write(const options *o, const log_rows *rows, lm_error *err)
{
    const import_options *a = o->filled;

    return file_put(a->output, write_rows, &(read_rows){ o, rows }, err);
}

static void print_left_out(const log_rows *rows)
{
    const struct {
        size_t      n;
        const char *why;
    } parts[] = { { rows->n_wrong, "the result was wrong" },
                  { rows->n_other,
                    "an empty message, no sum, or an element type without a name here" },
                  { rows->n_broken, "cut short, or without a time" } };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].n)
            note("%zu row%s skipped: %s", parts[i].n, parts[i].n == 1 ? "" : "s", parts[i].why);
}

static lm_status import_logs(const options *o, log_reader *read, lm_error *err)
{
    const import_options *a      = o->filled;
    const word_list       paths  = files_of(o);
    log_rows              rows   = { 0 };
    lm_status             status = log_read_all(read, &paths, &a->log, &rows, err);

    if (!status && !(status = import_write(o, &rows, err)))
        print_left_out(&rows);
    log_rows_free(&rows);
    return status;
}

static lm_status import_nccl_tests(const options *o, lm_error *err)
{
    return import_logs(o, log_read_nccl_tests, err);
}

static lm_status import_osu(const options *o, lm_error *err)
{
    return import_logs(o, log_read_osu, err);
}

/* ---- Extra-P's text files ---- */

/* Splits NAME=MEANING. Names of other programs may hold a =, so the last one splits; with --fixed
 * the first. */
static lm_status split(options *o, const char *text, bool fixed, extrap_name *out, lm_error *err)
{
    const char *equal = fixed ? strchr(text, '=') : strrchr(text, '=');

    if (!equal || equal == text || !equal[1])
        return lm_error_set(err, LM_E_ARG, "expected NAME=MEANING, found '%.60s'", text);
    *out = (extrap_name){ arena_text(o->room, text, (size_t)(equal - text)), equal + 1 };
    return out->theirs ? LM_OK : no_memory(err);
}

static lm_status known_count(const char *word, lm_error *err)
{
    extrap_count c;

    return extrap_count_find(word, &c)
               ? LM_OK
               : lm_error_set(err, LM_E_ARG, "'%.40s' is none of " EXTRAP_COUNTS_KNOWN, word);
}

static lm_status known_metric(const char *word, lm_error *err)
{
    phase p;

    return strcmp(word, "time") && phase_parse(word, &p)
               ? lm_error_set(
                     err, LM_E_ARG,
                     "'%.40s' is none of time, forward, backward, sync, update, step, inference",
                     word)
               : LM_OK;
}

/* All pairs of an option; each must be `known`, if that is not NULL. */
static lm_status read_names(options *o, const option_texts *said, bool fixed,
                            lm_status (*known)(const char *ours, lm_error *err), extrap_names *out,
                            lm_error *err)
{
    extrap_name *name   = arena_array(o->room, said->n + 1, sizeof *name);
    lm_status    status = name ? LM_OK : no_memory(err);
    lm_error     why;

    for (size_t i = 0; i < said->n && !status; i++) {
        status = split(o, said->at[i], fixed, &name[i], &why);
        if (!status && known)
            status = known(name[i].ours, &why);
        if (status)
            status = misused(o, said, err, "%s", why.text);
    }
    *out = (extrap_names){ name, said->n };
    return status;
}

static lm_status import_extrap_check(options *o, lm_error *err)
{
    import_options *a  = o->filled;
    extrap_options *to = &a->given;
    extrap_names    fixed;
    lm_error        why;
    lm_status       status;

    if ((status = read_names(o, &a->extrap.parameters, false, known_count, &to->parameters, err)) ||
        (status = read_names(o, &a->extrap.regions, false, NULL, &to->regions, err)) ||
        (status = read_names(o, &a->metrics, false, known_metric, &to->metrics, err)) ||
        (status = read_names(o, &a->extrap.fixed, true, NULL, &fixed, err)))
        return status;
    for (size_t i = 0; i < fixed.n; i++)
        if (extrap_say(&to->fixed, fixed.name[i].theirs, fixed.name[i].ours, &why))
            return misused(o, &a->extrap.fixed, err, "%s", why.text);
    return LM_OK;
}

static lm_status import_extrap(const options *o, lm_error *err)
{
    const import_options *a     = o->filled;
    const word_list       paths = files_of(o);
    registry             *reg   = NULL;
    log_rows              rows  = { 0 };
    lm_status             status;

    if (!(status = open_registry(o, &reg, err)) &&
        !(status = extrap_read_all(&paths, &a->given, reg, &rows, err)))
        status = import_write(o, &rows, err);
    log_rows_free(&rows);
    registry_free(reg);
    return status;
}

static void print_events_left_out(const log_rows *rows)
{
    if (rows->n_other)
        note("%zu other collective%s skipped", rows->n_other, rows->n_other == 1 ? "" : "s");
    if (rows->n_broken)
        note("%zu event%s skipped: without a time, a size or a number of ranks", rows->n_broken,
             rows->n_broken == 1 ? "" : "s");
}

/* ---- traces and logs of a run ---- */

static lm_status import_profiles(const options *o, profile_reader *read, lm_error *err)
{
    const import_options *a      = o->filled;
    const word_list       paths  = files_of(o);
    registry             *reg    = NULL;
    log_rows              rows   = { 0 };
    lm_status             status = open_registry(o, &reg, err);

    for (size_t i = 0; i < paths.n && !status; i++)
        status = read(paths.at[i], &a->given, reg, &rows, err);
    if (!status && !(status = import_write(o, &rows, err)))
        print_events_left_out(&rows);
    log_rows_free(&rows);
    registry_free(reg);
    return status;
}

static lm_status import_pytorch(const options *o, lm_error *err)
{
    return import_profiles(o, kineto_read, err);
}

static lm_status import_nsys(const options *o, lm_error *err)
{
    return import_profiles(o, nsys_read, err);
}

static lm_status import_tensorboard(const options *o, lm_error *err)
{
    return import_profiles(o, tensorboard_read, err);
}

static lm_status import_wandb(const options *o, lm_error *err)
{
    return import_profiles(o, wandb_read, err);
}

/* ---- logs of power ---- */

/* A deviation above this share of the mean shows more than one load. */
#define STEADY 0.2

typedef struct watts_row {
    const char   *path;
    power_log_gpu of;
} watts_row;

REAL_OF(spread, watts_row, r->of.mean.deviation / r->of.mean.watts)
REAL_OF(joules, watts_row, r->of.mean.watts * r->of.mean.seconds)

static const field power_fields[] = {
    { "log", "log", FIELD_AT(watts_row, path) },
    { "gpu", "GPU", FIELD_AT(watts_row, of.name) },
    { "power_w", "power [W]", FIELD_AT(watts_row, of.mean.watts), .digits = 1 },
    { "spread_percent", "spread [%]", .real = spread, IN_PERCENT },
    { "seconds", "for [s]", FIELD_AT(watts_row, of.mean.seconds), .digits = 1 },
    { "energy_j", "energy [J]", .real = joules, .digits = -1 },
    { "ramp_s", "start-up [s]", FIELD_AT(watts_row, of.mean.ramp_seconds), .digits = 1 },
    { "tail_s", "end [s]", FIELD_AT(watts_row, of.mean.tail_seconds), .digits = 1 },
    { "strange", "strange", FIELD_AT(watts_row, of.mean.strange) },
    { "samples", "samples", FIELD_AT(watts_row, of.samples) },
    { "missing", FIELD_AT(watts_row, of.missing) },
    { "gaps", FIELD_AT(watts_row, of.gaps) },
    { 0 },
};

/* Oddities of a log, a line each. */
static void say(const char *path, const power_log_gpu *g)
{
    if (g->gaps)
        note("%s: GPU %s: %zu gap%s, %.1f s in all, not counted", path, g->name, g->gaps,
             g->gaps == 1 ? "" : "s", g->gap_seconds);
    if (g->jumps)
        note("%s: GPU %s: the clock went back %zu time%s", path, g->name, g->jumps,
             g->jumps == 1 ? "" : "s");
    if (g->missing)
        note("%s: GPU %s: %zu of %zu rows have no power", path, g->name, g->missing, g->samples);
    if (g->mean.deviation > STEADY * g->mean.watts)
        note("%s: GPU %s: power varies by %.0f %%: did the load change?", path, g->name,
             100 * g->mean.deviation / g->mean.watts);
}

static lm_status read_logs(const options *o, const trace_question *q, field_rows *rows,
                           lm_error *err)
{
    for (int i = 1; i < o->n_arguments; i++) {
        const char     *path = o->argument[i];
        power_log       log;
        const lm_status status = power_log_read(path, q, &log, err);

        if (status)
            return status;
        for (size_t k = 0; k < log.n; k++) {
            field_row(rows, &(watts_row){ path, log.gpu[k] });
            say(path, &log.gpu[k]);
        }
        power_log_free(&log);
    }
    return LM_OK;
}

/* A table and its format. */
typedef struct printed {
    const table *t;
    format       f;
} printed;

static lm_status print(void *context, FILE *out, lm_error *err)
{
    const printed *w = context;

    return table_print(w->t, w->f, out, err);
}

static lm_status import_power(const options *o, lm_error *err)
{
    const import_options *a    = o->filled;
    const trace_question  q    = { .metric   = a->metrics.n ? a->metrics.at[a->metrics.n - 1] : NULL,
                                   .gpu      = a->power.gpu,
                                   .interval = a->power.interval };
    const field_view      v    = { .fields = power_fields, .in = field_place_of(a->power.format) };
    field_rows            rows = field_rows_of(&v);
    lm_status             status = read_logs(o, &q, &rows, err);

    if (!status)
        status = file_put(a->output, print, &(printed){ rows.t, a->power.format }, err);
    table_free(rows.t);
    return status;
}

/* ---- the command ---- */

/* Options that a kind of import takes; a network takes those of networks alone. */
enum takes { LOGS = 1, PARAMETERS = 2, REGIONS = 4, METRICS = 8, POWER = 16 };

/* Kinds of imports, by the first argument: a word; else it is the file of a network. */
static const struct {
    const char *word, *takes;
    unsigned    options;                           /* enum takes */
    lm_status (*check)(options *o, lm_error *err); /* NULL: nothing to check */
    lm_status (*run)(const options *o, lm_error *err);
} kinds[] = {
    { "nccl-tests", "LOG", LOGS, import_logs_check, import_nccl_tests },
    { "osu", "LOG", LOGS, import_logs_check, import_osu },
    { "extra-p", "FILE", PARAMETERS | REGIONS | METRICS, import_extrap_check, import_extrap },
    { "power", "LOG", METRICS | POWER, NULL, import_power },
    { "pytorch", "TRACE", REGIONS, import_extrap_check, import_pytorch },
    { "nsys", "TRACE", REGIONS, import_extrap_check, import_nsys },
    { "tensorboard", "LOG", REGIONS | METRICS, import_extrap_check, import_tensorboard },
    { "wandb", "LOG", REGIONS | METRICS, import_extrap_check, import_wandb },
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

static size_t kind_of(const options *o)
{
    size_t k = 0;

    while (k < N_KINDS && strcmp(kinds[k].word, o->argument[0]) != 0)
        k++;
    return k;
}

/* Refuses options of the other kinds. */
static lm_status check(options *o, lm_error *err)
{
    import_options *a      = o->filled;
    const size_t    kind   = kind_of(o);
    const unsigned  takes  = kind < N_KINDS ? kinds[kind].options : 0;
    lm_status       status = LM_OK;

    if (!(takes & LOGS))
        status = refused(o, &a->log, sizeof a->log, "nccl-tests and osu", err);
    if (!status && !(takes & PARAMETERS))
        status = refused(o, &a->extrap.parameters, sizeof a->extrap.parameters, "extra-p", err);
    if (!status && !(takes & REGIONS))
        status = refused(o, &a->extrap, sizeof a->extrap,
                         "extra-p, pytorch, nsys, tensorboard and wandb", err);
    if (!status && !(takes & METRICS))
        status = refused(o, &a->metrics, sizeof a->metrics, "extra-p, tensorboard, wandb and power",
                         err);
    if (!status && !(takes & POWER))
        status = refused(o, &a->power, sizeof a->power, "power", err);
    if (!status && kind < N_KINDS)
        status = refused(o, &a->network, sizeof a->network, "networks", err);
    if (!status && kind < N_KINDS && kinds[kind].check)
        status = kinds[kind].check(o, err);
    if (status)
        return status;
    if (kind < N_KINDS)
        return o->n_arguments > 1 ? LM_OK
                                  : lm_error_set(err, LM_E_ARG, "a %s is missing after '%s'",
                                                 kinds[kind].takes, kinds[kind].word);
    return o->n_arguments == 1
               ? LM_OK
               : lm_error_set(
                     err, LM_E_ARG,
                     "one NETWORK at a time; before logs, name their source, such as nccl-tests or pytorch");
}

static lm_status run(const options *o, lm_error *err)
{
    const size_t kind = kind_of(o);

    return kind < N_KINDS ? kinds[kind].run(o, err) : import_network(o, err);
}

const command cmd_import =
    COMMAND("import", "NETWORK | SOURCE FILE...",
            "Convert a network to an INI file, or measurements to observations", import_options, 1,
            ARGUMENTS_MAX, check, run);
