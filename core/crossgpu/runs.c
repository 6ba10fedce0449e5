/* Files of runs. */
#include "crossgpu/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/no_memory.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "trace/lines.h"

enum { RUN, WORKLOAD, GROUP, GPU, SECONDS, N_KNOWN };

static const char *const known[N_KNOWN] = { "run", "workload", "group", "gpu", "seconds" };

#define METRIC N_KNOWN /* any other column */

typedef struct head {
    size_t what[CSV_MAX_COLUMNS]; /* of each field: a known column, or METRIC and its number */
    size_t n;
    bool   has[N_KNOWN];
} head;

void runs_free(runs *r)
{
    if (r)
        arena_free(r->arena);
}

size_t runs_column(const runs *r, const char *name)
{
    return text_place(name, r->column, r->n_columns);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The whole file, unpacked. */
static lm_status read_text(const char *path, char **out, lm_error *err)
{
    line_source *s    = NULL;
    char        *line = NULL, *text = NULL, *more;
    size_t       n, used = 0, room = 0;
    lm_status    status = lines_open(path, false, NULL, &s, err);

    while (!status && !(status = lines_next(s, &line, &n, err)) && line) {
        if (used + n > FILE_TEXT_MAX) {
            status = file_too_large(path, err);
            break;
        }
        if (used + n + 2 > room) {
            room = 2 * (used + n + 2);
            if (!(more = realloc(text, room))) {
                status = no_memory(err);
                break;
            }
            text = more;
        }
        memcpy(text + used, line, n);
        used += n;
        text[used++] = '\n';
    }
    lines_close(s);
    if (!status && !used)
        status = lm_error_set(err, LM_E_SYNTAX, "%s: empty", path);
    if (status) {
        free(text);
        return status;
    }
    text[used] = '\0';
    *out       = text;
    return LM_OK;
}

/* ---- head ------------------------------------------------------------------------------------ */

static lm_status name_columns(csv_reader *csv, char *field[], head *h, runs *r, lm_error *err)
{
    for (size_t i = 0; i < h->n; i++) {
        const char *name = text_trim(field[i]);
        size_t      k    = text_place(name, known, N_KNOWN);

        if (!*name)
            return lm_error_set(err, LM_E_SYNTAX, "%s:%d: column %zu has no name", csv->path,
                                csv->line, i + 1);
        if ((k < N_KNOWN && h->has[k]) || (k == METRIC && runs_column(r, name) < r->n_columns))
            return lm_error_set(err, LM_E_SYNTAX, "%s:%d: two columns '%.60s'", csv->path,
                                csv->line, name);
        if (k < N_KNOWN) {
            h->has[k]  = true;
            h->what[i] = k;
        } else {
            h->what[i] = METRIC + r->n_columns;
            if (!(r->column[r->n_columns++] = arena_text(r->arena, name, strlen(name))))
                return no_memory(err);
        }
    }
    return LM_OK;
}

static lm_status read_head(csv_reader *csv, head *h, runs *r, lm_error *err)
{
    char     *field[CSV_MAX_COLUMNS];
    lm_status status;

    while (csv_comment(csv))
        ;
    if ((status = csv_record(csv, field, &h->n, err)))
        return status;
    if (!(r->column = arena_array(r->arena, h->n + 1, sizeof *r->column)))
        return no_memory(err);
    if ((status = name_columns(csv, field, h, r, err)))
        return status;
    for (size_t k = GPU; k <= SECONDS; k++)
        if (!h->has[k])
            return lm_error_set(err, LM_E_SYNTAX,
                                "%s:%d: no column '%s': runs have gpu, seconds, workload and any "
                                "metrics",
                                csv->path, csv->line, known[k]);
    return LM_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_missing(const char *text)
{
    return !*text || !strcasecmp(text, "N/A") || !strcasecmp(text, "[N/A]") ||
           !strcasecmp(text, "nan") || !strcasecmp(text, "[Not Supported]");
}

static lm_status read_seconds(const char *text, double *out, lm_error *err)
{
    if (text_real(text, out, err) || !(*out > 0))
        return lm_error_set(err, LM_E_ARG, "seconds: expected a number above 0, found '%.40s'",
                            text);
    return LM_OK;
}

static lm_status read_metric(const char *column, const char *text, double *out, lm_error *err)
{
    *out = NAN;
    if (is_missing(text) || !text_real(text, out, err))
        return LM_OK;
    return lm_error_set(err, LM_E_ARG,
                        "%.60s: '%.40s' is no number: units belong into the column's name, "
                        "power_mean_w, and other texts are no metrics",
                        column, text);
}

static lm_status read_row(char *field[], const head *h, runs *r, gpu_run *out, lm_error *err)
{
    double   *value  = arena_array(r->arena, r->n_columns + 1, sizeof *value);
    lm_status status = value ? LM_OK : no_memory(err);

    *out = (gpu_run){ .workload = "", .group = "", .value = value, .repeats = 1 };
    for (size_t i = 0; i < h->n && !status; i++) {
        const char *text = text_trim(field[i]);

        if (h->what[i] == SECONDS)
            status = read_seconds(text, &out->seconds, err);
        else if (h->what[i] >= METRIC)
            status =
                read_metric(r->column[h->what[i] - METRIC], text, &value[h->what[i] - METRIC], err);
        else if (!(text = arena_text(r->arena, text, strlen(text))))
            status = no_memory(err);
        else if (h->what[i] == GPU)
            out->gpu = text;
        else if (h->what[i] == WORKLOAD)
            out->workload = text;
        else if (h->what[i] == GROUP)
            out->group = text;
    }
    if (!status && !*out->gpu)
        status = lm_error_set(err, LM_E_ARG, "gpu: not given");
    if (!*out->group)
        out->group = out->workload;
    return status;
}

static lm_status read_rows(csv_reader *csv, const head *h, runs *r, lm_error *err)
{
    char     *field[CSV_MAX_COLUMNS];
    size_t    room = 0, n;
    lm_status status;

    while (!(status = csv_record(csv, field, &n, err)) && n) {
        if (n != h->n)
            return lm_error_set(err, LM_E_SYNTAX, "%s:%d: %zu fields, the header has %zu",
                                csv->path, csv->line, n, h->n);
        if (r->n == RUNS_MAX)
            return lm_error_set(err, LM_E_UNSUPPORTED, "%s:%d: more than %d runs", csv->path,
                                csv->line, RUNS_MAX);
        if (!(r->run = arena_grow(r->arena, r->run, r->n, &room, sizeof *r->run)))
            return no_memory(err);
        if ((status = read_row(field, h, r, &r->run[r->n], err))) {
            lm_error_prefix(err, "%s:%d", csv->path, csv->line);
            return status;
        }
        r->run[r->n++].line = csv->line;
    }
    if (!status && !r->n)
        status = lm_error_set(err, LM_E_SYNTAX, "%s: no runs", csv->path);
    return status;
}

/* ---- repeats --------------------------------------------------------------------------------- */

static int by_work(const void *a, const void *b)
{
    const gpu_run *x = a, *y = b;
    int            c = strcmp(x->workload, y->workload);

    if (!c)
        c = strcmp(x->gpu, y->gpu);
    return c ? c : (x->line > y->line) - (x->line < y->line);
}

ORDER_BY(by_line, gpu_run, line)

/* Missing ones do not count; NAN: all are. */
static double median_of(const gpu_run *first, size_t n, size_t column, double *scratch)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(first[i].value[column]))
            scratch[k++] = first[i].value[column];
    return k ? stats_quantile(scratch, k, 0.5) : NAN;
}

/* The first of n repeats becomes their median. */
static lm_status merge(runs *r, gpu_run *first, size_t n, double *scratch, lm_error *err)
{
    double *value = arena_array(r->arena, r->n_columns + 1, sizeof *value);

    if (!value)
        return no_memory(err);
    for (size_t i = 1; i < n; i++)
        if (strcmp(first[i].group, first->group))
            return lm_error_set(err, LM_E_ARG,
                                "%s:%d: workload '%.60s' is of group '%.60s' here and of '%.60s' "
                                "in line %d",
                                r->path, first[i].line, first->workload, first[i].group,
                                first->group, first->line);
    for (size_t c = 0; c < r->n_columns; c++)
        value[c] = median_of(first, n, c, scratch);
    for (size_t i = 0; i < n; i++)
        scratch[i] = first[i].seconds;
    first->seconds = stats_quantile(scratch, n, 0.5);
    first->value   = value;
    first->repeats = n;
    return LM_OK;
}

/* Runs without a workload are not known to repeat each other. */
static lm_status merge_repeats(runs *r, lm_error *err)
{
    double   *scratch = malloc(r->n * sizeof *scratch);
    size_t    kept    = 0, n;
    lm_status status  = scratch ? LM_OK : no_memory(err);

    qsort(r->run, r->n, sizeof *r->run, by_work);
    for (size_t i = 0; i < r->n && !status; i += n) {
        for (n = 1; i + n < r->n && *r->run[i].workload &&
                    !strcmp(r->run[i].workload, r->run[i + n].workload) &&
                    !strcmp(r->run[i].gpu, r->run[i + n].gpu);)
            n++;
        if (n > 1)
            status = merge(r, &r->run[i], n, scratch, err);
        r->run[kept++] = r->run[i];
    }
    free(scratch);
    r->n = kept;
    qsort(r->run, r->n, sizeof *r->run, by_line);
    return status;
}

lm_status runs_load(const char *path, runs **out, lm_error *err)
{
    arena     *a    = arena_new();
    runs      *r    = a ? arena_alloc(a, sizeof *r) : NULL;
    char      *text = NULL;
    head       h    = { .n = 0 };
    csv_reader csv;
    lm_status  status = r ? read_text(path, &text, err) : no_memory(err);

    if (!status) {
        r->arena = a;
        if (!(r->path = arena_text(a, path, strlen(path))))
            status = no_memory(err);
        csv_open(&csv, path, text);
    }
    if (!status && !(status = read_head(&csv, &h, r, err)) &&
        !(status = read_rows(&csv, &h, r, err)))
        status = merge_repeats(r, err);
    free(text);
    if (status)
        arena_free(a);
    else
        *out = r;
    return status;
}
