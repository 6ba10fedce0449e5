/* layermeter check: does a plugin keep the contract? Asked in child processes, a type each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/guarded.h"
#include "layers/check.h"
#include "layers/loader.h"
#include "report/table.h"

enum { TYPE, CASES, SEED, TIME, MEMORY, FORMAT };

static const option_spec specs[] = {
    [TYPE]   = { "type", "NAME", NULL, "only this layer type" },
    [CASES]  = { "cases", "N", "300", "legal uses to make up for each type" },
    [SEED]   = { "seed", "N", "1", "another number makes up other uses" },
    [TIME]   = { "time", "TIME", "30s", "a type that takes longer hangs" },
    [MEMORY] = { "memory", "SIZE", "1GiB", "a type that wants more gets none" },
    [FORMAT] = { "format", "FORMAT", "table", "table, csv or json" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "Makes up parameters and input shapes for each type and asks its callbacks about them: they\n"
    "succeed or refuse with a reason; equal questions get equal answers, in any order; kernels have\n"
    "the FLOPs that cost() says and no fewer bytes; work grows with the batch; nothing overflows,\n"
    "nothing given is written to. A type of which no use is legal fails: it was not exercised.\n"
    "'legal' and 'refused' are uses; of the legal ones 'scaled' had FLOPs in proportion to the batch,\n"
    "or in equal steps where the outputs do not grow with it. Without FILE: all plugins that are\n"
    "found. Exit status 1 if a type breaks the contract; the use that shows it is printed as a model\n"
    "file.\n";

static const char examples[] = "  layermeter check ./swish.so\n"
                               "  layermeter check --type conv2d --cases 5000 --seed 7\n";

typedef struct job {
    check_options options;
    guard_limits  limits;
    const char   *type; /* only this one; NULL: all */
    registry    **reg;  /* one for each file, or one for all */
    size_t        n_reg;
    check_report *report; /* of all types, in order */
    const char  **origin; /* where each comes from */
    size_t        n_reports, room;
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
    status       = guarded_call(try_load, shared, &j->limits, &end, err);
    if (!status && end.end != GUARD_RETURNED)
        status =
            lm_error_set(err, LM_E_ABI, "%s: %s while it is loaded", file ? file : "some plugin",
                         guarded_describe(&end, &j->limits, what, sizeof what));
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
    status = guarded_call(run_task, shared, &j->limits, &end, err);
    if (status)
        return status;
    if (shared->report.status)
        return lm_error_set(err, shared->report.status, "out of memory");
    note_end(&shared->report, &end, &j->limits);
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

            if (!j->type || !strcmp(j->type, entry->type.name))
                status = check_one(j, entry, shared, err);
        }
    if (!status && !j->n_reports)
        status = lm_error_set(err, LM_E_NOTFOUND, "no layer type '%s' here", j->type);
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

static bool parse_options(const options *o, job *j, format *f, int *code)
{
    lm_error err = { 0 };
    int64_t  cases, seed;

    if (format_parse(o->value[FORMAT], f, &err))
        *code = report_misuse("", &err);
    else if (text_int(o->value[CASES], &cases, &err) ||
             ((cases < 1 || cases > 1000000) &&
              lm_error_set(&err, LM_E_ARG, "expected 1 to 1000000")))
        *code = report_misuse("--cases", &err);
    else if (text_int(o->value[SEED], &seed, &err))
        *code = report_misuse("--seed", &err);
    else if (text_seconds(o->value[TIME], &j->limits.seconds, &err) ||
             ((j->limits.seconds < 0.01 || j->limits.seconds > 1e6) &&
              lm_error_set(&err, LM_E_ARG, "expected 10ms or more")))
        *code = report_misuse("--time", &err);
    else if (text_bytes(o->value[MEMORY], &j->limits.bytes, &err) ||
             (j->limits.bytes < 1 << 20 && lm_error_set(&err, LM_E_ARG, "expected 1MiB or more")))
        *code = report_misuse("--memory", &err);
    else {
        j->options = (check_options){ .seed = (uint64_t)seed, .cases = (uint64_t)cases };
        j->type    = o->value[TYPE];
        return true;
    }
    return false;
}

static int run(const options *o)
{
    lm_error  err    = { 0 };
    job       j      = { 0 };
    int       code   = EXIT_DONE;
    lm_status status = LM_OK;
    format    f;

    if (!parse_options(o, &j, &f, &code))
        return code;
    j.reg = calloc((size_t)o->n_arguments + 1, sizeof(registry *));
    if (!j.reg)
        status = no_memory(&err);
    else if (!o->n_arguments)
        status = load_guarded(&j, o, NULL, &err);
    for (int i = 0; i < o->n_arguments && !status; i++)
        status = load_guarded(&j, o, o->argument[i], &err);
    if (!status)
        status = check_all(&j, &err);
    if (!status)
        status = print_reports(&j, f, &err);
    if (status)
        code = report_failure(&err);
    for (size_t i = 0; i < j.n_reg; i++)
        registry_free(j.reg[i]);
    free(j.reg);
    free(j.report);
    free(j.origin);
    return code;
}

const command cmd_check = {
    .name          = "check",
    .arguments     = "[FILE...]",
    .doc           = "Check that plugins keep the contract of layer types",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .max_arguments = ARGUMENTS_MAX,
    .run           = run,
};
