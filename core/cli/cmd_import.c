/* layermeter import: a network of another format as an INI file; logs: import_logs.c. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/import_logs.h"
#include "network/write.h"

enum { OUTPUT, TREAT, IGNORE, SET, RANKS, HOSTS, ALGORITHM };

static const option_spec specs[] = {
    [OUTPUT] = { "output", "FILE", NULL, "file to write (also -o); else it is printed" },
    [TREAT]  = OPTION_TREAT,
    [IGNORE] = OPTION_IGNORE,
    [SET]    = OPTION_SET,
    [RANKS]  = { "ranks", "N", NULL, "logs: how many ranks took part, where the log does not say" },
    [HOSTS]  = { "hosts", "N", NULL, "logs: on how many hosts they were" },
    [ALGORITHM] = { "algorithm", "NAME", NULL, "logs: default (the library's choice) or ring" },
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
    "the tools print them; nccl-tests' are those in place. OSU's logs need --ranks and --hosts.\n";

static const char examples[] =
    "  layermeter import resnet50.onnx -o resnet50.ini\n"
    "  layermeter import alex_v2.json -o alex_v2.ini\n"
    "  layermeter import net.onnx --treat Selu=relu --ignore Print\n"
    "  layermeter import nccl-tests 1node.log 4nodes.log -o observations.csv\n"
    "  layermeter import osu allreduce.log --ranks 64 --hosts 4 -o o.csv\n";

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
    static const log_places at       = { OUTPUT, RANKS, HOSTS, ALGORITHM };
    static const int        of_log[] = { RANKS, HOSTS, ALGORITHM };
    char                    option[32];
    lm_error                err;

    if (import_is_log(o->argument[0]))
        return import_logs(o, &at);
    if (o->n_arguments > 1) {
        lm_error_set(&err, LM_E_ARG,
                     "one FILE at a time (logs go behind the word nccl-tests or osu)");
        return report_misuse("", &err);
    }
    for (size_t i = 0; i < sizeof of_log / sizeof of_log[0]; i++)
        if (o->value[of_log[i]]) {
            lm_error_set(&err, LM_E_ARG, "is for logs, behind the word nccl-tests or osu");
            snprintf(option, sizeof option, "--%s", specs[of_log[i]].name);
            return report_misuse(option, &err);
        }
    return run_network(o);
}

const command cmd_import = {
    .name          = "import",
    .arguments     = "FILE | nccl-tests LOG... | osu LOG...",
    .doc           = "Turn a network of another format into an INI file, or logs into observations",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = ARGUMENTS_MAX,
    .run           = run,
};
