/* layermeter import: a network of another format as an INI file; logs: import_logs.c, Extra-P's
 * files: import_extrap.c. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/import_extrap.h"
#include "cli/import_logs.h"
#include "cli/import_power.h"
#include "network/write.h"

enum {
    OUTPUT,
    TREAT,
    IGNORE,
    SET,
    RANKS,
    HOSTS,
    ALGORITHM,
    PARAMETER,
    REGION,
    METRIC,
    FIXED,
    GPU,
    INTERVAL,
    FORMAT
};

static const option_spec specs[] = {
    [OUTPUT] = { "output", "FILE", NULL, "file to write (also -o); else it is printed" },
    [TREAT]  = OPTION_TREAT,
    [IGNORE] = OPTION_IGNORE,
    [SET]    = OPTION_SET,
    [RANKS]  = { "ranks", "N", NULL, "logs: how many ranks took part, where the log does not say" },
    [HOSTS]  = { "hosts", "N", NULL, "logs: on how many hosts they were" },
    [ALGORITHM] = { "algorithm", "NAME", NULL, "logs: default (the library's choice) or ring" },
    [PARAMETER] = { "parameter", "NAME=MEANING", NULL,
                    "extra-p: what a parameter is, p=ranks; may be repeated" },
    [REGION]    = { "region", "NAME=NETWORK", NULL,
                    "extra-p: which network a region is, or allreduce; may be repeated" },
    [METRIC]    = { "metric", "NAME=PHASE", NULL,
                    "extra-p: which phase a metric is, in seconds; may be repeated; power: NAME, its column" },
    [FIXED]     = { "fixed", "KEY=VALUE", NULL,
                    "extra-p: what the file does not say, batch=32; may be repeated" },
    [GPU]       = { "gpu", "NAME", NULL, "power: this GPU of the log, else each of them" },
    [INTERVAL]  = { "interval", "TIME", NULL, "power: between rows, where the log has no times" },
    [FORMAT]    = { "format", "FORMAT", "table", "power: table, csv or json" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "Reads ONNX files, with or without weights (these are not read), and PALEO's JSON files, whose blocks\n"
    "and model-parallel parts are unfolded, all parts on one device. The other commands take such files\n"
    "as well: an import is for reading, changing and keeping. An operator without a layer type is an\n"
    "error; --treat and --ignore are kept in the file as a note that every result of it prints.\n"
    "\n"
    "After the word nccl-tests or osu: logs of all_reduce_perf (NVIDIA's or AMD's) or osu_allreduce, as\n"
    "observations to fit. Rows whose result was wrong are left out, and counted. The times are means, as\n"
    "the tools print them; nccl-tests' are those in place. OSU's logs need --ranks and --hosts.\n"
    "\n"
    "After the word extra-p: files in Extra-P's text format, as observations. Parameters are nodes, devices\n"
    "(of each node), ranks (of all), batch (of a device), bytes, bucket_bytes, threads; regions networks, or\n"
    "allreduce, with what does not vary behind the name ('resnet18 optimizer=adam'); metrics time, which is a\n"
    "step, forward, backward, sync, update, step, inference, all in seconds. Words of other meaning are an\n"
    "error that says what to give. Repetitions of a point become one row, their median.\n"
    "\n"
    "After the word power: logs of nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv, dcgmi dmon\n"
    "and others that 'epochs' reads. Prints the mean of each GPU once it has settled, as power_w of\n"
    "observations: start-up and end are left out where the rest's standard error is least, then values\n"
    "beyond three standard deviations; gaps do not count.\n";

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

static int run_network(const options *o)
{
    static const network_options at    = { TREAT, IGNORE, SET };
    lm_error                     err   = { 0 };
    registry                    *reg   = NULL;
    network                     *net   = NULL;
    const char                  *slash = strrchr(o->argument[0], '/');
    char                         title[256];
    lm_status                    status;

    status = open_registry(o, &reg, &err);
    if (!status)
        status = open_network(o, &at, reg, &net, &err);
    if (!status)
        snprintf(title, sizeof title, "Imported from %.120s%s%.100s",
                 slash ? slash + 1 : o->argument[0], net->set ? ", with " : "",
                 net->set ? net->set : "");
    if (!status)
        status = o->value[OUTPUT] ? write_file(net, title, o->value[OUTPUT], &err)
                                  : network_write(net, title, stdout, &err);
    if (!status)
        print_note(net, stderr);
    network_free(net);
    registry_free(reg);
    return status ? report_failure(&err) : EXIT_DONE;
}

static int run(const options *o)
{
    static const log_places    at           = { OUTPUT, RANKS, HOSTS, ALGORITHM };
    static const extrap_places at_extrap    = { OUTPUT, PARAMETER, REGION, METRIC, FIXED };
    static const int           of_log[]     = { RANKS, HOSTS, ALGORITHM };
    static const power_places  at_power     = { OUTPUT, METRIC, GPU, INTERVAL, FORMAT };
    static const int           of_extrap[]  = { PARAMETER, REGION, FIXED };
    static const int           of_metric[]  = { METRIC };
    static const int           of_power[]   = { GPU, INTERVAL, FORMAT };
    static const int           of_network[] = { TREAT, IGNORE, SET };
    const bool                 log          = import_is_log(o->argument[0]);
    const bool                 extrap       = import_is_extrap(o->argument[0]);
    const bool                 power        = import_is_power(o->argument[0]);
    lm_error                   err;
    int                        code;

    if (!log && (code = options_refuse(o, of_log, 3, "logs, behind the word nccl-tests or osu")))
        return code;
    if (!extrap && (code = options_refuse(o, of_extrap, 3, "files behind the word extra-p")))
        return code;
    if (!extrap && !power &&
        (code = options_refuse(o, of_metric, 1, "files behind the word extra-p or power")))
        return code;
    if (!power && (code = options_refuse(o, of_power, 3, "logs behind the word power")))
        return code;
    if ((log || extrap || power) && (code = options_refuse(o, of_network, 3, "networks")))
        return code;
    if (log)
        return import_logs(o, &at);
    if (power)
        return import_power(o, &at_power);
    if (extrap)
        return import_extrap(o, &at_extrap);
    if (o->n_arguments > 1) {
        lm_error_set(&err, LM_E_ARG,
                     "one FILE at a time (logs go behind the word nccl-tests, osu or power)");
        return report_misuse("", &err);
    }
    return run_network(o);
}

const command cmd_import = {
    .name          = "import",
    .arguments     = "FILE | nccl-tests LOG... | osu LOG... | power LOG... | extra-p FILE...",
    .doc           = "Turn a network of another format into an INI file, or logs into observations",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = ARGUMENTS_MAX,
    .run           = run,
};
