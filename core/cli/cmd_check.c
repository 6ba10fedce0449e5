/* layermeter check: does a plugin keep the contract? Asked in child processes, a type each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "cli/commands.h"
#include "layers/check.h"
#include "layers/guarded.h"
#include "layers/loader.h"
#include "report/table.h"

typedef struct check_command {
    const char  *type; /* only this one; NULL: all */
    int64_t      cases;
    uint64_t     seed;
    guard_limits limits;
    format       format;
} check_command;

#define AT(member) OPTION_AT(check_command, member)

static const option_row option_rows[] = {
    { "type", AT(type), &type_text, "NAME", NULL, HELP_WHAT, "only this layer type" },
    { "cases", AT(cases), &type_whole, "N", "300", HELP_HOW, "legal uses to make up for each type",
      .least = 1, .most = 1e6, .outside = "expected 1 to 1000000" },
    { "seed", AT(seed), .help = "another number makes up other uses" },
    { "time", AT(limits.seconds), &type_seconds, "TIME", "30s", HELP_HOW,
      "a type that takes longer hangs", .least = 0.01, .most = 1e6,
      .outside = "expected 10ms or more" },
    { "memory", AT(limits.bytes), .fallback = "1GiB", .heading = HELP_HOW, .least = 1 << 20,
      .outside = "expected 1MiB or more", .help = "a type that wants more gets none" },
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] =
    "Makes up parameters and input shapes for each type and calls its functions: they succeed or refuse\n"
    "with a reason; equal questions get equal answers, in any order; kernels have the FLOPs that cost()\n"
    "says and no fewer bytes; work grows with the batch; nothing overflows; arguments are not written to.\n"
    "A type without a legal use fails: it was not exercised. 'legal' and 'refused' count uses; 'scaled'\n"
    "those legal uses whose FLOPs grew in proportion to the batch, or in equal steps if the outputs do\n"
    "not grow with it. Without FILE it checks all plugins that are found. Exit status 1 if a type breaks\n"
    "the contract; the use that shows it is printed as a model file.\n";

static const char examples[] = "  layermeter check ./swish.so\n"
                               "  layermeter check --type conv2d --cases 5000 --seed 7\n";

typedef struct job {
    const check_command *a;
    check_options        options;
    registry           **reg; /* one for each file, or one for all */
    size_t               n_reg;
    check_report        *report; /* of all types, in order */
    const char         **origin; /* where each comes from */
    size_t               n_reports, room;
} job;

/* ---- loading ----------------------------------------------------------------------------------
 */

/* What is loaded: a file, or everything if `file` is NULL. */
typedef struct load {
    const options *o;
    const char    *file;
    lm_status      status;
    lm_error       err;
} load;

static lm_status open_one(const load *l, registry **out, lm_error *err)
{
    registry *reg = NULL;
    lm_status status;

    if (!l->file)
        return open_registry(l->o, out, err);
    status = registry_new(&reg, err);
    if (!status)
        status = loader_open_file(reg, l->file, 0, err);
    if (status)
        registry_free(reg);
    else
        *out = reg;
    return status;
}

static void try_load(void *argument)
{
    load     *l   = argument;
    registry *reg = NULL;

    l->status = open_one(l, &reg, &l->err);
    registry_free(reg);
}

/* A constructor that crashes does so in a child first. */
static lm_status load_guarded(job *j, const options *o, const char *file, lm_error *err)
{
    load         *shared = guarded_memory(sizeof *shared);
    guard_outcome end;
    char          what[96];
    lm_status     status;

    if (!shared)
        return no_memory(err);
    shared->o    = o;
    shared->file = file;
    status       = guarded_call(try_load, shared, &j->a->limits, &end, err);
    if (!status && end.end != GUARD_RETURNED)
        status =
            lm_error_set(err, LM_E_ABI, "%s: %s while it is loaded", file ? file : "some plugin",
                         guarded_describe(&end, &j->a->limits, what, sizeof what));
    if (!status && shared->status) {
        *err   = shared->err;
        status = shared->status;
    }
    if (!status)
        status = open_one(shared, &j->reg[j->n_reg], err);
    if (!status)
        j->n_reg++;
    guarded_memory_free(shared, sizeof *shared);
    return status;
}

/* ---- checking ---------------------------------------------------------------------------------
 */

typedef struct task {
    const registry_entry *entry;
    const check_options  *options;
    check_report          report;
} task;

static void run_task(void *argument)
{
    task *t = argument;

    check_type(t->entry, t->options, &t->report);
}

/* A type that ends its process said in its report where it was. */
static void note_end(check_report *r, const guard_outcome *end, const guard_limits *limits)
{
    char what[96];

    if (end->end != GUARD_RETURNED || !r->finished)
        snprintf(r->violation, sizeof r->violation, "%s%s%s", r->step, *r->step ? ": " : "",
                 guarded_describe(end, limits, what, sizeof what));
    else if (end->wrote && !r->violation[0])
        snprintf(r->violation, sizeof r->violation, "writes to stdout or stderr");
}

static lm_status check_one(job *j, const registry_entry *entry, task *shared, lm_error *err)
{
    guard_outcome end;
    lm_status     status;

    memset(shared, 0, sizeof *shared);
    shared->entry   = entry;
    shared->options = &j->options;
    snprintf(shared->report.type, sizeof shared->report.type, "%s", entry->type.name);
    status = guarded_call(run_task, shared, &j->a->limits, &end, err);
    if (status)
        return status;
    if (shared->report.status)
        return lm_error_set(err, shared->report.status, "out of memory");
    note_end(&shared->report, &end, &j->a->limits);
    j->report[j->n_reports]   = shared->report;
    j->origin[j->n_reports++] = entry->origin;
    return LM_OK;
}

static lm_status check_all(job *j, lm_error *err)
{
    task     *shared = guarded_memory(sizeof *shared);
    lm_status status = LM_OK;

    for (size_t r = 0; r < j->n_reg; r++)
        j->room += registry_count(j->reg[r]);
    j->report = calloc(j->room + 1, sizeof *j->report);
    j->origin = calloc(j->room + 1, sizeof *j->origin);
    if (!shared || !j->report || !j->origin)
        status = no_memory(err);
    for (size_t r = 0; r < j->n_reg && !status; r++)
        for (size_t i = 0; i < registry_count(j->reg[r]) && !status; i++) {
            const registry_entry *entry = registry_at(j->reg[r], i);

            if (!j->a->type || !strcmp(j->a->type, entry->type.name))
                status = check_one(j, entry, shared, err);
        }
    if (!status && !j->n_reports)
        status = lm_error_set(err, LM_E_NOTFOUND, "no layer type '%s' here", j->a->type);
    guarded_memory_free(shared, sizeof *shared);
    return status;
}

/* ---- telling ----------------------------------------------------------------------------------
 */

static void list_reports(const job *j, format f, table *t)
{
    table_column(t, "type", "type", 0);
    if (f != FORMAT_TABLE)
        table_column(t, "file", "file", 0);
    table_column(t, "legal", "legal", 0);
    table_column(t, "refused", "refused", 0);
    table_column(t, "scaled", "scaled", 0);
    table_column(t, "violation", "result", 0);
    if (f != FORMAT_TABLE)
        table_column(t, "snippet", "model", 0);
    for (size_t i = 0; i < j->n_reports; i++) {
        const check_report *r = &j->report[i];

        table_text(t, r->type);
        if (f != FORMAT_TABLE)
            table_text(t, j->origin[i]);
        table_count(t, r->legal);
        table_count(t, r->refused);
        table_count(t, r->scaled);
        table_text(t, f == FORMAT_TABLE && !r->violation[0] ? "ok" : r->violation);
        if (f != FORMAT_TABLE)
            table_text(t, r->snippet);
    }
}

static void print_json(const job *j, const table *t)
{
    json out = { .out = stdout };

    json_open(&out, NULL, '{');
    json_count(&out, "seed", j->options.seed);
    json_count(&out, "cases", j->options.cases);
    table_json(t, &out, "types");
    json_close(&out, '}');
}

static lm_status print_reports(const job *j, format f, lm_error *err)
{
    table    *t        = table_new();
    size_t    violated = 0;
    lm_status status   = LM_OK;

    list_reports(j, f, t);
    if (f == FORMAT_JSON)
        print_json(j, t);
    else
        status = table_print(t, f, stdout, err);
    for (size_t i = 0; i < j->n_reports && !status; i++) {
        const check_report *r = &j->report[i];

        violated += r->violation[0] != '\0';
        if (f == FORMAT_TABLE && r->violation[0])
            printf("\n%s: %s\n%s", r->type, r->violation, r->snippet);
    }
    table_free(t);
    if (!status && violated)
        status = lm_error_set(err, LM_E_ABI, "%zu of %zu layer types break%s the contract",
                              violated, j->n_reports, violated == 1 ? "s" : "");
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    const check_command *a = o->filled;
    job       j      = { .a = a, .options = { .seed = a->seed, .cases = (uint64_t)a->cases } };
    lm_status status = LM_OK;

    j.reg = calloc((size_t)o->n_arguments + 1, sizeof(registry *));
    if (!j.reg)
        status = no_memory(err);
    else if (!o->n_arguments)
        status = load_guarded(&j, o, NULL, err);
    for (int i = 0; i < o->n_arguments && !status; i++)
        status = load_guarded(&j, o, o->argument[i], err);
    if (!status)
        status = check_all(&j, err);
    if (!status)
        status = print_reports(&j, a->format, err);
    for (size_t i = 0; i < j.n_reg; i++)
        registry_free(j.reg[i]);
    free(j.reg);
    free(j.report);
    free(j.origin);
    return status;
}

const command cmd_check =
    COMMAND("check", "[FILE...]", "Check that plugins keep the contract of layer types",
            check_command, 0, ARGUMENTS_MAX, NULL, run);
