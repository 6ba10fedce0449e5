/* layermeter check: checks that plugins keep the contract. Child processes call the types, one
 * each. */
#include <stdio.h>

#include "cli/commands.h"
#include "layers/checked.h"
#include "report/fields.h"

typedef struct check_command {
    const char  *type; /* only this one; NULL: all */
    int64_t      cases;
    uint64_t     seed;
    guard_limits limits;
    bool         badge;
    format       format;
} check_command;

#define AT(member) OPTION_AT(check_command, member)

static const option_row option_rows[] = {
    { "type", AT(type), &type_text, "NAME", NULL, HELP_WHAT, "check only this layer type" },
    { "cases", AT(cases), &type_whole, "N", "300", HELP_HOW, "legal uses to generate for each type",
      .least = 1, .most = 1e6, .outside = "expected 1 to 1000000" },
    { "seed", AT(seed), .help = "seed of the generated uses" },
    { "time", AT(limits.seconds), &type_seconds, "TIME", "30s", HELP_HOW,
      "a type that takes longer is reported as hanging", .least = 0.01, .most = 1e6,
      .outside = "expected 10ms or more" },
    { "memory", AT(limits.bytes), .fallback = "1GiB", .heading = HELP_HOW, .least = 1 << 20,
      .outside = "expected 1MiB or more", .help = "memory limit of a type" },
    { "badge", AT(badge), &type_flag, NULL, NULL, HELP_OUTPUT,
      "if all types keep the contract, print only a Markdown badge for a page about the plugin" },
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] =
    "The command generates parameters and input shapes for each layer type, and calls the functions of\n"
    "the type. These are the rules of the contract:\n"
    "  Each call succeeds, or refuses the use with a reason.\n"
    "  Equal calls return equal results, in any order.\n"
    "  Kernels have the FLOPs of cost(), and at least its bytes.\n"
    "  Work grows with the batch.\n"
    "  No number overflows, and no argument is changed.\n"
    "\n"
    "A type that refuses every use fails, because nothing was tested. 'legal' and 'refused' are numbers\n"
    "of uses. 'scaled' is the number of legal uses whose FLOPs grow in proportion to the batch; if the\n"
    "outputs do not grow with the batch, in equal steps. Without FILE the command checks all plugins that\n"
    "it finds. If a type breaks the contract, the exit status is 1; a model file with the use that shows\n"
    "it is printed.\n";

static const char examples[] = "  layermeter check ./swish.so\n"
                               "  layermeter check --type conv2d --cases 5000 --seed 7\n";

/* A report, and where its type comes from. */
typedef struct report_row {
    check_report of;
    const char  *origin;
} report_row;

TEXT_OF(result_of, report_row, r->of.violation[0] ? r->of.violation : "ok")

static const field fields[] = {
    { "type", "type", FIELD_AT(report_row, of.type) },
    { "file", FIELD_AT(report_row, origin) },
    { "legal", "legal", FIELD_AT(report_row, of.legal) },
    { "refused", "refused", FIELD_AT(report_row, of.refused) },
    { "scaled", "scaled", FIELD_AT(report_row, of.scaled) },
    { "violation", "result", .text = result_of, .not_in = IN_FILES },
    { "violation", FIELD_AT(report_row, of.violation) },
    { "snippet", FIELD_AT(report_row, of.snippet) },
    { 0 },
};

static void print_json(const check_options *made, const table *t)
{
    json out = { .out = stdout };

    json_open(&out, NULL, '{');
    json_count(&out, "seed", made->seed);
    json_count(&out, "cases", made->cases);
    table_json(t, &out, "types");
    json_close(&out, '}');
}

/* The result as shields.io draws it. */
static void print_badge(const check_result *j)
{
    printf("![layermeter check](https://img.shields.io/badge/"
           "layermeter_plugin_ABI_%d.%d-%zu_layer_type%s_ok-brightgreen)\n",
           LM_ABI_MAJOR, LM_ABI_MINOR, j->n_reports, j->n_reports == 1 ? "" : "s");
}

static size_t count_violated(const check_result *j)
{
    size_t n = 0;

    for (size_t i = 0; i < j->n_reports; i++)
        n += j->report[i].violation[0] != '\0';
    return n;
}

static lm_status print_reports(const check_result *j, const check_command *a,
                               const check_options *made, lm_error *err)
{
    const format     f        = a->format;
    const size_t     violated = count_violated(j);
    const field_view v        = { .fields = fields, .in = field_place_of(f) };
    field_rows       rows     = field_rows_of(&v);
    lm_status        status   = LM_OK;

    for (size_t i = 0; i < j->n_reports; i++)
        field_row(&rows, &(report_row){ j->report[i], j->origin[i] });
    if (a->badge && !violated)
        print_badge(j);
    else if (f == FORMAT_JSON)
        print_json(made, rows.t);
    else
        status = table_print(rows.t, f, stdout, err);
    for (size_t i = 0; i < j->n_reports && !status; i++) {
        const check_report *r = &j->report[i];

        if (f == FORMAT_TABLE && r->violation[0])
            printf("\n%s: %s\n%s", r->type, r->violation, r->snippet);
    }
    table_free(rows.t);
    if (!status && violated)
        status = lm_error_set(err, LM_E_ABI, "%zu of %zu layer types break%s the contract",
                              violated, j->n_reports, violated == 1 ? "s" : "");
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    const check_command *a      = o->filled;
    const check_question q      = { .file      = o->argument,
                                    .n_files   = (size_t)o->n_arguments,
                                    .plugin    = o->plugins.at,
                                    .n_plugins = o->plugins.n,
                                    .type      = a->type,
                                    .options   = { .seed = a->seed, .cases = (uint64_t)a->cases },
                                    .limits    = a->limits };
    check_result         r      = { .n_reg = 0 };
    lm_status            status = check_plugins(&q, &r, err);

    if (!status)
        status = print_reports(&r, a, &q.options, err);
    check_result_free(&r);
    return status;
}

const command cmd_check =
    COMMAND("check", "[FILE...]", "Check that the layer types of plugins keep their contract",
            check_command, 0, ARGUMENTS_MAX, NULL, run);
