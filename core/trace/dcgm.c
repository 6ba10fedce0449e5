/*
 * What `dcgmi dmon` prints: a row of values under a heading that comes back, for each GPU and
 * sample; no times.
 *
 *   #Entity   GRACT        SMACT          # Entity  GRACT  SMACT     (before DCGM 3)
 *   ID                                        Id
 *   GPU 0     0.941        N/A                GPU 0  0.941    N/A
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "trace/formats.h"

static bool is(const char *line)
{
    line += strspn(line, " \t");
    if (*line++ != '#')
        return false;
    line += strspn(line, " \t");
    return !strncasecmp(line, "Entity", 6) && (!line[6] || isspace((unsigned char)line[6]));
}

/* The column's heading: where it begins in the line. */
static lm_status heading(trace_reader *r, char *line, lm_error *err)
{
    char     *word[TRACE_COLUMNS_MAX];
    char     *start = strchr(line, '#') + 1;
    size_t    n     = trace_words(start, false, word, TRACE_COLUMNS_MAX), at;
    lm_status status;

    r->headed = false;
    status    = trace_choose(r, (const char *const *)word + 1, n - 1, &at, err);
    if (status)
        return status;
    r->n_columns = n - 1;
    r->metric_at = at;
    r->offset    = (size_t)(word[at + 1] - line);
    r->headed    = true;
    return LM_OK;
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

static lm_status row(trace_reader *r, char *line, trace_sample *out, bool *got, lm_error *err)
{
    char     *word[TRACE_COLUMNS_MAX + 2], *cell = NULL;
    char      there;
    size_t    n, gpu;
    lm_status status;

    if (is(line))
        return heading(r, line, err);
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

const trace_format trace_dcgm = { .name = "dcgmi dmon", .is = is, .row = row };
