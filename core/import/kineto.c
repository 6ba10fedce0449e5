/* Traces of PyTorch's profiler: Chrome's JSON as Kineto writes it, read as a stream.
 *
 *   { "distributedInfo": { "world_size": 8, ... }, "traceEvents": [
 *     { "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "ts": 1.5, "dur": 2.5, ... },
 *     { "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", "ts": ..., "dur": ...,
 *       "args": { "In msg nelems": 1024, "dtype": "Float", "Group size": 8, ... } }, ... ] }
 *
 * Times are microseconds. Everything else is passed over. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/jstream.h"
#include "import/profile.h"

typedef struct event {
    char   phase[4], category[32], name[96], dtype[24];
    double start, length, elements, ranks; /* microseconds; NAN: not told */
} event;

typedef struct reader {
    profile  *seen;
    log_rows *out;
    bool      has_events;
} reader;

static lm_status take_argument(jstream *s, const char *key, int c, void *context)
{
    event *e = context;

    if (!strcmp(key, "In msg nelems"))
        return jstream_number(s, c, &e->elements);
    if (!strcmp(key, "Group size"))
        return jstream_number(s, c, &e->ranks);
    if (!strcmp(key, "dtype"))
        return jstream_text(s, c, e->dtype, sizeof e->dtype);
    return jstream_skip(s, c);
}

static lm_status take_field(jstream *s, const char *key, int c, void *context)
{
    event *e = context;

    if (!strcmp(key, "ph"))
        return jstream_text(s, c, e->phase, sizeof e->phase);
    if (!strcmp(key, "cat"))
        return jstream_text(s, c, e->category, sizeof e->category);
    if (!strcmp(key, "name"))
        return jstream_text(s, c, e->name, sizeof e->name);
    if (!strcmp(key, "ts"))
        return jstream_number(s, c, &e->start);
    if (!strcmp(key, "dur"))
        return jstream_number(s, c, &e->length);
    if (!strcmp(key, "args") && c == '{')
        return jstream_members(s, take_argument, e);
    return jstream_skip(s, c);
}

/* 0: none that has a name here. */
static lm_dtype type_of(const char *theirs)
{
    static const struct {
        const char *theirs;
        lm_dtype    ours;
    } types[] = { { "Float", LM_F32 },  { "Half", LM_F16 }, { "BFloat16", LM_BF16 },
                  { "Double", LM_F64 }, { "Int", LM_I32 },  { "Char", LM_I8 } };

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        if (!strcmp(types[t].theirs, theirs))
            return types[t].ours;
    return 0;
}

static lm_status take_collective(reader *r, const event *e, lm_error *err)
{
    const lm_dtype dtype = type_of(e->dtype);

    if (!strstr(e->name, "AllReduce")) {
        r->out->n_other++;
        return LM_OK;
    }
    return profile_add_message(r->seen, dtype ? e->elements * (double)lm_dtype_bytes(dtype) : NAN,
                               profile_whole(e->ranks) ? e->ranks : NAN, dtype, e->length / 1e6,
                               err);
}

/* The CPU's annotation of a step lasts until the next one; the GPU's only while it works. */
static lm_status take_event(reader *r, const event *e, lm_error *err)
{
    const size_t n      = strlen(KINETO_STEP "#");
    int64_t      number = -1;
    size_t       region;

    if (strcmp(e->phase, "X") != 0)
        return LM_OK;
    if (!strcmp(e->category, "kernel") && !strncmp(e->name, "nccl", 4))
        return take_collective(r, e, err);
    if (!strcmp(e->category, "kernel") || !strcmp(e->category, "gpu_user_annotation"))
        return LM_OK;
    region = profile_region(r->seen, e->name, &number);
    if (region == PROFILE_NONE && strncmp(e->name, KINETO_STEP "#", n) != 0)
        return LM_OK;
    return profile_add_step(r->seen, region, 0,
                            region == PROFILE_NONE ? atoll(e->name + n) : number, e->start,
                            e->length, err);
}

/* Behind the opening bracket. */
static lm_status read_events(jstream *s, reader *r)
{
    int c = jstream_token(s);

    r->has_events = true;
    while (c != ']') {
        event     e = { .start = NAN, .length = NAN, .elements = NAN, .ranks = NAN };
        lm_status status;

        if (c != '{')
            return jstream_damaged(s, c == EOF ? "cut short" : "expected an event");
        if ((status = jstream_members(s, take_field, &e)) || (status = take_event(r, &e, s->err)))
            return status;
        c = jstream_token(s);
        if (c == ',')
            c = jstream_token(s);
        else if (c != ']')
            return jstream_damaged(s, c == EOF ? "cut short" : "expected a comma");
    }
    return LM_OK;
}

static lm_status take_world(jstream *s, const char *key, int c, void *context)
{
    reader   *r     = context;
    double    world = NAN;
    lm_status status;

    if (strcmp(key, "world_size") != 0)
        return jstream_skip(s, c);
    status = jstream_number(s, c, &world);
    profile_world(r->seen, world);
    return status;
}

static lm_status take_top(jstream *s, const char *key, int c, void *context)
{
    reader *r = context;

    if (!strcmp(key, "traceEvents") && c == '[')
        return read_events(s, r);
    if (!strcmp(key, "distributedInfo") && c == '{')
        return jstream_members(s, take_world, r);
    return jstream_skip(s, c);
}

static lm_status read_trace(jstream *s, reader *r)
{
    const int c      = jstream_token(s);
    lm_status status = c == '{'   ? jstream_members(s, take_top, r)
                       : c == '[' ? read_events(s, r)
                                  : jstream_damaged(s, "expected an object");

    if (!status && !r->has_events)
        status = jstream_damaged(s, "no traceEvents");
    return status;
}

lm_status kineto_read(const char *path, const extrap_options *given, const registry *reg,
                      log_rows *out, lm_error *err)
{
    jstream  *s = NULL;
    reader    r = { .out = out };
    lm_status status =
        jstream_open(path, "no trace of PyTorch's profiler, or a damaged one", &s, err);

    if (status || (status = profile_open(path, given, reg, out, &r.seen, err)))
        goto out;
    profile_unit(r.seen, 1e6);
    if ((status = read_trace(s, &r)))
        goto out;
    status          = profile_rows(r.seen, KINETO_STEP,
                                   "neither steps (" KINETO_STEP "#N) nor all-reduces of NCCL in it: "
                                            "call the profiler's step() in the loop",
                                   err);
    out->tool       = "PyTorch profiler";
    out->statistics = "seconds: of steps the median from one beginning to the next; of all-reduces "
                      "the least, since others wait for the slowest rank";
out:
    profile_close(r.seen);
    jstream_close(s);
    return status;
}
