/* layermeter models: the networks there are, and what may be set in them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "cli/commands.h"
#include "network/metrics.h"
#include "report/table.h"

enum { FORMAT };

static const option_spec specs[] = {
    [FORMAT] = { "format", "FORMAT", "table", "table, csv or json" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "Looks in the folders of $LAYERMETER_MODEL_PATH, then in that of the shipped models. Counts are of\n"
    "one sample of the file's own shape; FLOPs are those of the forward pass, 2 for each\n"
    "multiply-accumulate; there are none where an argument has no default. What stands under 'arguments'\n"
    "may be set: layermeter show NETWORK --set width=128. Exits with 1 if a file there is no network.\n";

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

static int run(const options *o)
{
    lm_error      err   = { 0 };
    registry     *reg   = NULL;
    network_names names = { NULL, 0 };
    table        *t     = table_new();
    int           code  = EXIT_DONE;
    format        f;

    if (format_parse(o->value[FORMAT], &f, &err)) {
        table_free(t);
        return report_misuse("", &err);
    }
    if (open_registry(o, &reg, &err) || network_list(&names, &err)) {
        code = report_failure(&err);
        goto out;
    }
    add_columns(t, f);
    for (size_t i = 0; i < names.n; i++)
        if (list_one(t, f, reg, names.name[i], &err)) /* one that is wrong hides no other */
            code = report_failure(&err);
    if (table_print(t, f, stdout, &err))
        code = report_failure(&err);
out:
    network_names_free(&names);
    table_free(t);
    registry_free(reg);
    return code;
}

const command cmd_models = {
    .name      = "models",
    .arguments = "",
    .doc       = "List the networks that are known by name, and their arguments",
    .details   = details,
    .examples  = examples,
    .options   = specs,
    .run       = run,
};
