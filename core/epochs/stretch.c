/* Stretches of a level, and how alike parts of them are. */
#include "epochs/stretch.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"

#define BINS_MIN 24
#define WORK     1.0e8 /* bins of the level times bins of a period */

size_t stretch_level(const series *s, double seconds, double bins)
{
    const double span = s->active_to - s->active_from;
    const double most = fmax(BINS_MIN, fmin(bins, sqrt(WORK / fmax(1, span / seconds))));
    size_t       l    = 0;

    while (l + 1 < s->n_levels && seconds / s->level[l].step > most)
        l++;
    return l;
}

static double usual_scatter(const stretch *s)
{
    double value[512];
    size_t n = 0;

    for (size_t k = 0; k < 512; k++) {
        const size_t from = s->n > s->width ? k * (s->n - s->width) / 511 : 0;
        double       sum = 0, squares = 0;

        for (size_t i = from; i < from + s->width && i < s->n; i++)
            sum += (double)s->x[i];
        sum /= (double)s->width;
        for (size_t i = from; i < from + s->width && i < s->n; i++)
            squares += ((double)s->x[i] - sum) * ((double)s->x[i] - sum);
        value[n++] = sqrt(squares);
    }
    {
        const double median = stats_quantile(value, n, 0.5), high = stats_quantile(value, n, 0.9);

        return median > 0 ? median : high > 0 ? high : 1;
    }
}

lm_status stretch_open(const series *s, size_t level, bool events, size_t from, size_t to,
                       double seconds, float **own, stretch *out, lm_error *err)
{
    const series_level *l = &s->level[level];

    *own = events ? series_events(l) : NULL;
    if (events && !*own)
        return no_memory(err);
    *out         = (stretch){ (events ? *own : l->x) + from, to - from, 0, seconds / l->step, 0 };
    out->width   = 2 * (size_t)fmax(2, round(out->period / 2));
    out->scatter = 1;
    if (out->n >= out->width)
        out->scatter = usual_scatter(out);
    return LM_OK;
}

stretch stretch_middle(const stretch *s, double periods)
{
    const size_t n    = (size_t)(periods * s->period);
    stretch      part = *s;

    if (n < s->n) {
        part.x += (s->n - n) / 2;
        part.n = n;
    }
    return part;
}

/* An interval's values at `width` equal steps. */
static void resample(const stretch *s, double from, double to, double *out)
{
    for (size_t i = 0; i < s->width; i++) {
        const double place = from + (to - from) * ((double)i + 0.5) / (double)s->width - 0.5;
        const long   below = (long)floor(place);
        const double part  = place - (double)below;

        out[i] =
            (1 - part) * (double)stretch_at(s, below) + part * (double)stretch_at(s, below + 1);
    }
}

static double correlation(const double *a, const double *b, size_t n)
{
    double ma = 0, mb = 0, ab = 0, aa = 0, bb = 0;

    for (size_t i = 0; i < n; i++) {
        ma += a[i] / (double)n;
        mb += b[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        ab += (a[i] - ma) * (b[i] - mb);
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

lm_status stretch_alike(const stretch *s, const double *place, size_t n, double *alike,
                        double *mean, lm_error *err)
{
    double *sum = calloc(3 * s->width, sizeof *sum), *own = sum ? sum + s->width : NULL,
           *rest = own ? own + s->width : NULL;

    if (!sum)
        return no_memory(err);
    for (size_t k = 0; k < n; k++) {
        resample(s, place[2 * k], place[2 * k + 1], own);
        for (size_t i = 0; i < s->width; i++)
            sum[i] += own[i];
    }
    for (size_t k = 0; k < n; k++) {
        resample(s, place[2 * k], place[2 * k + 1], own);
        for (size_t i = 0; i < s->width; i++)
            rest[i] = sum[i] - own[i];
        alike[k] = n > 1 ? fmin(1, fmax(0, correlation(own, rest, s->width))) : 0;
    }
    for (size_t i = 0; mean && i < s->width; i++)
        mean[i] = sum[i] / (double)n;
    free(sum);
    return LM_OK;
}
