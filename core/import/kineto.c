/* Traces of PyTorch's profiler: Chrome's JSON as Kineto writes it, read as a stream.
 *
 *   { "distributedInfo": { "world_size": 8, ... }, "traceEvents": [
 *     { "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "ts": 1.5, "dur": 2.5, ... },
 *     { "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", "ts": ..., "dur": ...,
 *       "args": { "In msg nelems": 1024, "dtype": "Float", "Group size": 8, ... } }, ... ] }
 *
 * Times are microseconds. Everything else is passed over. */
#include "import/kineto.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"

#define BUFFER_BYTES 65536
#define TIMES_MAX    1000000 /* steps, and as many all-reduces */

/* ---- JSON ------------------------------------------------------------------------------------ */

typedef struct stream {
    FILE         *file;
    const char   *path;
    unsigned char buffer[BUFFER_BYTES];
    size_t        at, n;
    uint64_t      before; /* bytes before the buffer */
    lm_error     *err;
} stream;

/* The next byte; EOF. */
static int next(stream *s)
{
    if (s->at == s->n) {
        s->before += s->n;
        s->at = 0;
        s->n  = fread(s->buffer, 1, sizeof s->buffer, s->file);
        if (!s->n)
            return EOF;
    }
    return s->buffer[s->at++];
}

/* The next one that is no blank. */
static int token(stream *s)
{
    int c;

    do
        c = next(s);
    while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
    return c;
}

static lm_status damaged(const stream *s, const char *what)
{
    if (ferror(s->file))
        return lm_error_set(s->err, LM_E_IO, "%s: %s", s->path, strerror(errno));
    return lm_error_set(s->err, LM_E_SYNTAX,
                        "%s: byte %llu: %s: no trace of PyTorch's profiler, or a damaged one",
                        s->path, (unsigned long long)(s->before + s->at), what);
}

/* Behind the opening quote. What has no room is passed over; `room` 0: all of it. */
static lm_status read_text(stream *s, char *out, size_t room)
{
    size_t n = 0;
    int    c;

    while ((c = next(s)) != '"') {
        if (c == '\\')
            c = next(s);
        if (c == EOF)
            return damaged(s, "a text without an end");
        if (n + 1 < room)
            out[n++] = (char)c;
    }
    if (room)
        out[n] = '\0';
    return LM_OK;
}

static bool ends_number(int c)
{
    return c == EOF || c == ',' || c == ']' || c == '}' || c == ' ' || c == '\t' || c == '\n' ||
           c == '\r';
}

/* A number, true, false or null, whose first byte is c. NAN: no number. */
static void read_number(stream *s, int c, double *out)
{
    char   text[48];
    size_t n = 0;
    char  *end;

    while (!ends_number(c)) {
        if (n + 1 < sizeof text)
            text[n++] = (char)c;
        c = next(s);
    }
    if (c != EOF)
        s->at--;
    text[n] = '\0';
    *out    = strtod(text, &end);
    if (*end || end == text || !isfinite(*out))
        *out = NAN;
}

/* Passes over a value whose first byte is c. */
static lm_status skip(stream *s, int c)
{
    uint64_t depth = 0;
    double   ignored;

    for (;; c = token(s)) {
        lm_status status = LM_OK;

        if (c == EOF)
            return damaged(s, "cut short");
        if (c == '"')
            status = read_text(s, NULL, 0);
        else if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--; /* one at depth 0 is no value: each_member() sees what follows */
        else if (c == ',' || c == ':')
            status = depth ? LM_OK : damaged(s, "expected a value");
        else
            read_number(s, c, &ignored);
        if (status || !depth || depth == UINT64_MAX)
            return status;
    }
}

/* Takes the value of a member, whose first byte is c. */
typedef lm_status take_member(stream *s, const char *key, int c, void *context);

/* Behind the opening brace. */
static lm_status each_member(stream *s, take_member *take, void *context)
{
    char      key[64];
    int       c = token(s);
    lm_status status;

    while (c != '}') {
        if (c != '"')
            return damaged(s, c == EOF ? "cut short" : "expected a key");
        if ((status = read_text(s, key, sizeof key)))
            return status;
        if (token(s) != ':')
            return damaged(s, "expected a colon");
        if ((status = take(s, key, token(s), context)))
            return status;
        c = token(s);
        if (c == ',')
            c = token(s);
        else if (c != '}')
            return damaged(s, c == EOF ? "cut short" : "expected a comma");
    }
    return LM_OK;
}

/* ---- events ---------------------------------------------------------------------------------- */

typedef struct event {
    char   phase[4], category[32], name[96], dtype[24];
    double start, length, elements, ranks; /* microseconds; NAN: not told */
} event;

typedef struct step {
    int64_t number;
    double  start, length;
} step;

typedef struct message {
    int64_t  bytes, ranks;
    lm_dtype dtype;
    double   seconds;
} message;

typedef struct reader {
    step     *step;
    message  *message;
    size_t    n_steps, step_room, n_messages, message_room;
    double    world; /* ranks of the run; NAN: not told */
    char      device[96];
    bool      has_events;
    log_rows *out;
} reader;

static lm_status take_text(stream *s, int c, char *out, size_t room)
{
    return c == '"' ? read_text(s, out, room) : skip(s, c);
}

static lm_status take_number(stream *s, int c, double *out)
{
    if (c == '"' || c == '{' || c == '[')
        return skip(s, c);
    read_number(s, c, out);
    return LM_OK;
}

static lm_status take_argument(stream *s, const char *key, int c, void *context)
{
    event *e = context;

    if (!strcmp(key, "In msg nelems"))
        return take_number(s, c, &e->elements);
    if (!strcmp(key, "Group size"))
        return take_number(s, c, &e->ranks);
    if (!strcmp(key, "dtype"))
        return take_text(s, c, e->dtype, sizeof e->dtype);
    return skip(s, c);
}

static lm_status take_field(stream *s, const char *key, int c, void *context)
{
    event *e = context;

    if (!strcmp(key, "ph"))
        return take_text(s, c, e->phase, sizeof e->phase);
    if (!strcmp(key, "cat"))
        return take_text(s, c, e->category, sizeof e->category);
    if (!strcmp(key, "name"))
        return take_text(s, c, e->name, sizeof e->name);
    if (!strcmp(key, "ts"))
        return take_number(s, c, &e->start);
    if (!strcmp(key, "dur"))
        return take_number(s, c, &e->length);
    if (!strcmp(key, "args") && c == '{')
        return each_member(s, take_argument, e);
    return skip(s, c);
}

static const struct {
    const char *theirs, *name;
    lm_dtype    ours;
} types[] = { { "Float", "f32", LM_F32 },      { "Half", "f16", LM_F16 },
              { "BFloat16", "bf16", LM_BF16 }, { "Double", "f64", LM_F64 },
              { "Int", "i32", LM_I32 },        { "Char", "i8", LM_I8 } };

static size_t type_of(const char *theirs)
{
    size_t t = 0;

    while (t < sizeof types / sizeof types[0] && strcmp(types[t].theirs, theirs) != 0)
        t++;
    return t;
}

static bool whole(double x)
{
    return x >= 1 && x < 1e12 && x == floor(x);
}

static lm_status take_step(stream *s, reader *r, const event *e)
{
    char         *end;
    const int64_t number = strtoll(strchr(e->name, '#') + 1, &end, 10);

    if (*end || !isfinite(e->start) || !(e->length > 0) || r->n_steps == TIMES_MAX) {
        r->out->n_broken++;
        return LM_OK;
    }
    if (!array_grow(&r->step, r->n_steps, &r->step_room, sizeof *r->step))
        return no_memory(s->err);
    r->step[r->n_steps++] = (step){ number, e->start, e->length };
    return LM_OK;
}

static lm_status take_collective(stream *s, reader *r, const event *e)
{
    const size_t t = type_of(e->dtype);

    if (!strstr(e->name, "AllReduce")) {
        r->out->n_other++;
        return LM_OK;
    }
    if (!whole(e->elements) || !whole(e->ranks) || t == sizeof types / sizeof types[0] ||
        !(e->length > 0) || r->n_messages == TIMES_MAX) {
        r->out->n_broken++;
        return LM_OK;
    }
    if (!array_grow(&r->message, r->n_messages, &r->message_room, sizeof *r->message))
        return no_memory(s->err);
    r->message[r->n_messages++] =
        (message){ (int64_t)e->elements * (int64_t)lm_dtype_bytes(types[t].ours), (int64_t)e->ranks,
                   types[t].ours, 1e-6 * e->length };
    return LM_OK;
}

/* The CPU's annotation of a step lasts until the next one; the GPU's only while it works. */
static lm_status take_event(stream *s, reader *r, const event *e)
{
    if (strcmp(e->phase, "X") != 0)
        return LM_OK;
    if (!strncmp(e->name, "ProfilerStep#", strlen("ProfilerStep#")) &&
        strcmp(e->category, "gpu_user_annotation") != 0)
        return take_step(s, r, e);
    if (!strcmp(e->category, "kernel") && !strncmp(e->name, "nccl", 4))
        return take_collective(s, r, e);
    return LM_OK;
}

/* Behind the opening bracket. */
static lm_status read_events(stream *s, reader *r)
{
    int c = token(s);

    r->has_events = true;
    while (c != ']') {
        event     e = { .start = NAN, .length = NAN, .elements = NAN, .ranks = NAN };
        lm_status status;

        if (c != '{')
            return damaged(s, c == EOF ? "cut short" : "expected an event");
        if ((status = each_member(s, take_field, &e)) || (status = take_event(s, r, &e)))
            return status;
        c = token(s);
        if (c == ',')
            c = token(s);
        else if (c != ']')
            return damaged(s, c == EOF ? "cut short" : "expected a comma");
    }
    return LM_OK;
}

static lm_status take_world(stream *s, const char *key, int c, void *context)
{
    reader *r = context;

    return strcmp(key, "world_size") != 0 ? skip(s, c) : take_number(s, c, &r->world);
}

static lm_status take_top(stream *s, const char *key, int c, void *context)
{
    reader *r = context;

    if (!strcmp(key, "traceEvents") && c == '[')
        return read_events(s, r);
    if (!strcmp(key, "distributedInfo") && c == '{')
        return each_member(s, take_world, r);
    return skip(s, c);
}

static lm_status read_trace(stream *s, reader *r)
{
    const int c      = token(s);
    lm_status status = c == '{'   ? each_member(s, take_top, r)
                       : c == '[' ? read_events(s, r)
                                  : damaged(s, "expected an object");

    if (!status && !r->has_events)
        status = damaged(s, "no traceEvents");
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
    const step *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

static int by_message(const void *a, const void *b)
{
    const message *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->ranks != y->ranks)
        return x->ranks < y->ranks ? -1 : 1;
    if (x->dtype != y->dtype)
        return x->dtype < y->dtype ? -1 : 1;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* From the beginning of each step to that of the next; of a single one its own length. */
static lm_status add_steps(stream *s, reader *r, const extrap_options *given)
{
    double       *seconds = calloc(r->n_steps + 1, sizeof *seconds);
    extrap_series series  = { .name   = extrap_renamed(&given->regions, KINETO_STEP),
                              .metric = "step",
                              .said   = given->fixed };
    size_t        n       = 0;
    observation   row;
    bool          none;
    lm_status     status = LM_OK;

    if (!seconds)
        return no_memory(s->err);
    qsort(r->step, r->n_steps, sizeof *r->step, by_number);
    for (size_t i = 0; i + 1 < r->n_steps; i++)
        if (r->step[i + 1].number == r->step[i].number + 1 &&
            r->step[i + 1].start > r->step[i].start)
            seconds[n++] = 1e-6 * (r->step[i + 1].start - r->step[i].start);
    if (!n)
        seconds[n++] = 1e-6 * r->step[0].length;
    if (whole(r->world) && !series.said.count[EXTRAP_RANKS])
        series.said.count[EXTRAP_RANKS] = (int64_t)r->world;
    if (!strcmp(series.name, KINETO_STEP))
        status = lm_error_set(s->err, LM_E_ARG,
                              "%s: %zu steps, but of which network? Give --region " KINETO_STEP
                              "=NETWORK --fixed batch=N",
                              s->path, r->n_steps);
    else if ((status = extrap_row(&series, given, seconds, n, &row, &none, s->err)))
        lm_error_prefix(s->err, "%s", s->path);
    else
        status = log_add(r->out, &row, s->err);
    free(seconds);
    return status;
}

/* The least time of each size: a kernel begins before the slowest rank is there, and waits for it. */
static lm_status add_messages(stream *s, reader *r, const extrap_options *given)
{
    lm_status status = LM_OK;

    qsort(r->message, r->n_messages, sizeof *r->message, by_message);
    for (size_t i = 0, end; i < r->n_messages && !status; i = end) {
        const message *m      = &r->message[i];
        extrap_series  series = { .name = "allreduce", .metric = "sync", .said = given->fixed };
        double         least  = m->seconds;
        observation    row;
        bool           none;

        for (end = i + 1; end < r->n_messages && r->message[end].bytes == m->bytes &&
                          r->message[end].ranks == m->ranks && r->message[end].dtype == m->dtype;
             end++)
            ;
        series.said.text[EXTRAP_KIND]      = "collective";
        series.said.text[EXTRAP_INPUT]     = NULL;
        series.said.text[EXTRAP_OPTIMIZER] = NULL;
        series.said.count[EXTRAP_BATCH]    = 0;
        series.said.count[EXTRAP_BYTES]    = m->bytes;
        series.said.count[EXTRAP_RANKS]    = m->ranks;
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
            if (types[t].ours == m->dtype)
                series.said.text[EXTRAP_DTYPE] = types[t].name;
        if (m->ranks < 2)
            continue;
        if ((status = extrap_row(&series, given, &least, 1, &row, &none, s->err))) {
            lm_error_prefix(s->err, "%s", s->path);
            continue;
        }
        row.repeats = (int64_t)(end - i);
        status      = log_add(r->out, &row, s->err);
    }
    return status;
}

lm_status kineto_read(const char *path, const extrap_options *given, log_rows *out, lm_error *err)
{
    stream      *s      = calloc(1, sizeof *s);
    reader       r      = { .out = out, .world = NAN };
    const size_t before = out->n_rows;
    lm_status    status = s ? LM_OK : no_memory(err);

    if (status)
        return status;
    s->path = path;
    s->err  = err;
    s->file = fopen(path, "r");
    if (!s->file)
        status = lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
    if (!status)
        status = read_trace(s, &r);
    if (!status && r.n_steps)
        status = add_steps(s, &r, given);
    if (!status && r.n_messages)
        status = add_messages(s, &r, given);
    if (!status && out->n_rows == before)
        status =
            lm_error_set(err, LM_E_SYNTAX,
                         "%s: neither steps (" KINETO_STEP "#N) nor all-reduces of NCCL in it: "
                         "call the profiler's step() in the loop",
                         path);
    out->tool       = "PyTorch profiler";
    out->statistics = "seconds: of steps the median from one beginning to the next; of all-reduces "
                      "the least, since others wait for the slowest rank";
    if (s->file)
        fclose(s->file);
    free(s);
    free(r.step);
    free(r.message);
    return status;
}
