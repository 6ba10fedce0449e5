/* layermeter import of what is no network: logs of all-reduces, Extra-P's files, logs of power. */
#include "cli/import_options.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "trace/power_log.h"

/* ---- logs of all-reduce benchmarks -------------------------------------------------------------
 */

lm_status import_logs_check(options *o, lm_error *err)
{
    const import_options *a   = o->filled;
    const log_options    *log = &a->log;

    if (log->ranks && log->hosts > log->ranks)
        return misused(o, &log->hosts, err, "more hosts than ranks");
    if (log->algorithm && strcmp(log->algorithm, "default") && strcmp(log->algorithm, "ring"))
        return misused(o, &log->algorithm, err, "'%.40s' is none of default, ring", log->algorithm);
    if (o->n_arguments < 2)
        return lm_error_set(err, LM_E_ARG, "a LOG is missing after '%s'", o->argument[0]);
    return LM_OK;
}

lm_status import_write(const options *o, const log_rows *rows, lm_error *err)
{
    const import_options *a = o->filled;
    file_draft            draft;
    lm_status             status;

    if (!a->output) {
        log_print(rows, o->argument + 1, o->n_arguments - 1, stdout);
        return LM_OK;
    }
    status = file_draft_open(&draft, a->output, err);
    if (status)
        return status;
    log_print(rows, o->argument + 1, o->n_arguments - 1, draft.stream);
    status = file_draft_commit(&draft, err);
    file_draft_drop(&draft);
    return status;
}

static void print_left_out(const log_rows *rows)
{
    const struct {
        size_t      n;
        const char *why;
    } parts[] = { { rows->n_wrong, "the result was wrong" },
                  { rows->n_other,
                    "an empty message, no sum, or an element type without a name here" },
                  { rows->n_broken, "cut short, or without a time" } };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].n)
            fprintf(stderr, "layermeter: %zu row%s left out: %s\n", parts[i].n,
                    parts[i].n == 1 ? "" : "s", parts[i].why);
}

lm_status import_logs(const options *o, lm_error *err)
{
    const import_options *a      = o->filled;
    const bool            nccl   = !strcmp(o->argument[0], "nccl-tests");
    log_rows              rows   = { 0 };
    lm_status             status = LM_OK;

    for (int i = 1; i < o->n_arguments && !status; i++)
        status = nccl ? log_read_nccl_tests(o->argument[i], &a->log, &rows, err)
                      : log_read_osu(o->argument[i], &a->log, &rows, err);
    if (!status && !rows.n_rows)
        status = lm_error_set(err, LM_E_ARG,
                              "%s: no row is of use (%zu wrong, %zu of other kinds, %zu broken)",
                              o->argument[1], rows.n_wrong, rows.n_other, rows.n_broken);
    if (!status)
        status = import_write(o, &rows, err);
    if (!status)
        print_left_out(&rows);
    log_rows_free(&rows);
    return status;
}

/* ---- Extra-P's text files ----------------------------------------------------------------------
 */

/* Of names of others, which may hold a =, the last is the middle; of --fixed the first. */
static lm_status split(options *o, const char *text, bool fixed, extrap_name *out, lm_error *err)
{
    const char *equal = fixed ? strchr(text, '=') : strrchr(text, '=');

    if (!equal || equal == text || !equal[1])
        return lm_error_set(err, LM_E_ARG, "expected NAME=MEANING, found '%.60s'", text);
    *out = (extrap_name){ arena_text(o->room, text, (size_t)(equal - text)), equal + 1 };
    return out->theirs ? LM_OK : no_memory(err);
}

static lm_status known_count(const char *word, lm_error *err)
{
    extrap_count c;

    return extrap_count_find(word, &c)
               ? LM_OK
               : lm_error_set(err, LM_E_ARG, "'%.40s' is none of " EXTRAP_COUNTS_KNOWN, word);
}

static lm_status known_metric(const char *word, lm_error *err)
{
    phase p;

    return strcmp(word, "time") && phase_parse(word, &p)
               ? lm_error_set(
                     err, LM_E_ARG,
                     "'%.40s' is none of time, forward, backward, sync, update, step, inference",
                     word)
               : LM_OK;
}

/* All that one option says, each pair `known`, if that is not NULL. */
static lm_status read_names(options *o, const option_texts *said, bool fixed,
                            lm_status (*known)(const char *ours, lm_error *err), extrap_names *out,
                            lm_error *err)
{
    extrap_name *name   = arena_array(o->room, said->n + 1, sizeof *name);
    lm_status    status = name ? LM_OK : no_memory(err);
    lm_error     why;

    for (size_t i = 0; i < said->n && !status; i++) {
        status = split(o, said->at[i], fixed, &name[i], &why);
        if (!status && known)
            status = known(name[i].ours, &why);
        if (status)
            status = misused(o, said, err, "%s", why.text);
    }
    *out = (extrap_names){ name, said->n };
    return status;
}

lm_status import_extrap_check(options *o, lm_error *err)
{
    import_options *a  = o->filled;
    extrap_options *to = &a->given;
    extrap_names    fixed;
    lm_error        why;
    lm_status       status;

    if ((status = read_names(o, &a->extrap.parameters, false, known_count, &to->parameters, err)) ||
        (status = read_names(o, &a->extrap.regions, false, NULL, &to->regions, err)) ||
        (status = read_names(o, &a->metrics, false, known_metric, &to->metrics, err)) ||
        (status = read_names(o, &a->extrap.fixed, true, NULL, &fixed, err)))
        return status;
    for (size_t i = 0; i < fixed.n; i++)
        if (extrap_say(&to->fixed, fixed.name[i].theirs, fixed.name[i].ours, &why))
            return misused(o, &a->extrap.fixed, err, "%s", why.text);
    return o->n_arguments < 2 ? lm_error_set(err, LM_E_ARG, "a FILE is missing after 'extra-p'")
                              : LM_OK;
}

/* Regions from row `from` on are networks that there are: a main() is none. */
static lm_status check_networks(const options *o, const char *path, const log_rows *rows,
                                size_t from, lm_error *err)
{
    registry *reg    = NULL;
    names     seen   = { 0 };
    lm_status status = LM_OK;

    for (size_t i = from; i < rows->n_rows && !status; i++) {
        const observation *row = &rows->row[i];
        network           *net = NULL;

        if (row->kind != OBS_NETWORK || names_find(&seen, row->name) != NAMES_NONE)
            continue;
        if (!reg)
            status = open_registry(o, &reg, err);
        if (!status && (status = network_open(row->name, reg, NULL, &net, err)))
            lm_error_set(err, status,
                         "%s:%d: region '%.60s' is no network ('layermeter models' lists those by "
                         "name): say which it is with --region '%.60s=NETWORK'",
                         path, row->line, row->name, row->name);
        if (!status && !names_add(&seen, row->name, i))
            status = no_memory(err);
        network_free(net);
    }
    names_free(&seen);
    registry_free(reg);
    return status;
}

lm_status import_extrap(const options *o, lm_error *err)
{
    const import_options *a      = o->filled;
    log_rows              rows   = { 0 };
    lm_status             status = LM_OK;

    for (int i = 1; i < o->n_arguments && !status; i++) {
        const size_t before = rows.n_rows;

        status = extrap_read(o->argument[i], &a->given, &rows, err);
        if (!status)
            status = check_networks(o, o->argument[i], &rows, before, err);
    }
    if (!status && !rows.n_rows)
        status = lm_error_set(err, LM_E_ARG, "%s: no time in it is above 0", o->argument[1]);
    if (!status)
        status = import_write(o, &rows, err);
    log_rows_free(&rows);
    return status;
}

/* ---- logs of power -----------------------------------------------------------------------------
 */

/* Pieces that differ by more than this share of their mean are of more than one load. */
#define STEADY 0.2

static void add_columns(table *t)
{
    table_column(t, "log", "log", 0);
    table_column(t, "gpu", "GPU", 0);
    table_column(t, "power_w", "power [W]", 1);
    table_column(t, "spread_percent", "spread [%]", 1);
    table_column(t, "seconds", "for [s]", 1);
    table_column(t, "energy_j", "energy [J]", -1);
    table_column(t, "ramp_s", "start-up [s]", 1);
    table_column(t, "tail_s", "end [s]", 1);
    table_column(t, "strange", "strange", 0);
    table_column(t, "samples", "samples", 0);
    table_column(t, "missing", NULL, 0);
    table_column(t, "gaps", NULL, 0);
}

static void add_row(table *t, const char *path, const power_log_gpu *g)
{
    const power_mean *m = &g->mean;

    table_text(t, path);
    table_text(t, g->name);
    table_real(t, m->watts);
    table_real(t, 100 * m->deviation / m->watts);
    table_real(t, m->seconds);
    table_real(t, m->watts * m->seconds);
    table_real(t, m->ramp_seconds);
    table_real(t, m->tail_seconds);
    table_count(t, m->strange);
    table_count(t, g->samples);
    table_count(t, g->missing);
    table_count(t, g->gaps);
}

/* What is odd about a log, a line each. */
static void say(const char *path, const power_log_gpu *g)
{
    if (g->gaps)
        fprintf(stderr, "layermeter: %s: GPU %s: %zu gap%s, %.1f s in all, not counted\n", path,
                g->name, g->gaps, g->gaps == 1 ? "" : "s", g->gap_seconds);
    if (g->jumps)
        fprintf(stderr, "layermeter: %s: GPU %s: the clock went back %zu time%s\n", path, g->name,
                g->jumps, g->jumps == 1 ? "" : "s");
    if (g->missing)
        fprintf(stderr, "layermeter: %s: GPU %s: %zu of %zu rows have no power\n", path, g->name,
                g->missing, g->samples);
    if (g->mean.deviation > STEADY * g->mean.watts)
        fprintf(stderr,
                "layermeter: %s: GPU %s: power differs by %.0f %%: of more than one load?\n", path,
                g->name, 100 * g->mean.deviation / g->mean.watts);
}

static lm_status read_logs(const options *o, const trace_question *q, table *t, lm_error *err)
{
    for (int i = 1; i < o->n_arguments; i++) {
        const char     *path = o->argument[i];
        power_log       log;
        const lm_status status = power_log_read(path, q, &log, err);

        if (status)
            return status;
        for (size_t k = 0; k < log.n; k++) {
            add_row(t, path, &log.gpu[k]);
            say(path, &log.gpu[k]);
        }
        power_log_free(&log);
    }
    return LM_OK;
}

static lm_status print(const table *t, format f, const char *path, lm_error *err)
{
    file_draft draft;
    lm_status  status;

    if (!path)
        return table_print(t, f, stdout, err);
    if ((status = file_draft_open(&draft, path, err)))
        return status;
    status = table_print(t, f, draft.stream, err);
    if (!status)
        status = file_draft_commit(&draft, err);
    file_draft_drop(&draft);
    return status;
}

lm_status import_power_check(options *o, lm_error *err)
{
    return o->n_arguments < 2 ? lm_error_set(err, LM_E_ARG, "a LOG is missing after 'power'")
                              : LM_OK;
}

lm_status import_power(const options *o, lm_error *err)
{
    const import_options *a = o->filled;
    const trace_question  q = { .metric   = a->metrics.n ? a->metrics.at[a->metrics.n - 1] : NULL,
                                .gpu      = a->power.gpu,
                                .interval = a->power.interval };
    table                *t = table_new();
    lm_status             status;

    add_columns(t);
    status = read_logs(o, &q, t, err);
    if (!status)
        status = print(t, a->power.format, a->output, err);
    table_free(t);
    return status;
}
