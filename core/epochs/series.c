/* Pyramid of a metric. */
#include "epochs/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"

#define LEAST_BINS 8
#define SAMPLED    20000 /* values that quantiles are taken of */
/* At idle: below this part of the way from the lowest to the usual high value. */
#define FAR  2.5 /* robust standard deviations */
#define IDLE 0.25

static void interpolate(float *x, size_t n)
{
    size_t last = n; /* n: none yet */

    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i]))
            continue;
        for (size_t k = last == n ? 0 : last + 1; k < i; k++)
            x[k] = last == n ? x[i]
                             : x[last] + (x[i] - x[last]) * (float)(k - last) / (float)(i - last);
        last = i;
    }
    for (size_t k = last + 1; last < n && k < n; k++)
        x[k] = x[last];
}

static void cut(float *x, size_t n, float low, float high)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] < low ? low : x[i] > high ? high : x[i];
}

/* Half of the resolution, out[i] over in[2i - 1 .. 2i + 2]. */
static void halve(const float *in, size_t n, float *out)
{
    const size_t half = n / 2;

    for (size_t i = 0; i < half; i++) {
        const float before = in[i ? 2 * i - 1 : 0];
        const float after  = in[2 * i + 2 < n ? 2 * i + 2 : n - 1];

        out[i] = 0.125F * (before + after) + 0.375F * (in[2 * i] + in[2 * i + 1]);
    }
}

static void quantiles(const float *x, size_t n, double *q, const double *at, size_t n_at)
{
    const size_t every = n / SAMPLED + 1;
    double      *value = malloc((n / every + 1) * sizeof *value);
    size_t       k     = 0;

    for (size_t i = 0; value && i < n; i += every)
        value[k++] = (double)x[i];
    for (size_t i = 0; i < n_at; i++)
        q[i] = value ? stats_quantile(value, k, at[i]) : (double)x[0];
    free(value);
}

/* Idle time at both ends: runs of at least `least` bins below a level. */
static void find_active(series *s, double level)
{
    size_t at = s->n_levels - 1, from = 0, to;

    while (at > 0 && s->level[at].n < 1024)
        at--;
    to = s->level[at].n;
    while (from < to && (double)s->level[at].x[from] < level)
        from++;
    while (to > from && (double)s->level[at].x[to - 1] < level)
        to--;
    s->active_from = s->start + s->level[at].step * (double)from;
    s->active_to   = s->start + s->level[at].step * (double)to;
}

lm_status series_of(const trace_grid *g, series *out, lm_error *err)
{
    static const double at[] = { 0.001, 0.01, 0.9, 0.999 };
    double              q[4];
    size_t              n = g->n, used = g->n;

    *out = (series){ .start = g->start };
    if (g->n < 2 * LEAST_BINS)
        return lm_error_set(err, LM_E_NOTFOUND, "%zu samples are too few to see epochs", g->n);
    if (2 * g->n_missing > g->n)
        return lm_error_set(err, LM_E_NOTFOUND, "%.0f %% of the samples are missing",
                            100 * (double)g->n_missing / (double)g->n);
    out->memory = malloc(2 * g->n * sizeof *out->memory);
    if (!out->memory)
        return no_memory(err);
    memcpy(out->memory, g->x, g->n * sizeof *g->x);
    interpolate(out->memory, n);
    quantiles(out->memory, n, q, at, 4);
    if (q[3] > q[0]) /* a dip that is rarer than one in a thousand must not be cut off */
        cut(out->memory, n, (float)(q[0] - (q[3] - q[0])), (float)(q[3] + (q[3] - q[0])));
    out->level[0] = (series_level){ out->memory, n, g->step };
    for (out->n_levels = 1; n / 2 >= LEAST_BINS && out->n_levels < SERIES_LEVELS_MAX;
         out->n_levels++) {
        halve(out->level[out->n_levels - 1].x, n, out->memory + used);
        n /= 2;
        out->level[out->n_levels] =
            (series_level){ out->memory + used, n, 2 * out->level[out->n_levels - 1].step };
        used += n;
    }
    out->lowest = out->highest = out->memory[0];
    for (size_t i = 0; i < g->n; i++) {
        out->lowest  = fminf(out->lowest, out->memory[i]);
        out->highest = fmaxf(out->highest, out->memory[i]);
    }
    if (!(out->highest > out->lowest)) {
        const double constant = (double)out->lowest;

        series_free(out);
        return lm_error_set(err, LM_E_NOTFOUND, "it is constant (%.6g)", constant);
    }
    find_active(out, q[1] + IDLE * (q[2] - q[1]));
    return LM_OK;
}

float *series_events(const series_level *l)
{
    const size_t every = l->n / SAMPLED + 1;
    double      *value = malloc(2 * (l->n / every + 1) * sizeof *value);
    float       *out   = malloc(l->n * sizeof *out);
    size_t       n     = 0;
    float        median, threshold;

    if (!value || !out) {
        free(value);
        free(out);
        return NULL;
    }
    for (size_t i = 0; i < l->n; i += every)
        value[n++] = (double)l->x[i];
    median    = (float)stats_quantile(value, n, 0.5);
    threshold = (float)(FAR * 1.4826 * stats_mad(value, value + n, n));
    for (size_t i = 0; i < l->n; i++) {
        const float d = l->x[i] - median;

        out[i] = d > threshold ? d - threshold : d < -threshold ? d + threshold : 0;
    }
    free(value);
    return out;
}

void series_free(series *s)
{
    free(s->memory);
    s->memory = NULL;
}

size_t series_bin(const series *s, size_t level, double time)
{
    const double bin = (time - s->start) / s->level[level].step;

    return bin <= 0 ? 0 : bin >= (double)s->level[level].n ? s->level[level].n : (size_t)bin;
}
