/*
 * What `nvidia-smi dmon` prints, with times (-o DT, -o T) or without, in columns or as CSV:
 *
 *   #Date       Time        gpu    pwr  gtemp     sm            # gpu   pwr gtemp    sm
 *   #YYYYMMDD   HH:MM:SS    Idx      W      C      %            # Idx     W     C     %
 *    20240104   13:54:35      0     70     48      5                0    70    48     -
 */
#include <string.h>
#include <strings.h>

#include "trace/formats.h"
#include "trace/when.h"

static const char *behind_hash(const char *line)
{
    line += strspn(line, " \t");
    if (*line != '#')
        return NULL;
    return line + 1 + strspn(line + 1, " \t");
}

static bool begins(const char *line, const char *word)
{
    const size_t n = strlen(word);

    return !strncasecmp(line, word, n) && (!line[n] || strchr(" \t,\r\n", line[n]));
}

static bool is(const char *line)
{
    const char *p = behind_hash(line);

    return p && (begins(p, "gpu") || begins(p, "Date") || begins(p, "Time"));
}

static lm_status heading(trace_reader *r, char *names, lm_error *err)
{
    char       *word[TRACE_COLUMNS_MAX];
    const char *metric[TRACE_COLUMNS_MAX];
    size_t      n = trace_words(names, true, word, TRACE_COLUMNS_MAX);
    lm_status   status;

    r->headed = false;
    r->gpu_at = r->time_at = r->date_at = COLUMN_NONE;
    for (size_t i = 0; i < n; i++) {
        metric[i] = NULL;
        if (!strcasecmp(word[i], "gpu"))
            r->gpu_at = i;
        else if (!strcasecmp(word[i], "Date"))
            r->date_at = i;
        else if (!strcasecmp(word[i], "Time"))
            r->time_at = i;
        else
            metric[i] = word[i];
    }
    if (r->gpu_at == COLUMN_NONE)
        return trace_wrong(r, LM_E_SYNTAX, err, "a heading of nvidia-smi dmon without 'gpu'");
    if ((status = trace_choose(r, metric, n, &r->metric_at, err)))
        return status;
    r->n_columns = n;
    r->timed     = r->time_at != COLUMN_NONE;
    r->headed    = true;
    return LM_OK;
}

static lm_status time_of(trace_reader *r, char *const *word, size_t gpu, double *time,
                         lm_error *err)
{
    double date = 0;

    if (!r->timed)
        return trace_tick(r, gpu, time, err);
    if (!when_time(word[r->time_at], time))
        return trace_wrong(r, LM_E_SYNTAX, err, "'%.40s' is no time", word[r->time_at]);
    if (r->date_at != COLUMN_NONE) {
        char text[40] = "";

        strncat(text, word[r->date_at], 16);
        strcat(text, " 00:00:00");
        if (!when_time(text, &date))
            return trace_wrong(r, LM_E_SYNTAX, err, "'%.40s' is no date", word[r->date_at]);
    }
    *time += date;
    return LM_OK;
}

static lm_status row(trace_reader *r, char *line, size_t length, trace_sample *out, bool *got,
                     lm_error *err)
{
    char     *word[TRACE_COLUMNS_MAX];
    size_t    n, gpu;
    double    time = 0;
    lm_status status;

    (void)length;
    if (is(line))
        return heading(r, line + (behind_hash(line) - line), err);
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
    if ((status = trace_gpu(r, word[r->gpu_at], strlen(word[r->gpu_at]), &gpu, err)) ||
        (status = trace_cell(r, word[r->metric_at], gpu, 0, out, err)) ||
        (status = time_of(r, word, gpu, &time, err)))
        return status;
    trace_beside(r, word, out);
    out->time = time;
    *got      = true;
    return LM_OK;
}

const trace_format trace_smi_dmon = { .name = "nvidia-smi dmon", .is = is, .row = row };
