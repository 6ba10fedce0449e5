/* Samples of a trace, GPU by GPU; bins of equal length. */
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "trace/formats.h"

/* ---- equal steps ----------------------------------------------------------------------------- */

#define PARTS    32
#define PER_PART 2048 /* differences for a median */
/* Sampling changes within a trace, if medians of its parts differ by more than this factor. */
#define MIXED 2.0
/* A gap shorter than this many intervals is bridged in any case. */
#define SHORT_GAP 50.0

/* Median step between samples from..to; 0: fewer than two. */
static double median_interval(const double *time, size_t from, size_t to)
{
    const size_t every = (to - from) / PER_PART + 1;
    double       step[PER_PART + 2];
    size_t       n = 0;

    for (size_t i = from; i + 1 < to && n < PER_PART; i += every)
        step[n++] = time[i + 1] - time[i];
    return n ? stats_quantile(step, n, 0.5) : 0;
}

/* Several samples may have the same time if clocks count seconds: then their mean counts. */
static double interval_of(const double *time, size_t from, size_t to)
{
    const double median = median_interval(time, from, to);

    return median > 0      ? median
           : to > from + 1 ? (time[to - 1] - time[from]) / (double)(to - from - 1)
                           : 0;
}

static void measure_parts(const trace_gpu_series *g, size_t from, size_t to, trace_grid *out)
{
    const size_t n = to - from, parts = n / 8 < PARTS ? (n / 8 ? n / 8 : 1) : PARTS;

    out->shortest = INFINITY;
    out->longest  = 0;
    for (size_t p = 0; p < parts; p++) {
        const double own = interval_of(g->time, from + p * n / parts, from + (p + 1) * n / parts);

        if (own > 0) {
            out->shortest = fmin(out->shortest, own);
            out->longest  = fmax(out->longest, own);
        }
    }
}

/* The longest part without a gap that is too long; notes the longest gap of all. */
static void longest_part(const trace_gpu_series *g, double interval, size_t *from, size_t *to,
                         trace_grid *out)
{
    const double bridged = fmax(SHORT_GAP * interval, 0.5 * interval * (double)g->n);
    size_t       begin   = 0;

    *from = *to = 0;
    for (size_t i = 1; i <= g->n; i++) {
        const double gap = i < g->n ? g->time[i] - g->time[i - 1] : INFINITY;

        if (i < g->n && gap > out->gap) {
            out->gap    = gap;
            out->gap_at = g->time[i - 1];
        }
        if (gap <= bridged)
            continue;
        if (i - begin > *to - *from) {
            *from = begin;
            *to   = i;
        }
        begin = i;
    }
    out->n_left_out = g->n - (*to - *from);
}

static lm_status no_times(const trace_gpu_series *g, lm_error *err)
{
    return lm_error_set(err, LM_E_SYNTAX, "all samples of GPU %s bear the same time", g->name);
}

static lm_status fill(const trace_gpu_series *g, size_t from, size_t to, trace_grid *out,
                      lm_error *err)
{
    double sum = 0;
    size_t n = 0, bin = 0;

    out->n = (size_t)((g->time[to - 1] - out->start) / out->step) + 1;
    out->x = malloc(out->n * sizeof *out->x);
    if (!out->x)
        return no_memory(err);
    for (size_t i = from; i <= to; i++) {
        const size_t own = i < to ? (size_t)((g->time[i] - out->start) / out->step) : out->n;

        for (; bin < own && bin < out->n; bin++) {
            out->x[bin] = n ? (float)(sum / (double)n) : NAN;
            out->n_missing += n ? 0 : 1;
            sum = 0;
            n   = 0;
        }
        if (i < to && !isnan(g->value[i])) {
            sum += (double)g->value[i];
            n++;
        }
    }
    return LM_OK;
}

lm_status trace_grid_of(const trace_gpu_series *g, trace_grid *out, lm_error *err)
{
    size_t from, to;
    double span;

    *out = (trace_grid){ 0 };
    if (g->n < 2)
        return lm_error_set(err, LM_E_SYNTAX, "GPU %s has %zu sample%s", g->name, g->n,
                            g->n == 1 ? "" : "s");
    out->interval = interval_of(g->time, 0, g->n);
    longest_part(g, out->interval, &from, &to, out);
    if (!(out->interval > 0) || to - from < 2)
        return no_times(g, err);
    out->interval = interval_of(g->time, from, to);
    span          = g->time[to - 1] - g->time[from];
    measure_parts(g, from, to, out);
    out->step = out->longest > MIXED * out->shortest ? out->longest : out->interval;
    out->step = fmax(out->step, span / (4.0 * (double)(to - from)));
    if (!(out->step > 0)) /* without its gaps a series may be a single moment */
        return no_times(g, err);
    out->start = g->time[from] - 0.5 * out->step; /* samples in the middle of their bins */
    return fill(g, from, to, out, err);
}

void trace_grid_free(trace_grid *grid)
{
    free(grid->x);
    grid->x = NULL;
}

/* ---- samples --------------------------------------------------------------------------------- */

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

static lm_status add(trace_gpu_series *g, const trace_sample *s, lm_error *err)
{
    if (!array_grow(&g->time, g->n, &(size_t){ g->room }, sizeof *g->time) ||
        !array_grow(&g->value, g->n, &g->room, sizeof *g->value))
        return no_memory(err);
    if (!g->n)
        g->began = s->time;
    g->time[g->n]  = trace_clock_add(&g->clock, s->time, s->line);
    g->value[g->n] = s->value;
    g->n_missing += isnan(s->value) ? 1 : 0;
    g->last_line = s->line;
    g->n++;
    return LM_OK;
}

static lm_status make_room(trace *t, const trace_reader *r, lm_error *err)
{
    const size_t      n    = r->n_gpus;
    trace_gpu_series *more = n > t->n_gpus ? realloc(t->gpu, n * sizeof *more) : t->gpu;

    if (!more)
        return no_memory(err);
    t->gpu = more;
    for (; t->n_gpus < n; t->n_gpus++) {
        memset(&t->gpu[t->n_gpus], 0, sizeof *t->gpu);
        snprintf(t->gpu[t->n_gpus].name, TRACE_NAME_MAX, "%s", r->gpu[t->n_gpus]);
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
    char names[200] = "";

    for (size_t i = 0; i < t->n_gpus; i++) {
        if (t->gpu[i].n)
            return LM_OK;
        if (strlen(names) < sizeof names - TRACE_NAME_MAX - 4)
            text_add(names, sizeof names, "%s%s", *names ? ", " : "", t->gpu[i].name);
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
        return no_memory(err);
    status = trace_reader_open(path, q, &r, err);
    if (!status) {
        snprintf(t->path, sizeof t->path, "%s", r->path);
        t->format = r->format->name;
        status    = read_all(t, r, q->gpu, err);
    }
    if (!status) {
        snprintf(t->metric, sizeof t->metric, "%s", r->metric);
        snprintf(t->unit, sizeof t->unit, "%.31s", r->unit);
        t->timed     = r->timed;
        t->cut_short = r->cut_short;
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
