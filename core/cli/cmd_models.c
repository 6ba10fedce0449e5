/* layermeter models: the networks there are, and what may be set in them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "cli/commands.h"
#include "network/metrics.h"
#include "report/table.h"

typedef struct models_options {
    format format;
} models_options;

static const option_row option_rows[] = {
    { "format", OPTION_AT(models_options, format) },
    { .name = NULL },
};

static const char details[] =
    "Looks in the folders of $LAYERMETER_MODEL_PATH, then in that of the shipped models. Counts are of\n"
    "one sample of the file's own shape; FLOPs are those of the forward pass, 2 for each\n"
    "multiply-accumulate; an argument without a default leaves them empty. Set what stands under\n"
    "'arguments' with layermeter show NETWORK --set width=128. Exits with 1 if a file there is no\n"
    "network.\n";

static const char examples[] = "  layermeter models\n  layermeter models --format csv\n";

static void add_columns(table *t, format f)
{
    table_column(t, "network", "network", 0);
    table_column(t, "params", "parameters", 0);
    if (f == FORMAT_TABLE)
        table_column(t, "gflops_forward", "GFLOPs fwd", 3);
    else
        table_column(t, "flops_forward", "FLOPs fwd", 0);
    table_column(t, "input", "input", 0);
    table_column(t, "source", "source", 0);
    table_column(t, "arguments", "arguments", 0); /* last: some are long */
}

/* "width=64 depth=3", malloc'ed; NULL when memory runs out. */
static char *describe_arguments(const network *net)
{
    size_t size = 1, used = 0;
    char  *text;

    for (size_t i = 0; i < net->n_arguments; i++)
        size += strlen(net->argument[i].name) + strlen(net->argument[i].value) + 2;
    text = calloc(size, 1);
    for (size_t i = 0; text && i < net->n_arguments; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s=%s", used ? " " : "",
                                 net->argument[i].name, net->argument[i].value);
    return text;
}

/* Without counts where `bound` is NULL. */
static lm_status add_row(table *t, format f, const network *net, const bound_network *bound,
                         const char *name, lm_error *err)
{
    char       *arguments = describe_arguments(net);
    net_metrics m;
    lm_status   status = arguments ? LM_OK : no_memory(err);

    if (!status && bound)
        status = metrics_of_network(bound, NULL, &m, err);
    if (!status) {
        table_text(t, name);
        if (bound)
            table_count(t, m.params);
        else
            table_real(t, NAN);
        if (bound && f != FORMAT_TABLE)
            table_count(t, m.flops_forward);
        else
            table_real(t, bound ? 1e-9 * (double)m.flops_forward : NAN);
        table_text(t, bound ? bound->input : "");
        table_text(t, net->source ? net->source : "");
        table_text(t, arguments);
    }
    free(arguments);
    return status;
}

/* An argument without a default: what the network is, only --set can tell. */
static bool is_open(const network *net)
{
    for (size_t i = 0; i < net->n_arguments; i++)
        if (!*net->argument[i].value)
            return true;
    return false;
}

static lm_status list_one(table *t, format f, const registry *reg, const char *name, lm_error *err)
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
        status = add_row(t, f, net, bound, name, err);
    bound_network_free(bound);
    network_free(net);
    return status;
}

/* One that is wrong hides no other: of all mistakes but the last there is a line at once. */
static lm_status list_all(table *t, format f, const registry *reg, const network_names *names,
                          lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < names->n; i++) {
        lm_error here;

        if (!list_one(t, f, reg, names->name[i], &here))
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
    registry             *reg   = NULL;
    network_names         names = { NULL, 0 };
    table                *t     = table_new();
    lm_status             status, printed;
    lm_error              why;

    if (!(status = open_registry(o, &reg, err)) && !(status = network_list(&names, err))) {
        add_columns(t, a->format);
        status  = list_all(t, a->format, reg, &names, err);
        printed = table_print(t, a->format, stdout, &why);
        if (!status && printed)
            *err = why;
        status = status ? status : printed;
    }
    network_names_free(&names);
    table_free(t);
    registry_free(reg);
    return status;
}

const command cmd_models =
    COMMAND("models", "", "List the networks that are known by name, and their arguments",
            models_options, 0, 0, NULL, run);
