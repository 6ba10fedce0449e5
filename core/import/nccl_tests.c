/* Output of all_reduce_perf and its kin of nccl-tests and rccl-tests. Its table has two header lines,
 *
 *   #       size         count      type   redop    root     time   algbw   busbw #wrong     time
 * ... #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)
 * ...
 *
 * the first half out of place, the second in place; `root` is missing before version 2.13, `#wrong`
 * was `error` there. Above it stand the parameters and a line for each rank. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "import/logs.h"

#define ABSENT ((size_t)-1)

/* Positions of the table's columns. */
typedef struct head_places {
    size_t n, size, type, redop;
    size_t time[2], algbw[2], busbw[2], wrong[2]; /* out of place, in place */
    bool   has_units;
} head_places;

typedef struct reader {
    log_file           log;
    const log_options *given;
    log_rows          *out;
    lm_error          *err;
    head_places        columns;
    collective_kind    kind;
    bool               has_table;
    int64_t            ranks, hosts, repeats; /* of the current run; 0: unknown */
    char               host[4096];            /* names of its hosts, with blanks around each */
    bool               has_ranks;             /* lines of ranks began */
    const char        *algorithm;             /* forced by the environment; NULL: none */
    size_t             n_ratios, n_foreign;   /* rows with compared bandwidths; rows of other
                                               collectives */
} reader;

/* ---- above the table ------------------------------------------------------------------------- */

/* The text after `key` up to a blank, kept; NULL: not in this line. */
static const char *word_behind(reader *r, const char *line, const char *key)
{
    const char *at = strstr(line, key);

    if (!at)
        return NULL;
    at += strlen(key);
    at += strspn(at, " ");
    return *at ? log_keep(r->out, at, strcspn(at, " \t,")) : NULL;
}

/* "# nThread 1 nGpus 8 minBytes ... warmup iters: 5 iters: 20 agg iters: 1 ...": a run begins. */
static void take_parameters(reader *r, const char *line)
{
    const char *at = line;

    r->ranks = r->hosts = r->repeats = 0;
    r->has_ranks                     = false;
    strcpy(r->host, " ");
    while ((at = strstr(at, " iters: "))) {
        const bool plain = !((at - line >= 6 && !strncmp(at - 6, "warmup", 6)) ||
                             (at - line >= 3 && !strncmp(at - 3, "agg", 3)));

        at += strlen(" iters: ");
        if (plain)
            r->repeats = strtoll(at, NULL, 10);
    }
    if (r->repeats < 0)
        r->repeats = 0;
}

/* "#  Rank  0 Group  0 Pid   1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3" */
static lm_status take_rank(reader *r, const char *line)
{
    const char *on = strstr(line, " on "), *device = on ? strstr(on, " device ") : NULL;
    const char *name = device ? strchr(device, ']') : NULL;
    char        host[260];
    size_t      n;

    if (!device)
        return LM_OK;
    on += 4;
    on += strspn(on, " ");
    n = on < device ? strcspn(on, " ") : 0;
    if (!n || n > sizeof host - 3)
        return LM_OK;
    snprintf(host, sizeof host, " %.*s ", (int)n, on);
    if (!r->has_ranks)
        r->ranks = r->hosts = 0;
    r->has_ranks = true;
    r->ranks++;
    if (!strstr(r->host, host)) {
        if (strlen(r->host) + n + 2 > sizeof r->host)
            return lm_error_set(r->err, LM_E_SYNTAX,
                                "%s:%d: more hosts than can be told apart here: give --hosts",
                                r->log.path, r->log.line);
        strcat(r->host, host + 1);
        r->hosts++;
    }
    if (name)
        log_note(r->out, &r->out->device, name + 1 + strspn(name + 1, " "));
    return LM_OK;
}

/* "NCCL_ALGO set by environment to Ring": only a ring has a name here. */
static lm_status take_environment(reader *r, const char *line)
{
    const char *value = word_behind(r, line, "NCCL_ALGO set by environment to ");

    if (!value || r->given->algorithm)
        return LM_OK;
    if (strcasecmp(value, "ring"))
        return lm_error_set(r->err, LM_E_ARG,
                            "%s:%d: the algorithm was forced to '%.40s': give --algorithm default "
                            "or ring to take it as such",
                            r->log.path, r->log.line, value);
    r->algorithm = "ring";
    return LM_OK;
}

static bool find_kind(const char *test, collective_kind *out)
{
    for (collective_kind k = 0; k < N_COLLECTIVE_KINDS; k++) {
        const char  *own = collective_types[k].nccl_test;
        const size_t n   = own ? strlen(own) - strlen("_perf") : 0;

        /* "all_reduce", "all_reduce_perf_mpi"; "alltoallv_perf" is no all-to-all */
        if (own && !strncmp(test, own, n) && (!test[n] || !strncmp(test + n, "_perf", 5))) {
            *out = k;
            return true;
        }
    }
    return false;
}

static lm_status unknown_test(const reader *r, const char *test)
{
    char known[200] = "";

    for (collective_kind k = 0; k < N_COLLECTIVE_KINDS; k++)
        if (collective_types[k].nccl_test)
            text_add(known, sizeof known, "%s%s", *known ? ", " : "",
                     collective_types[k].nccl_test);
    return lm_error_set(r->err, LM_E_SYNTAX, "%s:%d: '%.40s' is none of %s", r->log.path,
                        r->log.line, test, known);
}

static lm_status take_note(reader *r, const char *line)
{
    const char     *library = strstr(line, "nccl-library") ? word_behind(r, line, "nccl-library=")
                                                           : word_behind(r, line, "NCCL version ");
    const char     *test    = word_behind(r, line, "Collective test starting:");
    collective_kind named;

    if (library)
        log_note(r->out, &r->out->library, library);
    if (test && !find_kind(test, &named))
        return unknown_test(r, test);
    if (test && r->given->kind && named != r->kind)
        return lm_error_set(r->err, LM_E_ARG, "%s:%d: '%.40s' is no %s, as --kind says",
                            r->log.path, r->log.line, test, collective_types[r->kind].title);
    if (test)
        r->kind = named;
    if (strstr(line, "nThread "))
        take_parameters(r, line);
    else if (strstr(line, " Rank "))
        return take_rank(r, line);
    else if (strstr(line, "Out of bounds values") && strstr(line, "FAILED") && r->has_table &&
             r->columns.wrong[0] == ABSENT)
        return lm_error_set(r->err, LM_E_SYNTAX,
                            "%s:%d: results were wrong, and this version of the tool does not say "
                            "which",
                            r->log.path, r->log.line);
    return take_environment(r, line);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void put_place(size_t place[2], size_t at)
{
    place[place[0] == ABSENT ? 0 : 1] = at;
}

/* The first header line, without its '#'; false: another line. */
static bool take_header(reader *r, char *word[], size_t n)
{
    head_places c = { .n     = n,
                      .size  = ABSENT,
                      .type  = ABSENT,
                      .redop = ABSENT,
                      .time  = { ABSENT, ABSENT },
                      .algbw = { ABSENT, ABSENT },
                      .busbw = { ABSENT, ABSENT },
                      .wrong = { ABSENT, ABSENT } };

    for (size_t i = 0; i < n; i++) {
        if (!strcmp(word[i], "size") || !strcmp(word[i], "bytes"))
            c.size = i;
        else if (!strcmp(word[i], "type"))
            c.type = i;
        else if (!strcmp(word[i], "redop") || !strcmp(word[i], "op"))
            c.redop = i;
        else if (!strcmp(word[i], "time"))
            put_place(c.time, i);
        else if (!strcmp(word[i], "algbw"))
            put_place(c.algbw, i);
        else if (!strcmp(word[i], "busbw"))
            put_place(c.busbw, i);
        else if (!strcmp(word[i], "#wrong") || !strcmp(word[i], "wrong"))
            put_place(c.wrong, i);
    }
    if (c.size != 0 || c.type == ABSENT || c.time[0] == ABSENT)
        return false;
    r->columns   = c;
    r->has_table = true;
    return true;
}

static bool number(const char *text, double *out)
{
    lm_error ignored;

    return !text_real(text, out, &ignored);
}

/* Bus bandwidth is the other bandwidth times what each rank sends of a byte. This tells an all-reduce
 * from collectives of one pass, which old logs do not name. Two decimals must suffice. */
static void compare_bandwidths(reader *r, char *word[], size_t half)
{
    const head_places *c = &r->columns;
    double             algbw, busbw, expected;

    if (c->algbw[half] == ABSENT || c->busbw[half] == ABSENT || !r->ranks ||
        !number(word[c->algbw[half]], &algbw) || !number(word[c->busbw[half]], &busbw) || algbw < 1)
        return;
    expected = collective_volume(r->kind, (double)r->ranks);
    r->n_ratios++;
    r->n_foreign += fabs(busbw / algbw - expected) > 0.02 * expected;
}

/* The tool's all-to-alls and send-recvs in place give wrong results, which it does not count. */
static bool in_place(collective_kind kind)
{
    return !collective_types[kind].pieces && !collective_types[kind].hop;
}

static void note_row(reader *r)
{
    char tool[60];

    snprintf(tool, sizeof tool, "nccl-tests, %.40s", collective_types[r->kind].nccl_test);
    log_note(r->out, &r->out->tool, tool);
    log_note(
        r->out, &r->out->statistics,
        in_place(r->kind)
            ? "seconds: mean over the iterations and the ranks, in place, as the tool prints it"
            : "seconds: mean over the iterations and the ranks, out of place, as the tool "
              "prints it");
}

static lm_status take_row(reader *r, char *word[], size_t n)
{
    const head_places     *c   = &r->columns;
    const collective_type *t   = &collective_types[r->kind];
    observation            row = log_blank_row(r->kind);
    size_t                 half;
    double                 microseconds, wrong;
    lm_error               ignored;

    if (n != c->n || text_int(word[c->size], &row.bytes, &ignored)) {
        r->out->n_broken++;
        return LM_OK;
    }
    half = in_place(r->kind) && c->time[1] != ABSENT && number(word[c->time[1]], &microseconds);
    if (!half && !number(word[c->time[0]], &microseconds)) {
        r->out->n_broken++;
        return LM_OK;
    }
    if (c->wrong[half] != ABSENT && number(word[c->wrong[half]], &wrong) && wrong > 0) {
        r->out->n_wrong++;
        return LM_OK;
    }
    if (row.bytes < 1 || !log_dtype(word[c->type], strlen(word[c->type]), &row.dtype) ||
        (t->reduces && c->redop != ABSENT && strcmp(word[c->redop], "sum") &&
         strcmp(word[c->redop], "avg"))) {
        r->out->n_other++;
        return LM_OK;
    }
    if (!(microseconds >= 1e-3 && microseconds <= 1e12)) { /* shorter than any clock resolves, or
                                                              days */
        r->out->n_broken++;
        return LM_OK;
    }
    if (!r->has_ranks || r->given->ranks)
        r->ranks = r->given->ranks;
    if (!r->has_ranks || r->given->hosts)
        r->hosts = r->given->hosts;
    if (!r->ranks || !r->hosts)
        return lm_error_set(r->err, LM_E_ARG,
                            "%s:%d: no lines of ranks above this table: give --ranks and --hosts",
                            r->log.path, r->log.line);
    compare_bandwidths(r, word, half);
    note_row(r);
    row.ranks     = r->ranks;
    row.hosts     = r->hosts;
    row.repeats   = r->repeats;
    row.seconds   = microseconds / 1e6;
    row.algorithm = r->given->algorithm ? r->given->algorithm
                    : r->algorithm      ? r->algorithm
                                        : "default";
    return log_add(r->out, &row, r->err);
}

static lm_status take_line(void *context, char *line)
{
    reader   *r = context;
    char     *word[LOG_WORDS];
    size_t    n;
    lm_status status = take_note(r, line);
    bool      comment;

    if (status)
        return status;
    line += strspn(line, " \t");
    comment = *line == '#';
    if (comment && strstr(line, "(us)") && r->has_table)
        r->columns.has_units = true;
    n = log_words(line + comment, word);
    if (comment) {
        take_header(r, word, n);
        return LM_OK;
    }
    /* a row begins with its size; other lines of a log are ignored */
    if (!r->has_table || !n || strspn(word[0], "0123456789") != strlen(word[0]))
        return LM_OK;
    if (!r->columns.has_units)
        return lm_error_set(
            r->err, LM_E_SYNTAX,
            "%s:%d: a table whose header does not say that times are in us: a version "
            "of the tool that is too old, or a header that was cut off",
            r->log.path, r->log.line);
    return take_row(r, word, n);
}

lm_status log_read_nccl_tests(const char *path, const log_options *given, log_rows *out,
                              lm_error *err)
{
    reader    r      = { .given = given, .out = out, .err = err, .host = " " };
    lm_status status = given->kind ? collective_kind_parse(given->kind, &r.kind, err) : LM_OK;

    if (!status)
        status = log_each(&r.log, path, "nccl-tests", out, take_line, &r, err);
    if (!status && 2 * r.n_foreign > r.n_ratios)
        status = lm_error_set(err, LM_E_SYNTAX,
                              "%s: busbw / algbw is not that of %s on %lld ranks: another "
                              "collective (--kind), or other ranks",
                              path, collective_types[r.kind].one, (long long)r.ranks);
    return status;
}
