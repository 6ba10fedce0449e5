/* layermeter models: lists networks by name and their arguments. */
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "network/metrics.h"
#include "report/fields.h"

typedef struct models_options {
    format format;
} models_options;

static const option_row option_rows[] = {
    { "format", OPTION_AT(models_options, format) },
    { .name = NULL },
};

static const char details[] =
    "The command lists the networks in the folders of $LAYERMETER_MODEL_PATH, then the shipped networks.\n"
    "Counts are those of one sample, with the shape in the file. FLOPs are those of the forward pass, 2\n"
    "for each multiply-accumulate. If an argument has no default, the counts are empty. 'layermeter show\n"
    "NETWORK --set width=128' sets an argument. The exit status is 1 if a file in these folders is not a\n"
    "network.\n";

static const char examples[] = "  layermeter models\n  layermeter models --format csv\n";

/* Counts are below 0 if an argument without a default decides them. */
typedef struct row {
    const char *network, *input, *source, *arguments;
    int64_t     params, flops;
} row;

static const field fields[] = {
    { "network", "network", FIELD_AT(row, network) },
    { "params", "parameters", FIELD_AT(row, params), .yields = -2 },
    { "flops_forward", "GFLOPs fwd", FIELD_AT(row, flops), .for_people = 1e9, .digits = 3,
      .yields = -3 },
    { "input", "input", FIELD_AT(row, input), .yields = -4 },
    { "source", "source", FIELD_AT(row, source), .yields = -5 },
    { "arguments", "arguments", FIELD_AT(row, arguments) }, /* last: some are long */
    { 0 },
};

/* "width=64 depth=3", malloc'ed; NULL when memory runs out. */
static char *describe_arguments(const network *net)
{
    size_t size = 1;
    char  *text;

    for (size_t i = 0; i < net->n_arguments; i++)
        size += strlen(net->argument[i].name) + strlen(net->argument[i].value) + 2;
    text = calloc(size, 1);
    for (size_t i = 0; text && i < net->n_arguments; i++)
        text_add(text, size, "%s%s=%s", *text ? " " : "", net->argument[i].name,
                 net->argument[i].value);
    return text;
}

/* Without counts where `bound` is NULL. */
static lm_status add_row(field_rows *rows, const network *net, const bound_network *bound,
                         const char *name, lm_error *err)
{
    char *arguments = describe_arguments(net);
    row r = { name, bound ? bound->input : "", net->source ? net->source : "", arguments, -1, -1 };
    net_metrics m;
    lm_status   status = arguments ? LM_OK : no_memory(err);

    if (!status && bound && !(status = metrics_of_network(bound, NULL, &m, err))) {
        r.params = (int64_t)m.params;
        r.flops  = (int64_t)m.flops_forward;
    }
    if (!status)
        field_row(rows, &r);
    free(arguments);
    return status;
}

/* Has the network an argument without a default? Then only --set can complete it. */
static bool is_open(const network *net)
{
    for (size_t i = 0; i < net->n_arguments; i++)
        if (!*net->argument[i].value)
            return true;
    return false;
}

static lm_status list_one(field_rows *rows, const registry *reg, const char *name, lm_error *err)
{
    const network_choices head   = { .head_only = true };
    const bind_options    with   = { .batch = 1, .dtype = LM_F32 };
    network              *net    = NULL;
    bound_network        *bound  = NULL;
    lm_status             status = network_open(name, reg, &head, &net, err);

    if (!status && !is_open(net)) {
        network_free(net);
        net    = NULL;
        status = network_open(name, reg, NULL, &net, err);
        if (!status)
            status = bind_network(net, reg, &with, &bound, err);
    }
    if (!status)
        status = add_row(rows, net, bound, name, err);
    bound_network_free(bound);
    network_free(net);
    return status;
}

/* One faulty network hides no other: each fault is reported at once, the last one by the status. */
static lm_status list_all(field_rows *rows, const registry *reg, const network_names *names,
                          lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < names->n; i++) {
        lm_error here;

        if (!list_one(rows, reg, names->name[i], &here))
            continue;
        if (status)
            report_failure(err);
        *err   = here;
        status = here.code;
    }
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    const models_options *a     = o->filled;
    const field_view      v     = { .fields = fields, .in = field_place_of(a->format) };
    field_rows            rows  = field_rows_of(&v);
    registry             *reg   = NULL;
    network_names         names = { NULL, 0 };
    lm_status             status, printed;
    lm_error              why;

    if ((status = open_registry(o, &reg, err)) || (status = network_list(&names, err))) {
        table_free(rows.t);
    } else {
        status  = list_all(&rows, reg, &names, err);
        printed = field_rows_print(&rows, a->format, stdout, LM_OK, &why);
        if (!status && printed)
            *err = why;
        status = status ? status : printed;
    }
    network_names_free(&names);
    registry_free(reg);
    return status;
}

const command cmd_models =
    COMMAND("models", "", "List the networks that are known by name, and their arguments",
            models_options, 0, 0, NULL, run);
