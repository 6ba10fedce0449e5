/* layermeter import: a network of another format as an INI file. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/commands.h"
#include "network/write.h"

enum { OUTPUT, TREAT, IGNORE, SET };

static const option_spec specs[] = {
    [OUTPUT] = { "output", "MODEL.ini", NULL, "file to write (also -o); else it is printed" },
    [TREAT]  = OPTION_TREAT,
    [IGNORE] = OPTION_IGNORE,
    [SET]    = OPTION_SET,
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "Reads ONNX files, with or without weights (these are not read), and PALEO's JSON files, whose blocks\n"
    "and model-parallel parts are unfolded, all parts on one device. The other commands take such files\n"
    "as well: an import is for reading, changing and keeping. An operator without a layer type is an\n"
    "error; --treat and --ignore are kept in the file as a note that every result of it prints.\n";

static const char examples[] = "  layermeter import resnet50.onnx -o resnet50.ini\n"
                               "  layermeter import alex_v2.json -o alex_v2.ini\n"
                               "  layermeter import net.onnx --treat Selu=relu --ignore Print\n";

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

static int run(const options *o)
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

const command cmd_import = {
    .name          = "import",
    .arguments     = "FILE",
    .doc           = "Turn a network of another format into an INI file",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
