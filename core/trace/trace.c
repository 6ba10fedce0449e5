/* Samples of a trace, GPU by GPU. */
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

double trace_clock_add(trace_clock *c, double time, uint64_t line)
{
    if (!c->begun) {
        c->begun = true;
        c->first = c->last = time;
    }
    if (time + c->offset < c->last) {
        const double back = c->last - (time + c->offset);

        c->n_jumps++;
        if (back > c->jump) {
            c->jump      = back;
            c->jump_line = line;
        }
        c->offset += back + c->step;
    }
    if (time + c->offset > c->last)
        c->step = time + c->offset - c->last;
    c->last = time + c->offset;
    return c->last - c->first;
}

bool trace_gpu_is(const char *name, const char *wanted)
{
    const char *slash = strrchr(name, '/');

    return !strcmp(name, wanted) || (slash && !strcmp(slash + 1, wanted));
}

static lm_status out_of_memory(lm_error *err)
{
    return no_memory(err);
}

static lm_status add(trace_gpu_series *g, const trace_sample *s, lm_error *err)
{
    if (g->n == g->room) {
        const size_t room  = g->room ? g->room + g->room / 2 : 4096;
        double      *time  = realloc(g->time, room * sizeof *time);
        float       *value = time ? realloc(g->value, room * sizeof *value) : NULL;

        g->time = time ? time : g->time;
        if (!value)
            return out_of_memory(err);
        g->value = value;
        g->room  = room;
    }
    if (!g->n) {
        g->began      = s->time;
        g->first_line = s->line;
    }
    g->time[g->n]  = trace_clock_add(&g->clock, s->time, s->line);
    g->value[g->n] = s->value;
    g->n_missing += isnan(s->value) ? 1 : 0;
    g->last_line = s->line;
    g->n++;
    return LM_OK;
}

static lm_status make_room(trace *t, const trace_reader *r, lm_error *err)
{
    const size_t      n    = trace_reader_gpus(r);
    trace_gpu_series *more = n > t->n_gpus ? realloc(t->gpu, n * sizeof *more) : t->gpu;

    if (!more)
        return out_of_memory(err);
    t->gpu = more;
    for (; t->n_gpus < n; t->n_gpus++) {
        memset(&t->gpu[t->n_gpus], 0, sizeof *t->gpu);
        snprintf(t->gpu[t->n_gpus].name, TRACE_NAME_MAX, "%s", trace_reader_gpu(r, t->n_gpus));
    }
    return LM_OK;
}

static lm_status read_all(trace *t, trace_reader *r, const char *gpu, lm_error *err)
{
    trace_sample s;
    bool         more;
    lm_status    status;

    while (!(status = trace_reader_next(r, &s, &more, err)) && more) {
        if (s.gpu >= t->n_gpus && (status = make_room(t, r, err)))
            return status;
        if (gpu && !trace_gpu_is(t->gpu[s.gpu].name, gpu)) {
            t->gpu[s.gpu].last_line = s.line;
            continue;
        }
        if ((status = add(&t->gpu[s.gpu], &s, err)))
            return status;
    }
    return status;
}

/* Times of all GPUs since the first sample of any. */
static void align(trace *t)
{
    double first = INFINITY;

    for (size_t i = 0; i < t->n_gpus; i++)
        if (t->gpu[i].n)
            first = fmin(first, t->gpu[i].began);
    for (size_t i = 0; i < t->n_gpus; i++) {
        trace_gpu_series *g = &t->gpu[i];

        if (g->n && g->began > first)
            for (size_t k = 0; k < g->n; k++)
                g->time[k] += g->began - first;
    }
}

static lm_status check_there(const trace *t, const char *gpu, lm_error *err)
{
    char   names[200] = "";
    size_t used       = 0;

    for (size_t i = 0; i < t->n_gpus; i++) {
        if (t->gpu[i].n)
            return LM_OK;
        if (used < sizeof names - TRACE_NAME_MAX - 4)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     t->gpu[i].name);
    }
    if (t->n_gpus && gpu)
        return lm_error_set(err, LM_E_NOTFOUND, "%s: no GPU '%.40s': there are %s", t->path, gpu,
                            names);
    return lm_error_set(err, LM_E_SYNTAX, "%s: has no samples%s%s", t->path,
                        *t->metric ? " of " : "", t->metric);
}

lm_status trace_load(const char *path, const trace_question *q, trace **out, lm_error *err)
{
    trace        *t = calloc(1, sizeof *t);
    trace_reader *r = NULL;
    lm_status     status;

    if (!t)
        return out_of_memory(err);
    status = trace_reader_open(path, q, &r, err);
    if (!status) {
        snprintf(t->path, sizeof t->path, "%s", trace_reader_path(r));
        t->format = trace_reader_format(r);
        status    = read_all(t, r, q->gpu, err);
    }
    if (!status) {
        snprintf(t->metric, sizeof t->metric, "%s", trace_reader_metric(r));
        snprintf(t->unit, sizeof t->unit, "%.31s", trace_reader_unit(r));
        t->timed     = trace_reader_timed(r);
        t->cut_short = trace_reader_cut_short(r);
        align(t);
        status = check_there(t, q->gpu, err);
    }
    trace_reader_close(r);
    if (status) {
        trace_free(t);
        return status;
    }
    *out = t;
    return LM_OK;
}

void trace_free(trace *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_gpus; i++) {
        free(t->gpu[i].time);
        free(t->gpu[i].value);
    }
    free(t->gpu);
    free(t);
}
