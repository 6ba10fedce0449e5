/*
 * Rows under a heading of columns. `dcgmi dmon` prints a row for each GPU and sample, without times;
 * its heading comes again:
 *
 *   #Entity   GRACT        SMACT          # Entity  GRACT  SMACT     (before DCGM 3)
 *   ID                                        Id
 *   GPU 0     0.941        N/A                GPU 0  0.941    N/A
 *
 * `nvidia-smi dmon` prints columns or CSV, with times (-o DT, -o T) or without:
 *
 *   #Date       Time        gpu    pwr  gtemp     sm            # gpu   pwr gtemp    sm
 *   #YYYYMMDD   HH:MM:SS    Idx      W      C      %            # Idx     W     C     %
 *    20240104   13:54:35      0     70     48      5                0    70    48     -
 *
 * CSV is what `nvidia-smi --query-gpu=... --format=csv` prints, with or without heading and units,
 * and any other file with named columns:
 *
 *   timestamp, index, utilization.gpu [%], power.draw [W]
 *   2022/02/24 05:48:20.165, 0, 97 %, 25.50 W
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "trace/formats.h"

/* After the columns of GPU, date and time are known. */
static lm_status end_heading(trace_reader *r, const char *const *metric, size_t n, lm_error *err)
{
    const lm_status status = trace_choose(r, metric, n, &r->metric_at, err);

    r->n_columns = n;
    r->timed     = r->time_at != COLUMN_NONE;
    r->headed    = !status;
    return status;
}

static lm_status time_of(trace_reader *r, char *const *cell, double *time, lm_error *err)
{
    const char *text = cell[r->time_at], *end;
    char        day[40];
    double      date;

    if (r->time_scale != 1) {
        *time = when_number(text, &end) * r->time_scale;
        if (end == text || *end || !isfinite(*time))
            return trace_wrong(r, LM_E_SYNTAX, err, "'%.40s' is no time", text);
    } else if (!when_time(text, time)) {
        return trace_wrong(r, LM_E_SYNTAX, err, "'%.40s' is no time", text);
    }
    if (r->date_at == COLUMN_NONE)
        return LM_OK;
    snprintf(day, sizeof day, "%.16s 00:00:00", cell[r->date_at]);
    if (!when_time(day, &date))
        return trace_wrong(r, LM_E_SYNTAX, err, "'%.40s' is no date", cell[r->date_at]);
    *time += date;
    return LM_OK;
}

static lm_status take_row(trace_reader *r, char *const *cell, trace_sample *out, bool *got,
                          lm_error *err)
{
    const char *name = r->gpu_at != COLUMN_NONE ? cell[r->gpu_at] : "0";
    size_t      gpu;
    lm_status   status;

    if ((status = trace_gpu(r, name, strlen(name), &gpu, err)) ||
        (status = trace_cell(r, cell[r->metric_at], gpu, out, err)) ||
        (status =
             r->timed ? time_of(r, cell, &out->time, err) : trace_tick(r, gpu, &out->time, err)))
        return status;
    trace_beside(r, cell, out);
    *got = true;
    return LM_OK;
}

/* ---- dcgmi dmon --------------------------------------------------------------------------- */

static bool is_dcgm(const char *line)
{
    line += strspn(line, " \t");
    if (*line++ != '#')
        return false;
    line += strspn(line, " \t");
    return !strncasecmp(line, "Entity", 6) && (!line[6] || isspace((unsigned char)line[6]));
}

static lm_status dcgm_heading(trace_reader *r, char *line, lm_error *err)
{
    char           *word[TRACE_COLUMNS_MAX];
    const size_t    n      = trace_words(strchr(line, '#') + 1, false, word, TRACE_COLUMNS_MAX);
    const lm_status status = end_heading(r, (const char *const *)word + 1, n - 1, err);

    if (!status)
        r->offset = (size_t)(word[r->metric_at + 1] - line); /* of the metric in a row */
    return status;
}

/* Entities that are whole GPUs have their number as a name; parts of one, their kind as well. */
static lm_status entity(trace_reader *r, const char *kind, const char *id, size_t *gpu,
                        lm_error *err)
{
    char name[TRACE_NAME_MAX];

    if (strcasecmp(kind, "GPU") != 0)
        snprintf(name, sizeof name, "%.20s %.40s", kind, id);
    else
        snprintf(name, sizeof name, "%.60s", id);
    return trace_gpu(r, name, strlen(name), gpu, err);
}

static lm_status dcgm_row(trace_reader *r, char *line, trace_sample *out, bool *got, lm_error *err)
{
    char     *word[TRACE_COLUMNS_MAX + 2], *cell = NULL;
    char      there;
    size_t    n, gpu;
    lm_status status;

    if (is_dcgm(line))
        return dcgm_heading(r, line, err);
    if (!strncmp(line, "dmon was stopped", 16)) {
        r->ended = true;
        return LM_OK;
    }
    there = r->offset > 0 && r->offset < strlen(line) && line[r->offset - 1] == ' '
                ? line[r->offset]
                : ' ';
    n     = trace_words(line, false, word, TRACE_COLUMNS_MAX + 2);
    if (!n || *word[0] == '#' || !strcasecmp(word[0], "ID")) /* the second line of the heading */
        return LM_OK;
    if (!r->headed)
        return trace_wrong(r, LM_E_SYNTAX, err, "values before the heading of dcgmi dmon");
    if (n == r->n_columns + 2)
        cell = word[2 + r->metric_at];
    else if (n > r->n_columns + 2 &&
             there != ' ') /* a text of several words: look below the heading */
        cell = line + r->offset;
    if (!cell)
        return trace_wrong(r, LM_E_SYNTAX, err, "%zu values where the heading has %zu",
                           n > 2 ? n - 2 : 0, r->n_columns);
    if ((status = entity(r, word[0], word[1], &gpu, err)) ||
        (status = trace_cell(r, cell, gpu, out, err)) ||
        (status = trace_tick(r, gpu, &out->time, err)))
        return status;
    if (n == r->n_columns + 2)
        trace_beside(r, word + 2, out);
    *got = true;
    return LM_OK;
}

const trace_format trace_dcgm = { .name = "dcgmi dmon", .is = is_dcgm, .row = dcgm_row };

/* ---- nvidia-smi dmon ------------------------------------------------------------------------- */

/* The text behind the '#' of a comment; NULL: no comment. */
static char *behind_hash(const char *line)
{
    line += strspn(line, " \t");
    return *line == '#' ? (char *)line + 1 + strspn(line + 1, " \t") : NULL;
}

static bool begins(const char *line, const char *word)
{
    const size_t n = strlen(word);

    return !strncasecmp(line, word, n) && (!line[n] || strchr(" \t,\r\n", line[n]));
}

static bool is_dmon(const char *line)
{
    const char *p = behind_hash(line);

    return p && (begins(p, "gpu") || begins(p, "Date") || begins(p, "Time"));
}

static lm_status dmon_heading(trace_reader *r, char *names, lm_error *err)
{
    char       *word[TRACE_COLUMNS_MAX];
    const char *metric[TRACE_COLUMNS_MAX];
    size_t      n = trace_words(names, true, word, TRACE_COLUMNS_MAX);

    r->headed = false;
    r->gpu_at = r->time_at = r->date_at = COLUMN_NONE;
    for (size_t i = 0; i < n; i++) {
        size_t *to = !strcasecmp(word[i], "gpu")    ? &r->gpu_at
                     : !strcasecmp(word[i], "Date") ? &r->date_at
                     : !strcasecmp(word[i], "Time") ? &r->time_at
                                                    : NULL;

        metric[i] = to ? NULL : word[i];
        if (to)
            *to = i;
    }
    if (r->gpu_at == COLUMN_NONE)
        return trace_wrong(r, LM_E_SYNTAX, err, "a heading of nvidia-smi dmon without 'gpu'");
    return end_heading(r, metric, n, err);
}

static lm_status dmon_row(trace_reader *r, char *line, trace_sample *out, bool *got, lm_error *err)
{
    char  *word[TRACE_COLUMNS_MAX];
    size_t n;

    if (is_dmon(line))
        return dmon_heading(r, behind_hash(line), err);
    if (behind_hash(line))
        return LM_OK; /* units */
    n = trace_words(line, true, word, TRACE_COLUMNS_MAX);
    if (!n)
        return LM_OK;
    if (!r->headed)
        return trace_wrong(r, LM_E_SYNTAX, err, "values before the heading of nvidia-smi dmon");
    if (n != r->n_columns)
        return trace_wrong(r, LM_E_SYNTAX, err, "%zu values where the heading has %zu", n,
                           r->n_columns);
    return take_row(r, word, out, got, err);
}

const trace_format trace_smi_dmon = { .name = "nvidia-smi dmon", .is = is_dmon, .row = dmon_row };

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Called for each cell: strspn() costs more than the few blanks there are. */
static char *skip_blanks(char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

static bool is_csv(const char *line)
{
    line += strspn(line, " \t\r\xEF\xBB\xBF");
    return *line && *line != '#';
}

/* Fields, in place, without blanks and quotes around them; at most max. */
static size_t split(char *line, char **field, size_t max)
{
    size_t n = 0;

    for (char *p = line, at = ','; n < max && at == ','; p++) {
        char *end;

        p = skip_blanks(p);
        if (*p == '"') {
            field[n++] = ++p;
            end        = p + strcspn(p, "\"");
            p          = end + (*end == '"');
            p += strcspn(p, ",");
        } else {
            field[n++] = p;
            while (*p && *p != ',')
                p++;
            for (end = p; end > field[n - 1] && (end[-1] == ' ' || end[-1] == '\t');)
                end--;
        }
        at   = *p;
        *end = '\0';
    }
    return n;
}

static bool one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (!strcasecmp(name, *names))
            return true;
    return false;
}

/* Seconds in one unit of a column of times, by its name or by the unit behind it. */
static double scale_of(const char *name, const char *unit)
{
    static const struct {
        const char *ending;
        double      scale;
    } endings[]       = { { "ms", 1e-3 }, { "us", 1e-6 }, { "ns", 1e-9 } };
    const char *under = strrchr(name, '_');

    for (size_t i = 0; i < 3; i++)
        if (!strcasecmp(unit, endings[i].ending) ||
            (under && !strcasecmp(under + 1, endings[i].ending)))
            return endings[i].scale;
    return 1;
}

static bool is_time(const char *name)
{
    static const char *const names[] = { "timestamp",    "time",         "t",
                                         "datetime",     "date",         "seconds",
                                         "elapsed",      "elapsed_s",    "time_s",
                                         "time_ms",      "time_us",      "time_ns",
                                         "timestamp_s",  "timestamp_ms", "timestamp_us",
                                         "timestamp_ns", "elapsed_ms",   "unix_time",
                                         "epoch_s",      "ts",           NULL };

    return one_of(name, names);
}

/* How well a column names the GPU; 0: not at all. */
static int gpu_rank(const char *name)
{
    static const char *const best[] = { "index",   "gpu",    "gpu_id",    "gpu_index",
                                        "gpu_idx", "device", "device_id", NULL };
    static const char *const good[] = { "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", NULL };

    return one_of(name, best) ? 2 : one_of(name, good) ? 1 : 0;
}

/* A CSV of nvidia-smi without heading has columns by number; the first is a time if it looks like
 * one. */
static bool is_headless(char *const *field, size_t n)
{
    double value;

    for (size_t i = 0; i < n; i++)
        if ((when_time(field[i], &value) || when_value(field[i], &value)) && *field[i])
            return true;
    return false;
}

static lm_status csv_heading(trace_reader *r, char *const *field, size_t n, lm_error *err)
{
    const char *metric[TRACE_COLUMNS_MAX];
    char        name[METRIC_NAME_MAX], unit[METRIC_NAME_MAX];
    int         gpu = 0;

    r->gpu_at = r->time_at = COLUMN_NONE;
    for (size_t i = 0; i < n; i++) {
        metric_split(field[i], name, unit);
        metric[i] = NULL;
        if (r->time_at == COLUMN_NONE && is_time(name)) {
            r->time_at    = i;
            r->time_scale = scale_of(name, unit);
        } else if (gpu_rank(name) > gpu) {
            if (gpu)
                metric[r->gpu_at] = field[r->gpu_at];
            r->gpu_at = i;
            gpu       = gpu_rank(name);
        } else if (!is_time(name)) {
            metric[i] = field[i];
        }
    }
    return end_heading(r, metric, n, err);
}

static lm_status number_columns(trace_reader *r, char *const *field, size_t n, lm_error *err)
{
    double     value;
    char      *end;
    const long at = r->q.metric ? strtol(r->q.metric, &end, 10) : 0;

    r->timed   = strpbrk(field[0], ":/") && when_time(field[0], &value);
    r->time_at = r->timed ? 0 : COLUMN_NONE;
    if (!r->q.metric && n == 1 + (size_t)r->timed)
        r->metric_at = r->timed;
    else if (!r->q.metric || *end || at < 1 || (size_t)at > n || (r->timed && at == 1))
        return trace_wrong(r, LM_E_NOTFOUND, err,
                           "no heading: choose one of the %zu columns by its number, --metric %d",
                           n, n > 1 ? 2 : 1);
    else
        r->metric_at = (size_t)at - 1;
    snprintf(r->metric, sizeof r->metric, "column %zu", r->metric_at + 1);
    r->n_columns = n;
    r->headed    = true;
    return LM_OK;
}

/* A heading comes again where another run begins. */
static bool is_heading(const trace_reader *r, char *const *field, size_t n)
{
    const char *cell = field[r->time_at < n ? r->time_at : 0];

    return !(*cell >= '0' && *cell <= '9') && is_time(cell);
}

static lm_status csv_row(trace_reader *r, char *line, trace_sample *out, bool *got, lm_error *err)
{
    char     *field[TRACE_COLUMNS_MAX];
    size_t    n;
    lm_status status;

    if (lines_number(r->lines) == 1 && !strncmp(line, "\xEF\xBB\xBF", 3))
        line += 3;
    if (!is_csv(line))
        return LM_OK;
    n = split(line, field, TRACE_COLUMNS_MAX);
    if (!r->headed && is_headless(field, n)) {
        if ((status = number_columns(r, field, n, err)))
            return status;
    } else if (!r->headed || (r->timed && is_heading(r, field, n))) {
        return csv_heading(r, field, n, err);
    }
    if (n != r->n_columns)
        return trace_wrong(r, LM_E_SYNTAX, err, "%zu values in a row of %zu columns", n,
                           r->n_columns);
    return take_row(r, field, out, got, err);
}

const trace_format trace_csv = { .name = "CSV", .is = is_csv, .row = csv_row };
