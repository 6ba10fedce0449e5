/* layermeter layers: lists layer types and explains them by their own schemas. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "layers/schema.h"
#include "report/table.h"

typedef struct layers_options {
    format format;
} layers_options;

static const option_row option_rows[] = {
    { "format", OPTION_AT(layers_options, format) },
    { .name = NULL },
};

static const char details[] =
    "Flags: 'functional' types join or reshape tensors and are no layers of their own in frameworks; a\n"
    "'source' takes no inputs; a 'constant' source belongs to the network and is no data; a 'view' shows\n"
    "its input under another shape and costs nothing. Every type also takes the keys 'inputs' and\n"
    "'functional'.\n";

static const char examples[] = "  layermeter layers\n"
                               "  layermeter layers conv2d\n"
                               "  layermeter layers conv2d --format json\n";

static const struct {
    uint32_t    flag;
    const char *name;
} flags[] = {
    { LM_FUNCTIONAL, "functional" }, { LM_SOURCE, "source" },
    { LM_CONSTANT, "constant" },     { LM_VIEW, "view" },
    { LM_FIXED_PART, "fixed_part" }, { LM_TRAINING_ONLY, "training_only" },
};

/* "functional view"; empty if there are none. */
static const char *print_flags(const lm_layer_type *type, char *buffer, size_t size)
{
    buffer[0] = '\0';
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (type->flags & flags[i].flag)
            text_add(buffer, size, "%s%s", *buffer ? " " : "", flags[i].name);
    return buffer;
}

/* The number of inputs: "1", "1 to 3", "2 or more"; a source has none of its own. */
static const char *print_inputs(const lm_layer_type *type, char *buffer, size_t size)
{
    if (type->flags & LM_SOURCE)
        snprintf(buffer, size, "0");
    else if (!type->max_inputs)
        snprintf(buffer, size, "%u or more", type->min_inputs);
    else if (type->min_inputs == type->max_inputs)
        snprintf(buffer, size, "%u", type->min_inputs);
    else
        snprintf(buffer, size, "%u to %u", type->min_inputs, type->max_inputs);
    return buffer;
}

static void list_types(const registry *reg, table *t)
{
    table_column(t, "type", "type", 0);
    table_column(t, "doc", "what it does", 0);
    table_column(t, "inputs", "inputs", 0);
    table_column(t, "outputs", "outputs", 0);
    table_column(t, "flags", "flags", 0);
    table_column(t, "plugin", "plugin", 0);
    for (size_t i = 0; i < registry_count(reg); i++) {
        const registry_entry *e = registry_at(reg, i);
        char                  text[64];

        table_text(t, e->type.name);
        table_text(t, e->type.doc);
        table_text(t, print_inputs(&e->type, text, sizeof text));
        table_count(t, e->type.n_outputs);
        table_text(t, print_flags(&e->type, text, sizeof text));
        table_text(t, e->plugin_name);
    }
}

static void list_params(const lm_layer_type *type, table *t)
{
    table_column(t, "key", "key", 0);
    table_column(t, "takes", "takes", 0);
    table_column(t, "default", "default", 0);
    table_column(t, "range", "range", 0);
    table_column(t, "unit", "unit", 0);
    table_column(t, "doc", "meaning", 0);
    for (uint32_t i = 0; i < type->n_params; i++) {
        const lm_param p = schema_param(type, i);
        char           what[96], range[96] = "", low[40], high[40];

        if (p.min != 0 || p.max != 0)
            snprintf(range, sizeof range, "%s .. %s", text_exact(p.min, low, sizeof low),
                     text_exact(p.max, high, sizeof high));
        table_text(t, p.name);
        table_text(t, schema_describe(&p, what, sizeof what));
        table_text(t, p.fallback ? p.fallback : "(required)");
        table_text(t, range);
        table_text(t, p.unit ? p.unit : "");
        table_text(t, p.doc ? p.doc : "");
    }
}

static void print_head(const registry_entry *e)
{
    char inputs[64], names[64];

    printf("%s: %s\nfrom %s %s (%s), %s\ninputs: %s; outputs: %u", e->type.name, e->type.doc,
           e->plugin_name, e->plugin_version, e->plugin_license, e->origin,
           print_inputs(&e->type, inputs, sizeof inputs), e->type.n_outputs);
    if (*print_flags(&e->type, names, sizeof names))
        printf("; %s", names);
    puts("\n");
}

static void print_json(const registry_entry *e, const table *params)
{
    const lm_layer_type *type   = &e->type;
    const bool           source = (type->flags & LM_SOURCE) != 0;
    json                 j      = { .out = stdout };

    json_open(&j, NULL, '{');
    json_text(&j, "type", type->name);
    json_text(&j, "doc", type->doc);
    json_text(&j, "plugin", e->plugin_name);
    json_text(&j, "version", e->plugin_version);
    json_text(&j, "license", e->plugin_license);
    json_text(&j, "file", e->origin);
    json_count(&j, "min_inputs", source ? 0 : type->min_inputs);
    if (type->max_inputs)
        json_count(&j, "max_inputs", source ? 0 : type->max_inputs);
    else
        json_text(&j, "max_inputs", NULL);
    json_count(&j, "outputs", type->n_outputs);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        json_bool(&j, flags[i].name, (type->flags & flags[i].flag) != 0);
    table_json(params, &j, "keys");
    json_close(&j, '}');
}

static lm_status run(const options *o, lm_error *err)
{
    const layers_options *a      = o->filled;
    const registry_entry *e      = NULL;
    registry             *reg    = NULL;
    table                *t      = table_new();
    lm_status             status = open_registry(o, &reg, err);

    if (!status && o->n_arguments)
        status = registry_need(reg, o->argument[0], &e, err);
    if (!status && e)
        list_params(&e->type, t);
    else if (!status)
        list_types(reg, t);
    if (!status && e && a->format == FORMAT_TABLE)
        print_head(e);
    if (!status && e && a->format == FORMAT_JSON)
        print_json(e, t);
    else if (!status && e && a->format == FORMAT_TABLE && !e->type.n_params)
        puts("no keys of its own");
    else if (!status)
        status = table_print(t, a->format, stdout, err);
    table_free(t);
    registry_free(reg);
    return status;
}

const command cmd_layers =
    COMMAND("layers", "[TYPE]", "List the layer types, or explain the keys of one", layers_options,
            0, 1, NULL, run);
