/* Output of OSU's osu_allreduce:
 *
 *   # OSU MPI Allreduce Latency Test v7.3
 *   # Datatype: MPI_CHAR.
 *   # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
 *
 * the last three with -f only. Names of columns hold single blanks and stand two or more apart. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "import/logs.h"

typedef enum { NONE, SIZE, AVERAGE, LEAST, ITERATIONS, VALIDATION } column;

typedef struct reader {
    log_file           log;
    const log_options *given;
    log_rows          *out;
    lm_error          *err;
    lm_dtype           dtype; /* 0: a type that has no name here */
    collective_kind    kind;  /* N_COLLECTIVE_KINDS: no table yet */
    column             columns[LOG_WORDS];
    size_t             n_columns;
} reader;

static column column_of(const char *name)
{
    if (!strcmp(name, "Size"))
        return SIZE;
    if (!strcmp(name, "Avg Latency(us)") || !strcmp(name, "Avg Lat(us)") ||
        !strcmp(name, "Latency (us)") || !strcmp(name, "Latency(us)"))
        return AVERAGE;
    if (!strcmp(name, "Min Latency(us)") || !strcmp(name, "Min Lat(us)"))
        return LEAST;
    if (!strcmp(name, "Iterations"))
        return ITERATIONS;
    return !strcmp(name, "Validation") ? VALIDATION : NONE;
}

/* "Size       Avg Latency(us)   Min Latency(us)" */
static void take_header(reader *r, char *line)
{
    char *p = line;

    r->n_columns = 0;
    while (*p && r->n_columns < LOG_WORDS) {
        char *end = p;

        while (*end && !(end[0] == ' ' && (end[1] == ' ' || !end[1])) && *end != '\t')
            end++;
        if (*end)
            *end++ = '\0';
        r->columns[r->n_columns++] = column_of(p);
        p                          = end + strspn(end, " \t");
    }
}

static const char *titled(const char *title, collective_kind kind)
{
    const char *own = collective_types[kind].osu_title;

    return own ? strstr(title, own) : NULL;
}

static lm_status take_title(reader *r, const char *title)
{
    const char *test = NULL, *version;

    for (r->kind = 0; r->kind < N_COLLECTIVE_KINDS; r->kind++)
        if ((test = titled(title, r->kind)))
            break;
    if (!test || strstr(title, "Non-blocking") || strstr(title, "Nonblocking"))
        return lm_error_set(r->err, LM_E_SYNTAX, "%s:%d: '%.60s' is no Allreduce Latency Test",
                            r->log.path, r->log.line, title);
    r->dtype     = LM_F32; /* of versions that do not name it */
    r->n_columns = 0;
    version      = strrchr(test, ' ');
    if (version && version[1] == 'v') {
        char text[80];

        snprintf(text, sizeof text, "OSU micro-benchmarks %.40s, osu_%s", version + 1,
                 collective_types[r->kind].name);
        log_note(r->out, &r->out->tool, text);
    }
    return LM_OK;
}

static lm_status take_comment(reader *r, char *line)
{
    line += strspn(line, "# \t");
    if (!strncmp(line, "OSU ", 4))
        return take_title(r, line);
    if (!strncmp(line, "Datatype:", 9)) { /* "MPI_FLOAT." */
        line += 9 + strspn(line + 9, " ");
        if (!log_dtype(line, strcspn(line, " ."), &r->dtype))
            r->dtype = 0;
    } else if (!strncmp(line, "Size", 4))
        take_header(r, line);
    return LM_OK;
}

static bool take_value(observation *row, column what, const char *text, bool *failed)
{
    lm_error ignored;
    double   value;

    switch (what) {
    case SIZE: return !text_int(text, &row->bytes, &ignored);
    case ITERATIONS: return !text_int(text, &row->repeats, &ignored) && row->repeats > 0;
    case VALIDATION: *failed |= strncmp(text, "Pass", 4) != 0; return true;
    case AVERAGE:
    case LEAST:
        if (text_real(text, &value, &ignored) || !(value >= 1e-3 && value <= 1e12))
            return false;
        *(what == AVERAGE ? &row->seconds : &row->min_seconds) = value / 1e6;
        return true;
    case NONE: break;
    }
    return true;
}

static lm_status take_row(reader *r, char *line)
{
    char       *word[LOG_WORDS];
    const char  first  = line[strspn(line, " \t")];
    observation row    = log_blank_row(r->kind);
    bool        failed = false, whole;
    size_t      n;

    if (first < '0' || first > '9' || !r->n_columns)
        return LM_OK;
    n     = log_words(line, word);
    whole = n == r->n_columns;
    for (size_t i = 0; i < n && whole; i++)
        whole = take_value(&row, r->columns[i], word[i], &failed);
    if (!whole || isnan(row.seconds)) {
        r->out->n_broken++;
        return LM_OK;
    }
    if (failed || row.bytes < 1 || !r->dtype) {
        *(failed ? &r->out->n_wrong : &r->out->n_other) += 1;
        return LM_OK;
    }
    row.ranks = r->given->ranks;
    row.hosts = r->given->hosts;
    row.dtype = r->dtype;
    if (r->given->algorithm)
        row.algorithm = r->given->algorithm;
    return log_add(r->out, &row, r->err);
}

static lm_status take_line(void *context, char *line)
{
    reader *r = context;

    if (line[strspn(line, " \t")] == '#')
        return take_comment(r, line);
    return r->kind < N_COLLECTIVE_KINDS ? take_row(r, line) : LM_OK;
}

lm_status log_read_osu(const char *path, const log_options *given, log_rows *out, lm_error *err)
{
    reader    r = { .given = given, .out = out, .err = err, .kind = N_COLLECTIVE_KINDS };
    lm_status status;

    if (!given->ranks || !given->hosts)
        return lm_error_set(
            err, LM_E_ARG,
            "%s: OSU's logs do not say how many ranks took part, on how many hosts: "
            "give --ranks and --hosts",
            path);
    status = log_each(&r.log, path, "osu_allreduce", out, take_line, &r, err);
    if (!out->tool)
        out->tool = "OSU micro-benchmarks, osu_allreduce";
    out->statistics =
        "seconds: mean over the iterations and the ranks; min_seconds: of the fastest rank";
    return status;
}
