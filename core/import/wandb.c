/* The history of a run of Weights & Biases, of any size: CSV as run.history().to_csv() or a panel of
 * its page gives it, or a JSON object a line. _step, then _runtime, in seconds since the beginning, or
 * _timestamp; further columns are the run's own. A panel puts the run's name before a column:
 * "run-1 - _runtime", and calls _step Step. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "import/csv_lines.h"
#include "import/jstream.h"
#include "import/logged.h"

typedef struct columns {
    size_t  step, clock;
    size_t *metric; /* column of each */
} columns;

/* A column by its name, alone or behind the run's; CSV_MAX_COLUMNS: there is none. */
static size_t find(const csv_lines *csv, const char *name)
{
    const size_t n  = strlen(name);
    size_t       at = csv_lines_column(csv, name);

    for (size_t i = 0; at == CSV_MAX_COLUMNS && i < csv->n_columns; i++) {
        const size_t size = strlen(csv->column[i]);

        if (size > n + 3 && !strcmp(csv->column[i] + size - n, name) &&
            !strncmp(csv->column[i] + size - n - 3, " - ", 3))
            at = i;
    }
    return at;
}

static lm_status find_columns(const csv_lines *csv, const extrap_options *given, columns *of,
                              lm_error *err)
{
    of->step  = find(csv, "_step");
    of->clock = find(csv, "_runtime");
    if (of->step == CSV_MAX_COLUMNS)
        of->step = find(csv, "Step");
    if (of->clock == CSV_MAX_COLUMNS)
        of->clock = find(csv, "_timestamp");
    for (size_t m = 0; m < given->metrics.n; m++)
        if ((of->metric[m] = find(csv, given->metrics.name[m].theirs)) == CSV_MAX_COLUMNS)
            return lm_error_set(err, LM_E_NOTFOUND, "%s:%d: no column '%.60s'", csv->path,
                                csv->line, given->metrics.name[m].theirs);
    if (given->metrics.n || (of->step < CSV_MAX_COLUMNS && of->clock < CSV_MAX_COLUMNS))
        return LM_OK;
    return lm_error_set(
        err, LM_E_SYNTAX,
        "%s:%d: no column %s: a run's history has _step and _runtime or _timestamp; "
        "or give --metric COLUMN=step",
        csv->path, csv->line, of->step == CSV_MAX_COLUMNS ? "_step" : "_runtime");
}

static lm_status take_record(const csv_lines *csv, const columns *of, logged *l, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t m = 0; m < logged_metrics(l) && !status; m++)
        if (of->metric[m] < csv->n && *csv->field[of->metric[m]])
            status = logged_value(l, m, csv_lines_real(csv, of->metric[m]), err);
    return status || logged_metrics(l) ? status
                                       : logged_point(l, "", csv_lines_real(csv, of->step),
                                                      csv_lines_real(csv, of->clock), err);
}

static lm_status read_csv(const char *path, const extrap_options *given, logged *l, lm_error *err)
{
    csv_lines csv;
    columns   of     = { .metric = calloc(given->metrics.n + 1, sizeof *of.metric) };
    lm_status status = csv_lines_open(&csv, path, err);

    if (!status && !of.metric)
        status = no_memory(err);
    if (!status && !(status = csv_lines_next(&csv, err)) && !(status = csv_lines_head(&csv, err)))
        status = find_columns(&csv, given, &of, err);
    while (!status && !(status = csv_lines_next(&csv, err)) && csv.n)
        status = take_record(&csv, &of, l, err);
    csv_lines_close(&csv);
    free(of.metric);
    return status;
}

/* ---- a JSON object a line -------------------------------------------------------------------- */

typedef struct wandb_record {
    logged *l;
    double  step, runtime, timestamp;
} wandb_record;

static lm_status take_member(jstream *s, const char *key, int c, void *context)
{
    wandb_record *r     = context;
    double        value = NAN;
    const size_t  m     = logged_metric(r->l, key);
    lm_status     status;

    if (m == logged_metrics(r->l) && strcmp(key, "_step") != 0 && strcmp(key, "_runtime") != 0 &&
        strcmp(key, "_timestamp") != 0)
        return jstream_skip(s, c);
    if ((status = jstream_number(s, c, &value)))
        return status;
    if (m < logged_metrics(r->l))
        return logged_value(r->l, m, value, s->err);
    *(!strcmp(key, "_step")      ? &r->step
      : !strcmp(key, "_runtime") ? &r->runtime
                                 : &r->timestamp) = value;
    return LM_OK;
}

static lm_status read_json(const char *path, logged *l, lm_error *err)
{
    jstream  *s      = NULL;
    lm_status status = jstream_open(path, "no history of a run, or a damaged one", &s, err);
    int       c;

    while (!status && (c = jstream_token(s)) != EOF) {
        wandb_record r = { l, NAN, NAN, NAN };

        status = c == '{' ? jstream_members(s, take_member, &r)
                          : jstream_damaged(s, "expected an object");
        if (!status && !logged_metrics(l))
            status =
                logged_point(l, "", r.step, isfinite(r.runtime) ? r.runtime : r.timestamp, err);
    }
    if (!status && ferror(s->file))
        status = jstream_damaged(s, "");
    jstream_close(s);
    return status;
}

/* Does it begin with an object? */
static lm_status begins_json(const char *path, bool *out, lm_error *err)
{
    FILE     *file   = fopen(path, "r");
    int       c      = ' ';
    lm_status status = LM_OK;

    if (!file)
        return lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
    while (isspace(c))
        c = getc(file);
    *out = c == '{';
    if (ferror(file))
        status = lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
    fclose(file);
    return status;
}

lm_status wandb_read(const char *path, const extrap_options *given, const registry *reg,
                     log_rows *out, lm_error *err)
{
    logged   *l    = NULL;
    bool      json = false;
    lm_status status;

    if ((status = begins_json(path, &json, err)) ||
        (status = logged_open(path, given, out, &l, err)))
        return status;
    status = json ? read_json(path, l, err) : read_csv(path, given, l, err);
    if (!status)
        status = logged_rows(l, reg, "no history of a run in it: it has _step and _runtime", err);
    out->tool = "Weights & Biases";
    logged_close(l);
    return status;
}
