/* Opens a trace, detects its format, returns its samples. */
#include "trace/reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "trace/formats.h"
#include "trace/metrics.h"

/* CSV comes last: any other text counts as CSV. */
static const trace_format *const formats[] = { &trace_dcgm, &trace_smi_dmon, &trace_prometheus,
                                               &trace_csv };

#define N_FORMATS (sizeof formats / sizeof formats[0])

lm_status trace_wrong(const trace_reader *r, lm_status code, lm_error *err, const char *fmt, ...)
{
    char    text[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return lm_error_set(err, code, "%s:%llu: %s", r->path,
                        (unsigned long long)lines_number(r->lines), text);
}

lm_status trace_gpu(trace_reader *r, const char *name, size_t n, size_t *out, lm_error *err)
{
    if (n >= TRACE_NAME_MAX)
        n = TRACE_NAME_MAX - 1;
    for (size_t i = 0; i < r->n_gpus; i++) {
        const size_t at = (r->last_gpu + 1 + i) % r->n_gpus; /* GPUs come in turn */

        if (!strncmp(r->gpu[at], name, n) && !r->gpu[at][n]) {
            *out = r->last_gpu = at;
            return LM_OK;
        }
    }
    if (r->n_gpus == TRACE_GPUS_MAX)
        return trace_wrong(r, LM_E_SYNTAX, err, "more than %d GPUs: is that the column of GPUs?",
                           TRACE_GPUS_MAX);
    memcpy(r->gpu[r->n_gpus], name, n);
    r->gpu[r->n_gpus][n] = '\0';
    *out = r->last_gpu = r->n_gpus++;
    return LM_OK;
}

lm_status trace_tick(trace_reader *r, size_t gpu, double *time, lm_error *err)
{
    if (isnan(r->q.interval))
        return trace_wrong(r, LM_E_ARG, err,
                           "the trace has no times: say how far its samples are apart, --interval "
                           "100ms");
    if (r->seen[gpu] == r->tick + 1)
        r->tick++;
    r->seen[gpu] = r->tick + 1;
    *time        = (double)r->tick * r->q.interval;
    return LM_OK;
}

/* "a, b, c", as many as fit. */
static void list_names(const char *const *name, size_t n, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n && used + 8 < size; i++)
        if (name[i] && *name[i]) {
            const int wrote = snprintf(out + used, size - used, "%s%s", used ? ", " : "", name[i]);

            used += wrote > 0 ? (size_t)wrote : 0;
        }
    if (used >= size)
        memcpy(out + size - 4, "...", 4);
}

static size_t find_metric(const char *wanted, const char *const *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (name[i] && metric_same(wanted, name[i]))
            return i;
    return COLUMN_NONE;
}

/* The column that shows the load best; if no name is known, the only column. */
static size_t best_metric(const char *const *name, size_t n)
{
    size_t best = COLUMN_NONE, n_any = 0, any = COLUMN_NONE;
    int    rank = METRIC_UNKNOWN;

    for (size_t i = 0; i < n; i++) {
        int own;

        if (!name[i] || !*name[i])
            continue;
        n_any++;
        any = i;
        own = metric_rank(name[i]);
        if (own < rank) {
            rank = own;
            best = i;
        }
    }
    return best != COLUMN_NONE ? best : n_any == 1 ? any : COLUMN_NONE;
}

/* The first column of each further kind. */
static void choose_beside(trace_reader *r, const char *const *name, size_t n)
{
    for (size_t b = 0; b < N_BESIDE; b++)
        r->beside_at[b] = COLUMN_NONE;
    for (size_t i = 0; i < n; i++) {
        const size_t found = name[i] ? metric_beside_find(name[i]) : METRIC_UNKNOWN;

        if (found == METRIC_UNKNOWN || r->beside_at[metric_beside_of(found)] != COLUMN_NONE)
            continue;
        r->beside_at[metric_beside_of(found)]   = i;
        r->beside_find[metric_beside_of(found)] = found;
    }
}

lm_status trace_choose(trace_reader *r, const char *const *name, size_t n, size_t *at,
                       lm_error *err)
{
    const char *wanted = *r->metric ? r->metric : r->q.metric;
    char        list[300];

    list_names(name, n, list, sizeof list);
    *at = wanted ? find_metric(wanted, name, n) : best_metric(name, n);
    if (*at == COLUMN_NONE && *r->metric)
        return trace_wrong(r, LM_E_NOTFOUND, err, "the columns change here: no '%s' among %s",
                           r->metric, list);
    if (*at == COLUMN_NONE && wanted)
        return trace_wrong(r, LM_E_NOTFOUND, err, "no metric '%.40s': there are %s", wanted,
                           *list ? list : "none");
    if (*at == COLUMN_NONE)
        return trace_wrong(r, LM_E_NOTFOUND, err,
                           "no column is known as a GPU's load: choose one with --metric: %s",
                           *list ? list : "there are none");
    if (!*r->metric)
        metric_split(name[*at], r->metric, r->unit);
    if (r->q.beside)
        choose_beside(r, name, n);
    return LM_OK;
}

void trace_beside(const trace_reader *r, char *const *cell, trace_sample *out)
{
    for (size_t b = 0; r->q.beside && b < N_BESIDE; b++)
        if (r->beside_at[b] != COLUMN_NONE)
            out->beside[b] = (float)metric_beside_value(r->beside_find[b], cell[r->beside_at[b]]);
}

lm_status trace_cell(trace_reader *r, const char *cell, size_t gpu, trace_sample *out,
                     lm_error *err)
{
    double value;

    if (!when_value(cell, &value))
        return trace_wrong(r, LM_E_SYNTAX, err, "'%.40s' is not a value of %s", cell, r->metric);
    out->value = (float)value;
    out->gpu   = gpu;
    out->line  = lines_number(r->lines);
    for (size_t b = 0; r->q.beside && b < N_BESIDE; b++)
        out->beside[b] = NAN;
    return LM_OK;
}

size_t trace_words(char *line, bool commas, char **word, size_t max)
{
    const char *gap = commas ? " \t," : " \t";
    size_t      n   = 0;

    for (char *p = line; n < max;) {
        p += strspn(p, gap);
        if (!*p)
            break;
        word[n++] = p;
        p += strcspn(p, gap);
        if (*p)
            *p++ = '\0';
    }
    return n;
}

/* The format that recognises one of the first lines; else CSV, if there is any line. */
static const trace_format *format_of(const char *head)
{
    const trace_format *found = NULL;

    while (*head && !found) {
        const size_t n = strcspn(head, "\n");
        char         line[512];

        snprintf(line, sizeof line, "%.*s", (int)(n < 500 ? n : 500), head);
        for (size_t i = 0; i < N_FORMATS && !found; i++)
            if (formats[i]->is(line))
                found = formats[i];
        head += n + (head[n] == '\n');
    }
    return found;
}

lm_status trace_reader_open(const char *path, const trace_question *q, trace_reader **out,
                            lm_error *err)
{
    trace_reader *r    = calloc(1, sizeof *r);
    const char   *head = NULL;
    lm_status     status;

    if (!r)
        return no_memory(err);
    r->q          = *q;
    r->path       = strcmp(path, "-") ? path : "stdin";
    r->time_scale = 1;
    r->metric_at = r->gpu_at = r->time_at = r->date_at = COLUMN_NONE;
    status = lines_open(path, q->follow, q->stop, &r->lines, err);
    if (!status)
        status = lines_head(r->lines, &head, err);
    if (!status && !(r->format = format_of(head)))
        status = lm_error_set(err, LM_E_SYNTAX, "%s: is empty: there is no trace", r->path);
    if (!status && r->format->begin)
        status = r->format->begin(r, head, err);
    if (status) {
        trace_reader_close(r);
        return status;
    }
    *out = r;
    return LM_OK;
}

void trace_reader_close(trace_reader *r)
{
    if (!r)
        return;
    lines_close(r->lines);
    free(r->beside);
    free(r);
}

lm_status trace_reader_next(trace_reader *r, trace_sample *out, bool *more, lm_error *err)
{
    char     *line;
    size_t    n;
    bool      got = false;
    lm_status status;

    *more = false;
    while (!r->ended && !got) {
        lm_error why = { 0 };

        if ((status = lines_next(r->lines, &line, &n, err)))
            return status;
        if (!line)
            break;
        status = r->format->row(r, line, out, &got, &why);
        if (r->doubtful.code && !r->ended) { /* it was not the last row */
            *err = r->doubtful;
            return r->doubtful.code;
        }
        if (status == LM_E_SYNTAX)
            r->doubtful = why;
        else if (status) {
            *err = why;
            return status;
        }
    }
    r->cut_short |= !got && r->doubtful.code;
    *more = got;
    return LM_OK;
}
