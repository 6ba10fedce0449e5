/* Plugins, checked in child processes. */
#include "layers/checked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "layers/loader.h"
#include "layers/tried.h"

/* ---- loading ---- */

/* Loads a file, or all if `file` is NULL, after a trial in a child process. */
static lm_status load_tried(check_result *j, const check_question *q, const char *file,
                            lm_error *err)
{
    registry          *reg    = NULL;
    const trial_limits limits = { .of = q->limits };
    lm_status          status = file ? plugins_try(&file, 1, &limits, err) : LM_OK;

    if (!status)
        status = registry_new(&reg, err);
    if (!status)
        status = file ? loader_open_file(reg, file, 0, err)
                      : loader_open_loadable(reg, q->plugin, q->n_plugins, &q->limits, err);
    if (status)
        registry_free(reg);
    else
        j->reg[j->n_reg++] = reg;
    return status;
}

/* ---- checking ---- */

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

/* Notes the end of a process; the report has the step. */
static void note_end(check_report *r, const guard_outcome *end, const guard_limits *limits)
{
    char what[96];

    if (end->end != GUARD_RETURNED)
        snprintf(r->violation, sizeof r->violation, "%s%s%s", r->step, *r->step ? ": " : "",
                 guarded_describe(end, limits, what, sizeof what));
    else if (end->wrote && !r->violation[0])
        snprintf(r->violation, sizeof r->violation, "writes to stdout or stderr");
}

static lm_status check_one(check_result *j, const check_question *q, const registry_entry *entry,
                           task *shared, lm_error *err)
{
    guard_outcome end;
    lm_status     status;

    memset(shared, 0, sizeof *shared);
    shared->entry   = entry;
    shared->options = &q->options;
    snprintf(shared->report.type, sizeof shared->report.type, "%s", entry->type.name);
    status = guarded_call(run_task, shared, &q->limits, &end, err);
    if (status)
        return status;
    if (shared->report.status)
        return lm_error_set(err, shared->report.status, "out of memory");
    note_end(&shared->report, &end, &q->limits);
    j->report[j->n_reports]   = shared->report;
    j->origin[j->n_reports++] = entry->origin;
    return LM_OK;
}

static lm_status check_types(check_result *j, const check_question *q, lm_error *err)
{
    task     *shared = guarded_memory(sizeof *shared);
    size_t    room   = 0;
    lm_status status = LM_OK;

    for (size_t r = 0; r < j->n_reg; r++)
        room += registry_count(j->reg[r]);
    j->report = calloc(room + 1, sizeof *j->report);
    j->origin = calloc(room + 1, sizeof *j->origin);
    if (!shared || !j->report || !j->origin)
        status = no_memory(err);
    for (size_t r = 0; r < j->n_reg && !status; r++)
        for (size_t i = 0; i < registry_count(j->reg[r]) && !status; i++) {
            const registry_entry *entry = registry_at(j->reg[r], i);

            if (!q->type || !strcmp(q->type, entry->type.name))
                status = check_one(j, q, entry, shared, err);
        }
    if (!status && !j->n_reports)
        status = lm_error_set(err, LM_E_NOTFOUND, "no layer type '%s' here", q->type);
    guarded_memory_free(shared, sizeof *shared);
    return status;
}

lm_status check_plugins(const check_question *q, check_result *out, lm_error *err)
{
    lm_status status = LM_OK;

    out->reg = calloc(q->n_files + 1, sizeof *out->reg);
    if (!out->reg)
        return no_memory(err);
    if (!q->n_files)
        status = load_tried(out, q, NULL, err);
    for (size_t i = 0; i < q->n_files && !status; i++)
        status = load_tried(out, q, q->file[i], err);
    return status ? status : check_types(out, q, err);
}

void check_result_free(check_result *r)
{
    for (size_t i = 0; i < r->n_reg; i++)
        registry_free(r->reg[i]);
    free_all(r->reg, r->report, r->origin);
}
