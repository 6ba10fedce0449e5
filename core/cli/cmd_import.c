/* layermeter import: a network of another format as an INI file; logs: import_logs.c, Extra-P's
 * files: import_extrap.c. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/import_options.h"
#include "network/write.h"

#define AT(member) OPTION_AT(import_options, member)

static const option_row option_rows[] = {
    OPTION_GROUP(import_options, network, network_option_rows),
    { "ranks", AT(log.ranks), &type_whole, "N", NULL, HELP_WHAT,
      "logs: ranks that took part, where the log does not say", .least = 1, .most = 1e6,
      .outside = "must be 1 to 1000000" },
    { "hosts", AT(log.hosts), &type_whole, "N", NULL, HELP_WHAT, "logs: hosts of these ranks",
      .least = 1, .most = 1e6, .outside = "must be 1 to 1000000" },
    { "algorithm", AT(log.algorithm), &type_text, "NAME", NULL, HELP_WHAT,
      "logs: default (the library's choice) or ring" },
    { "parameter", AT(extrap.parameters), &type_pair, "NAME=MEANING", NULL, HELP_WHAT,
      "extra-p: meaning of a parameter, p=ranks", .repeats = true },
    { "region", AT(extrap.regions), &type_pair, "NAME=NETWORK", NULL, HELP_WHAT,
      "extra-p: network of a region, or allreduce", .repeats = true },
    { "metric", AT(metrics), &type_text, "NAME=PHASE", .repeats = true,
      .help = "extra-p: phase of a metric, in seconds; power: NAME, its column" },
    { "fixed", AT(extrap.fixed), &type_pair, "KEY=VALUE", NULL, HELP_WHAT,
      "extra-p: what the file does not say, batch=32", .repeats = true },
    { "gpu", AT(power.gpu), .argument = "NAME", .help = "power: only this GPU of the log" },
    { "interval", AT(power.interval), .heading = HELP_WHAT, .outside = "must be above 0",
      .least = OPTION_ABOVE_0, .help = "power: time between rows, where the log has no times" },
    { "output", AT(output) },
    { "format", AT(power.format), .help = "power" },
    { .name = NULL },
};

static const char details[] =
    "Reads ONNX files, with or without weights (which are not read), and PALEO's JSON files, whose blocks\n"
    "and model-parallel parts are unfolded onto one device. Other commands take such files, too: import\n"
    "one to read, change and keep it. An operator without a layer type is an error; --treat and --ignore\n"
    "stand in the new file as a note that every result repeats.\n"
    "\n"
    "After the word nccl-tests or osu: logs of all_reduce_perf (NVIDIA's or AMD's) or osu_allreduce, as\n"
    "observations to fit. Rows with a wrong result are left out, and counted. Times are means, as the\n"
    "tools print them; those of nccl-tests are in place. OSU's logs need --ranks and --hosts.\n"
    "\n"
    "After the word extra-p: files in Extra-P's text format, as observations. Parameters are nodes,\n"
    "devices (of each node), ranks (of all), batch (of a device), bytes, bucket_bytes, threads. Regions\n"
    "are networks or allreduce, with what does not vary behind the name ('resnet18 optimizer=adam').\n"
    "Metrics are time (a step), forward, backward, sync, update, step, inference, in seconds. Any other\n"
    "word is an error that says what to give. Repetitions of a point become one row, their median.\n"
    "\n"
    "After the word power: logs of nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv, dcgmi\n"
    "dmon and other traces that 'epochs' reads. Prints the settled mean of each GPU, as power_w of\n"
    "observations: start-up and end are left out where the standard error of the rest is least, then\n"
    "values beyond three standard deviations; gaps do not count.\n";

static const char examples[] =
    "  layermeter import resnet50.onnx -o resnet50.ini\n"
    "  layermeter import alex_v2.json -o alex_v2.ini\n"
    "  layermeter import net.onnx --treat Selu=relu --ignore Print\n"
    "  layermeter import nccl-tests 1node.log 4nodes.log -o allreduces.csv\n"
    "  layermeter import osu allreduce.log --ranks 64 --hosts 4 -o o.csv\n"
    "  layermeter import power smi.csv --gpu 0\n"
    "  layermeter import extra-p scaling.txt -o scaling.csv\n"
    "  layermeter import extra-p mine.txt --parameter p=nodes --region main=resnet50 --fixed batch=32\n";

static lm_status write_file(const network *net, const char *title, const char *path, lm_error *err)
{
    file_draft draft;
    lm_status  status = file_draft_open(&draft, path, err);

    if (status)
        return status;
    status = network_write(net, title, draft.stream, err);
    if (!status)
        status = file_draft_commit(&draft, err);
    file_draft_drop(&draft);
    return status;
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
        status = a->output ? write_file(net, title, a->output, err)
                           : network_write(net, title, stdout, err);
    }
    if (!status)
        print_note(net, stderr);
    lm_network_close(opened);
    lm_library_close(library);
    return status;
}

/* What is imported, by the first argument: a word, or the file of a network. */
static const struct {
    const char *word;
    lm_status (*check)(options *o, lm_error *err);
    lm_status (*run)(const options *o, lm_error *err);
} kinds[] = {
    { "nccl-tests", import_logs_check, import_logs },
    { "osu", import_logs_check, import_logs },
    { "extra-p", import_extrap_check, import_extrap },
    { "power", import_power_check, import_power },
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

static size_t kind_of(const options *o)
{
    size_t k = 0;

    while (k < N_KINDS && strcmp(kinds[k].word, o->argument[0]) != 0)
        k++;
    return k;
}

/* Options of the other kinds. */
static lm_status check(options *o, lm_error *err)
{
    import_options *a    = o->filled;
    const size_t    kind = kind_of(o);
    const bool      log = kind < 2, extrap = kind == 2, power = kind == 3;
    lm_status       status = LM_OK;

    if (!log)
        status = refused(o, &a->log, sizeof a->log, "logs, behind the word nccl-tests or osu", err);
    if (!status && !extrap)
        status = refused(o, &a->extrap, sizeof a->extrap, "files behind the word extra-p", err);
    if (!status && !extrap && !power)
        status = refused(o, &a->metrics, sizeof a->metrics,
                         "files behind the word extra-p or power", err);
    if (!status && !power)
        status = refused(o, &a->power, sizeof a->power, "logs behind the word power", err);
    if (!status && kind < N_KINDS)
        status = refused(o, &a->network, sizeof a->network, "networks", err);
    if (status)
        return status;
    if (kind < N_KINDS)
        return kinds[kind].check(o, err);
    return o->n_arguments == 1
               ? LM_OK
               : lm_error_set(
                     err, LM_E_ARG,
                     "one FILE at a time (logs go behind the word nccl-tests, osu or power)");
}

static lm_status run(const options *o, lm_error *err)
{
    const size_t kind = kind_of(o);

    return kind < N_KINDS ? kinds[kind].run(o, err) : import_network(o, err);
}

const command cmd_import =
    COMMAND("import", "FILE | nccl-tests LOG... | osu LOG... | power LOG... | extra-p FILE...",
            "Turn a network of another format into an INI file, or logs into observations",
            import_options, 1, ARGUMENTS_MAX, check, run);
