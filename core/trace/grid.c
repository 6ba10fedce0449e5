/* Samples at any times into bins of equal length. */
#include "trace/grid.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"

#define PARTS    32
#define PER_PART 2048 /* differences that a median is taken of */
/* Sampling changes within a trace, if medians of its parts differ by more than this factor. */
#define MIXED 2.0
/* A gap shorter than this many intervals is bridged in any case. */
#define SHORT_GAP 50.0

/* Median step between samples from..to, of those that move on at all; 0: none does. */
static double median_interval(const double *time, size_t from, size_t to)
{
    const size_t every = (to - from) / PER_PART + 1;
    double       step[PER_PART + 2];
    size_t       n = 0;

    for (size_t i = from; i + 1 < to && n < PER_PART; i += every)
        step[n++] = time[i + 1] - time[i];
    return n ? stats_quantile(step, n, 0.5) : 0;
}

/* Several samples may bear the same time, where clocks count seconds: then the mean. */
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
    if (!(out->step > 0)) /* what is left when the gaps are cut away may be one moment */
        return no_times(g, err);
    out->start = g->time[from] - 0.5 * out->step; /* samples in the middle of their bins */
    return fill(g, from, to, out, err);
}

void trace_grid_free(trace_grid *grid)
{
    free(grid->x);
    grid->x = NULL;
}
