/* Output of OSU's osu_allreduce and its kin:
 *
 *   # OSU MPI Allreduce Latency Test v7.3
 *   # Datatype: MPI_CHAR.
 *   # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
 *
 * the last three with -f only. Names of columns hold single blanks and stand two or more apart. */
/* A size is the count given to the MPI call: for all-gathers and all-to-alls, the part of one rank.
 * osu_latency prints half of a round trip. osu_bw prints the bytes a second (1 MB is 10^6) of a
 * window of messages in flight. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "import/logs.h"

typedef enum { NONE, SIZE, AVERAGE, LEAST, ITERATIONS, VALIDATION, BANDWIDTH } column;

typedef struct osu_test {
    const char     *name, *title;
    collective_kind kind;
    bool            each; /* sizes are those of one rank's part */
    const char     *algorithm;
} osu_test;

static const osu_test tests[] = {
    { "osu_allreduce", "Allreduce Latency Test", COLLECTIVE_ALLREDUCE, false, ALGORITHM_DEFAULT },
    { "osu_allgather", "Allgather Latency Test", COLLECTIVE_ALLGATHER, true, ALGORITHM_DEFAULT },
    { "osu_reduce_scatter", "Reduce_scatter Latency Test", COLLECTIVE_REDUCESCATTER, false,
      ALGORITHM_DEFAULT },
    { "osu_reduce_scatter_block", "Reduce_scatter_block Latency Test", COLLECTIVE_REDUCESCATTER,
      false, ALGORITHM_DEFAULT },
    { "osu_alltoall", "All-to-All Personalized Exchange Latency Test", COLLECTIVE_ALLTOALL, true,
      ALGORITHM_DEFAULT },
    { "osu_bcast", "Broadcast Latency Test", COLLECTIVE_BROADCAST, false, ALGORITHM_DEFAULT },
    { "osu_latency", "Latency Test", COLLECTIVE_SENDRECV, false, ALGORITHM_DEFAULT },
    { "osu_bw", "Bandwidth Test", COLLECTIVE_SENDRECV, false, ALGORITHM_WINDOW },
    { NULL, NULL, N_COLLECTIVE_KINDS, false, NULL },
};

typedef struct reader {
    log_file           log;
    const log_options *given;
    log_rows          *out;
    lm_error          *err;
    lm_dtype           dtype; /* 0: a type without a name here */
    const osu_test    *test;  /* NULL: no table yet */
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
    if (!strcmp(name, "Bandwidth (MB/s)") || !strcmp(name, "Bandwidth(MB/s)"))
        return BANDWIDTH;
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

/* "OSU MPI Allreduce Latency Test v7.3", "OSU MPI-CUDA Latency Test": behind the second word stands
 * the test's title, and a version or nothing. NULL: none of those. */
static const osu_test *titled(const char *title)
{
    const char *own = title + strlen("OSU ");

    own += strcspn(own, " ");
    own += strspn(own, " ");
    for (const osu_test *t = tests; t->name; t++) {
        const size_t n = strlen(t->title);

        if (!strncmp(own, t->title, n) && (!own[n] || !strncmp(own + n, " v", 2)))
            return t;
    }
    return NULL;
}

static lm_status unknown_test(const reader *r, const char *title)
{
    char known[200] = "";

    for (const osu_test *t = tests; t->name; t++)
        text_add(known, sizeof known, "%s%s", *known ? ", " : "", t->name);
    return lm_error_set(r->err, LM_E_SYNTAX, "%s:%d: '%.60s' is none of %s", r->log.path,
                        r->log.line, title, known);
}

static lm_status take_title(reader *r, const char *title)
{
    const char *version = strrchr(title, ' ');
    char        text[80];

    if (!(r->test = titled(title)))
        return unknown_test(r, title);
    if (r->test->kind == COLLECTIVE_SENDRECV && r->given->ranks != 2)
        return lm_error_set(r->err, LM_E_ARG, "%s:%d: %s runs on 2 ranks, not on %lld: --ranks 2",
                            r->log.path, r->log.line, r->test->name, (long long)r->given->ranks);
    r->dtype     = LM_F32; /* of versions that do not name it */
    r->n_columns = 0;
    snprintf(text, sizeof text, "OSU micro-benchmarks%s%.40s, %s",
             version && version[1] == 'v' ? " " : "",
             version && version[1] == 'v' ? version + 1 : "", r->test->name);
    log_note(r->out, &r->out->tool, text);
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
    case BANDWIDTH:
        if (text_real(text, &value, &ignored) || !(value >= 1e-3 && value <= 1e12))
            return false;
        if (what == BANDWIDTH && row->bytes < 1) /* sizes stand first */
            return false;
        if (what == BANDWIDTH)
            row->seconds = (double)row->bytes / (1e6 * value);
        else
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
    observation row    = log_blank_row(r->test->kind);
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
    row.ranks     = r->given->ranks;
    row.hosts     = r->given->hosts;
    row.dtype     = r->dtype;
    row.algorithm = r->given->algorithm ? r->given->algorithm : r->test->algorithm;
    if (r->test->each && row.bytes > INT64_MAX / row.ranks) {
        r->out->n_broken++;
        return LM_OK;
    }
    row.bytes *= r->test->each ? row.ranks : 1;
    return log_add(r->out, &row, r->err);
}

static lm_status take_line(void *context, char *line)
{
    reader *r = context;

    if (line[strspn(line, " \t")] == '#')
        return take_comment(r, line);
    return r->test ? take_row(r, line) : LM_OK;
}

lm_status log_read_osu(const char *path, const log_options *given, log_rows *out, lm_error *err)
{
    reader    r = { .given = given, .out = out, .err = err };
    lm_status status;

    if (!given->ranks || !given->hosts)
        return lm_error_set(
            err, LM_E_ARG,
            "%s: OSU's logs do not say how many ranks took part, on how many hosts: "
            "give --ranks and --hosts",
            path);
    status = log_each(&r.log, path, "OSU's benchmarks", out, take_line, &r, err);
    out->statistics =
        "seconds: mean over the iterations and the ranks; min_seconds: of the fastest rank";
    return status;
}
