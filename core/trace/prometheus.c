/*
 * The Prometheus text format, as dcgm-exporter serves it, one scrape after the other:
 *
 *   # TYPE DCGM_FI_DEV_GPU_UTIL gauge
 *   DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-604ac76c",Hostname="node7"} 97 1708753700165
 *
 * The time behind the value, in milliseconds (in OpenMetrics seconds), is often not there.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/no_memory.h"
#include "trace/formats.h"
#include "trace/metrics.h"

static size_t name_length(const char *p)
{
    size_t n = 0;

    if (isdigit((unsigned char)*p))
        return 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == ':')
        n++;
    return n;
}

static bool is(const char *line)
{
    const size_t n = name_length(line);

    return !strncmp(line, "# HELP ", 7) || !strncmp(line, "# TYPE ", 7) || (n && line[n] == '{');
}

/* Names of the first metrics, each once. */
static lm_status begin(trace_reader *r, const char *head, lm_error *err)
{
    char        name[TRACE_COLUMNS_MAX][METRIC_NAME_MAX];
    const char *list[TRACE_COLUMNS_MAX];
    size_t      n = 0, at;

    while (*head) {
        const size_t length = name_length(head);
        size_t       i      = 0;

        if (length && length < METRIC_NAME_MAX && (head[length] == '{' || head[length] == ' ')) {
            while (i < n && (strncmp(name[i], head, length) || name[i][length]))
                i++;
            if (i == n && n < TRACE_COLUMNS_MAX) {
                snprintf(name[n], METRIC_NAME_MAX, "%.*s", (int)length, head);
                list[n] = name[n];
                n++;
            }
        }
        head += strcspn(head, "\n");
        head += *head == '\n';
    }
    if (!trace_choose(r, list, n, &at, err))
        return LM_OK;
    if (!r->q.metric)
        return err->code;
    snprintf(r->metric, sizeof r->metric, "%s", r->q.metric); /* it may come later */
    return LM_OK;
}

/* The value of a label between { and }, without its quotes; *n is 0 if it is not there. */
static const char *label(const char *labels, const char *end, const char *name, size_t *n)
{
    const size_t length = strlen(name);

    for (const char *p = labels; p < end;) {
        const char *equal = memchr(p, '=', (size_t)(end - p)), *value, *q;
        size_t      skip;

        if (!equal || equal + 1 >= end || equal[1] != '"')
            break;
        value = q = equal + 2;
        while (q < end && *q != '"')
            q += *q == '\\' && q + 1 < end ? 2 : 1;
        skip = strspn(p, " \t,");
        p += skip;
        if ((size_t)(equal - p) == length && !strncasecmp(p, name, length)) {
            *n = (size_t)(q - value);
            return value;
        }
        p = q + 1;
    }
    *n = 0;
    return labels;
}

/* The end of the labels: a } outside of quotes. */
static char *labels_end(char *p)
{
    bool quoted = false;

    for (; *p; p++) {
        if (quoted && *p == '\\' && p[1])
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (*p == '}' && !quoted)
            return p;
    }
    return NULL;
}

/* "0", or "node7/0" if the host is known. */
static lm_status gpu_of(trace_reader *r, const char *labels, const char *end, size_t *gpu,
                        lm_error *err)
{
    static const char *const names[] = { "gpu",  "minor_number", "device",
                                         "uuid", "gpu_uuid",     "index" };
    const char              *id      = "0", *host, *part;
    size_t                   n       = 0, n_host, n_part;
    char                     name[TRACE_NAME_MAX];

    for (size_t i = 0; i < sizeof names / sizeof names[0] && !n; i++)
        id = label(labels, end, names[i], &n);
    if (!n) {
        id = "0";
        n  = 1;
    }
    host = label(labels, end, "hostname", &n_host);
    part = label(labels, end, "GPU_I_ID", &n_part);
    snprintf(name, sizeof name, "%.*s%s%.*s%s%.*s", (int)(n_host < 30 ? n_host : 30), host,
             n_host ? "/" : "", (int)(n < 24 ? n : 24), id, n_part ? "-" : "",
             (int)(n_part < 6 ? n_part : 6), part);
    return trace_gpu(r, name, strlen(name), gpu, err);
}

/* Lines of other metrics stand between: the last value of each GPU counts. */
static lm_status keep_beside(trace_reader *r, size_t which, size_t gpu, const char *cell,
                             lm_error *err)
{
    if (!r->beside) {
        r->beside = malloc(TRACE_GPUS_MAX * sizeof *r->beside);
        if (!r->beside)
            return no_memory(err);
        for (size_t i = 0; i < TRACE_GPUS_MAX; i++)
            for (size_t b = 0; b < N_BESIDE; b++)
                r->beside[i][b] = NAN;
    }
    r->beside[gpu][metric_beside_of(which)] = (float)metric_beside_value(which, cell);
    return LM_OK;
}

static lm_status row(trace_reader *r, char *line, trace_sample *out, bool *got, lm_error *err)
{
    size_t    n = name_length(line), gpu;
    bool      wanted;
    size_t    beside;
    char     *labels = line + n, *end = labels, *p, *time_text;
    char      kept;
    lm_status status;

    if (!*line || *line == '#')
        return LM_OK;
    if (!n || (*labels != '{' && *labels != ' '))
        return trace_wrong(r, LM_E_SYNTAX, err, "'%.40s' is no sample of a metric", line);
    kept    = *labels;
    *labels = '\0';
    wanted  = metric_same(line, r->metric);
    beside  = r->q.beside ? metric_beside_find(line) : METRIC_UNKNOWN;
    if (!wanted && beside == METRIC_UNKNOWN)
        return LM_OK;
    if (kept == '{' && !(end = labels_end(++labels)))
        return trace_wrong(r, LM_E_SYNTAX, err, "labels without their '}'");
    p         = end + 1 + strspn(end + 1, " \t");
    time_text = p + strcspn(p, " \t");
    if (*time_text)
        *time_text++ = '\0';
    time_text += strspn(time_text, " \t");
    if (!*p)
        return trace_wrong(r, LM_E_SYNTAX, err, "no value of %s", r->metric);
    if ((status = gpu_of(r, labels, end, &gpu, err)) ||
        (beside != METRIC_UNKNOWN && (status = keep_beside(r, beside, gpu, p, err))))
        return status;
    if (!wanted)
        return LM_OK;
    if ((status = trace_cell(r, p, gpu, out, err)))
        return status;
    if (r->beside)
        memcpy(out->beside, r->beside[gpu], sizeof out->beside);
    r->timed = *time_text != '\0';
    if (!r->timed)
        status = trace_tick(r, gpu, &out->time, err);
    else if (!when_time(time_text, &out->time))
        status = trace_wrong(r, LM_E_SYNTAX, err, "'%.40s' is no time", time_text);
    *got = !status;
    return status;
}

const trace_format trace_prometheus = {
    .name = "Prometheus", .is = is, .begin = begin, .row = row
};
