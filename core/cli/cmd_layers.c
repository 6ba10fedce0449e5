/* layermeter layers: the layer types this program knows, from their own schemas. */
#include <stdio.h>

#include "base/text.h"
#include "cli/commands.h"
#include "layers/schema.h"
#include "report/table.h"

enum { FORMAT };

static const option_spec specs[] = {
    [FORMAT] = { "format", "FORMAT", "table", "table, csv or json" },
    { NULL, NULL, NULL, NULL },
};

static const char examples[] = "  layermeter layers\n  layermeter layers conv2d\n";

static void list_types(const registry *reg, table *t)
{
    table_column(t, "type", "type", 0);
    table_column(t, "doc", "what it does", 0);
    table_column(t, "plugin", "plugin", 0);
    for (size_t i = 0; i < registry_count(reg); i++) {
        const registry_entry *e = registry_at(reg, i);

        table_text(t, e->type.name);
        table_text(t, e->type.doc);
        table_text(t, e->plugin_name);
    }
}

static void list_params(const lm_layer_type *type, table *t)
{
    table_column(t, "key", "key", 0);
    table_column(t, "takes", "takes", 0);
    table_column(t, "default", "default", 0);
    table_column(t, "range", "range", 0);
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
        table_text(t, p.doc ? p.doc : "");
    }
}

static int run(const options *o)
{
    lm_error  err = { 0 };
    registry *reg = NULL;
    table    *t   = table_new();
    format    f;
    int       code = EXIT_DONE;

    if (format_parse(o->value[FORMAT], &f, &err)) {
        table_free(t);
        return report_misuse("", &err);
    }
    if (open_registry(o, &reg, &err)) {
        code = report_failure(&err);
        goto out;
    }
    if (o->n_arguments) {
        const registry_entry *e    = registry_find(reg, o->argument[0]);
        const char           *near = registry_suggest(reg, o->argument[0]);

        if (!e) {
            lm_error_set(&err, LM_E_NOTFOUND, "unknown layer type '%s'%s%s%s", o->argument[0],
                         near ? " (did you mean '" : "; 'layermeter layers' lists them",
                         near ? near : "", near ? "'?)" : "");
            code = report_failure(&err);
            goto out;
        }
        if (f == FORMAT_TABLE)
            printf("%s: %s\nfrom %s %s (%s), %s\n\n", e->type.name, e->type.doc, e->plugin_name,
                   e->plugin_version, e->plugin_license, e->origin);
        list_params(&e->type, t);
    } else {
        list_types(reg, t);
    }
    if (table_print(t, f, stdout, &err))
        code = report_failure(&err);
out:
    table_free(t);
    registry_free(reg);
    return code;
}

const command cmd_layers = {
    .name          = "layers",
    .arguments     = "[TYPE]",
    .doc           = "List the layer types, or explain the keys of one",
    .examples      = examples,
    .options       = specs,
    .max_arguments = 1,
    .run           = run,
};
