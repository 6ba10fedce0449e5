/* layermeter layers: lists layer types and explains them by their own schemas. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "layers/schema.h"
#include "report/fields.h"

typedef struct layers_options {
    format format;
} layers_options;

static const option_row option_rows[] = {
    { "format", OPTION_AT(layers_options, format) },
    { .name = NULL },
};

static const char details[] =
    "Flags:\n"
    "  functional: joins or reshapes tensors; frameworks have no layer for it\n"
    "  source: takes no inputs\n"
    "  constant: a source that belongs to the network and is not data\n"
    "  view: shows its input with another shape, and costs nothing\n"
    "\n"
    "Each type also accepts the keys 'inputs' and 'functional'.\n";

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

TEXT_OF(inputs_text, registry_entry, print_inputs(&r->type, room, FIELD_TEXT_MAX))
TEXT_OF(flags_text, registry_entry, print_flags(&r->type, room, FIELD_TEXT_MAX))
COUNT_OF(outputs_of, registry_entry, r->type.n_outputs)
REAL_OF(least_inputs, registry_entry, r->type.flags &LM_SOURCE ? 0 : r->type.min_inputs)
REAL_OF(most_inputs, registry_entry,
        !r->type.max_inputs         ? (double)NAN
        : r->type.flags & LM_SOURCE ? 0
                                    : r->type.max_inputs)

static const field type_fields[] = {
    { "type", "type", FIELD_AT(registry_entry, type.name) },
    { "doc", "what it does", FIELD_AT(registry_entry, type.doc) },
    { "inputs", "inputs", .text = inputs_text, .yields = -1 },
    { "outputs", "outputs", .count = outputs_of, .yields = -1 },
    { "flags", "flags", .text = flags_text, .yields = -3 },
    { "plugin", "plugin", FIELD_AT(registry_entry, plugin_name), .yields = -4 },
    { 0 },
};

/* Fields of one type in JSON, before its flags. */
static const field one_fields[] = {
    { .key = "type" },
    { .key = "doc" },
    { .key = "plugin" },
    { "version", FIELD_AT(registry_entry, plugin_version) },
    { "license", FIELD_AT(registry_entry, plugin_license) },
    { "file", FIELD_AT(registry_entry, origin) },
    { "min_inputs", .real = least_inputs },
    { "max_inputs", .real = most_inputs },
    { .key = "outputs" },
    { 0 },
};

/* "1 .. 1000000"; "" where all are good. */
static const char *print_range(const lm_param *p, char *room)
{
    char low[40], high[40];

    if (p->min == 0 && p->max == 0)
        return "";
    snprintf(room, FIELD_TEXT_MAX, "%s .. %s", text_exact(p->min, low, sizeof low),
             text_exact(p->max, high, sizeof high));
    return room;
}

TEXT_OF(range_text, lm_param, print_range(r, room))
TEXT_OF(takes_text, lm_param, schema_describe(r, room, FIELD_TEXT_MAX))
TEXT_OF(default_text, lm_param, r->fallback ? r->fallback : "(required)")
TEXT_OF(unit_text, lm_param, r->unit ? r->unit : "")
TEXT_OF(doc_text, lm_param, r->doc ? r->doc : "")

static const field param_fields[] = {
    { "key", "key", FIELD_AT(lm_param, name) },
    { "takes", "takes", .text = takes_text, .yields = -2 },
    { "default", "default", .text = default_text, .yields = -1 },
    { "range", "range", .text = range_text, .yields = -3 },
    { "unit", "unit", .text = unit_text, .yields = -4 },
    { "doc", "meaning", .text = doc_text },
    { 0 },
};

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
    const field_view v = { .fields = one_fields, .from = type_fields, .in = IN_JSON };
    json             j = { .out = stdout };

    json_open(&j, NULL, '{');
    fields_json(&v, e, &j);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        json_bool(&j, flags[i].name, (e->type.flags & flags[i].flag) != 0);
    table_json(params, &j, "keys");
    json_close(&j, '}');
}

static lm_status print_rows(const registry_entry *e, field_rows *rows, format f, lm_error *err)
{
    lm_status status = LM_OK;

    if (e && f == FORMAT_TABLE)
        print_head(e);
    if (e && f == FORMAT_JSON)
        print_json(e, rows->t);
    else if (e && f == FORMAT_TABLE && !e->type.n_params)
        puts("no keys of its own");
    else
        status = table_print(rows->t, f, stdout, err);
    table_free(rows->t);
    return status;
}

/* Prints the keys of a type, or all types. */
static lm_status print_all(const registry *reg, const registry_entry *e, format f, lm_error *err)
{
    const field_view v    = { .fields = e ? param_fields : type_fields, .in = field_place_of(f) };
    const size_t     n    = e ? e->type.n_params : registry_count(reg);
    field_rows       rows = field_rows_of(&v);

    for (size_t i = 0; i < n; i++)
        if (e)
            field_row(&rows, &(lm_param[]){ schema_param(&e->type, (uint32_t)i) });
        else
            field_row(&rows, registry_at(reg, i));
    return print_rows(e, &rows, f, err);
}

static lm_status run(const options *o, lm_error *err)
{
    const layers_options *a      = o->filled;
    const registry_entry *e      = NULL;
    registry             *reg    = NULL;
    lm_status             status = open_registry(o, &reg, err);

    if (!status && o->n_arguments)
        status = registry_need(reg, o->argument[0], &e, err);
    if (!status)
        status = print_all(reg, e, a->format, err);
    registry_free(reg);
    return status;
}

const command cmd_layers =
    COMMAND("layers", "[TYPE]", "List the layer types, or explain the keys of one", layers_options,
            0, 1, NULL, run);
