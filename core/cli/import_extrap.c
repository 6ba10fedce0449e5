/* layermeter import extra-p: Extra-P's text files as observations. */
#include "cli/import_extrap.h"

#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "cli/commands.h"
#include "cli/import_logs.h"
#include "import/extrap.h"

/* NAME=MEANING of one option, as often as it stands there. */
typedef struct pairs {
    extrap_name pair[ARGUMENTS_MAX];
    size_t      n;
} pairs;

typedef struct wanted {
    pairs          parameters, regions, metrics, fixed;
    extrap_options given;
    arena         *text;
} wanted;

bool import_is_extrap(const char *tool)
{
    return !strcmp(tool, "extra-p");
}

/* Of names of others, which may hold a =, the last is the middle; of --fixed the first. */
static lm_status split(wanted *w, const char *text, pairs *out, lm_error *err)
{
    const char *equal = out == &w->fixed ? strchr(text, '=') : strrchr(text, '=');
    char       *left, *right;

    if (!equal || equal == text || !equal[1])
        return lm_error_set(err, LM_E_ARG, "expected NAME=MEANING, found '%.60s'", text);
    left  = arena_text(w->text, text, (size_t)(equal - text));
    right = arena_text(w->text, equal + 1, strlen(equal + 1));
    if (!left || !right)
        return no_memory(err);
    out->pair[out->n++] = (extrap_name){ left, right };
    return LM_OK;
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

/* The option that is wrong; NULL: none. */
static const char *read_options(const options *o, const extrap_places *at, wanted *w, lm_error *err)
{
    for (int i = 0; i < o->n_every; i++) {
        const int   place = o->every[i].at;
        pairs      *to    = place == at->parameter ? &w->parameters
                            : place == at->region  ? &w->regions
                            : place == at->metric  ? &w->metrics
                            : place == at->fixed   ? &w->fixed
                                                   : NULL;
        const char *ours;
        lm_status   status;

        if (!to)
            continue;
        status = split(w, o->every[i].value, to, err);
        ours   = status ? "" : to->pair[to->n - 1].ours;
        if (!status && to == &w->parameters)
            status = known_count(ours, err);
        if (!status && to == &w->metrics)
            status = known_metric(ours, err);
        if (!status && to == &w->fixed)
            status = extrap_say(&w->given.fixed, to->pair[to->n - 1].theirs, ours, err);
        if (status)
            return place == at->parameter ? "--parameter"
                   : place == at->region  ? "--region"
                   : place == at->metric  ? "--metric"
                                          : "--fixed";
    }
    w->given.parameters = (extrap_names){ w->parameters.pair, w->parameters.n };
    w->given.regions    = (extrap_names){ w->regions.pair, w->regions.n };
    w->given.metrics    = (extrap_names){ w->metrics.pair, w->metrics.n };
    return NULL;
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

static lm_status import_files(const options *o, const extrap_places *at, const wanted *w,
                              lm_error *err)
{
    log_rows  rows   = { 0 };
    lm_status status = LM_OK;

    for (int i = 1; i < o->n_arguments && !status; i++) {
        const size_t before = rows.n_rows;

        status = extrap_read(o->argument[i], &w->given, &rows, err);
        if (!status)
            status = check_networks(o, o->argument[i], &rows, before, err);
    }
    if (!status && !rows.n_rows)
        status = lm_error_set(err, LM_E_ARG, "%s: no time in it is above 0", o->argument[1]);
    if (!status)
        status = import_write(o, o->value[at->output], &rows, err);
    log_rows_free(&rows);
    return status;
}

int import_extrap(const options *o, const extrap_places *at)
{
    lm_error    err   = { 0 };
    wanted      w     = { .text = arena_new() };
    const char *wrong = NULL;
    int         code;

    if (!w.text) {
        no_memory(&err);
        return report_failure(&err);
    }
    wrong = read_options(o, at, &w, &err);
    if (!wrong && o->n_arguments < 2) {
        lm_error_set(&err, LM_E_ARG, "a FILE is missing after 'extra-p'");
        wrong = "";
    }
    if (wrong)
        code = report_misuse(wrong, &err);
    else
        code = import_files(o, at, &w, &err) ? report_failure(&err) : EXIT_DONE;
    arena_free(w.text);
    return code;
}
