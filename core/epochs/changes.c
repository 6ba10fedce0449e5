/* Method `changepoints`: PELT segments of equal mean, split into two classes by level. An epoch
 * begins where the rarer class ends. */
#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "epochs/methods.h"
#include "epochs/series.h"

/* ---- PELT ------------------------------------------------------------------------------------ */

typedef struct sums {
    double *sum, *squares; /* of the first i values */
} sums;

static double cost(const sums *s, size_t from, size_t to)
{
    const double d = s->sum[to] - s->sum[from];

    return s->squares[to] - s->squares[from] - d * d / (double)(to - from);
}

/* best[i]: of the first i values; last[i]: where its last segment begins. */
static void segment(const sums *s, size_t n, double penalty, size_t shortest, double *best,
                    size_t *last, size_t *open)
{
    size_t n_open = 0;

    best[0] = -penalty;
    for (size_t i = 1; i < shortest && i <= n; i++)
        best[i] = INFINITY;
    for (size_t to = shortest; to <= n; to++) {
        size_t kept = 0;

        open[n_open++] = to - shortest;
        best[to]       = INFINITY;
        for (size_t k = 0; k < n_open; k++) {
            const double c = best[open[k]] + cost(s, open[k], to) + penalty;

            if (c < best[to]) {
                best[to] = c;
                last[to] = open[k];
            }
        }
        for (size_t k = 0; k < n_open; k++) /* drops places that cannot become the best any more */
            if (best[open[k]] + cost(s, open[k], to) <= best[to])
                open[kept++] = open[k];
        n_open = kept;
    }
}

lm_status pelt(const float *x, size_t n, double penalty, size_t shortest, size_t **end,
               size_t *n_end, lm_error *err)
{
    double *memory = malloc(3 * (n + 1) * sizeof *memory);
    size_t *places = malloc(2 * (n + 1) * sizeof *places), *out = malloc((n + 1) * sizeof *out);
    sums    s     = { memory, memory ? memory + n + 1 : NULL };
    size_t  count = 0;

    if (!memory || !places || !out) {
        free(memory);
        free(places);
        free(out);
        return no_memory(err);
    }
    s.sum[0] = s.squares[0] = 0;
    for (size_t i = 0; i < n; i++) {
        s.sum[i + 1]     = s.sum[i] + (double)x[i];
        s.squares[i + 1] = s.squares[i] + (double)x[i] * (double)x[i];
    }
    segment(&s, n, penalty, shortest, memory + 2 * (n + 1), places, places + n + 1);
    if (n < shortest)
        out[count++] = n;
    for (size_t i = n; n >= shortest && i > 0; i = places[i])
        out[count++] = i;
    for (size_t i = 0; i < count / 2; i++) {
        const size_t t     = out[i];
        out[i]             = out[count - 1 - i];
        out[count - 1 - i] = t;
    }
    free(memory);
    free(places);
    *end   = out;
    *n_end = count;
    return LM_OK;
}

/* ---- the method ------------------------------------------------------------------------------ */

#define BINS_MAX 16384 /* of the level that is segmented */
#define PENALTY  3.0   /* in variances of the noise, times the logarithm of the number of bins */
#define SHORTEST 2

/* Variance of the noise: from differences of neighbours, which changes of level hardly touch. */
static double noise_of(const float *x, size_t n, lm_error *err, lm_status *status)
{
    double *d = malloc(2 * n * sizeof *d), mad;

    if (!d) {
        *status = no_memory(err);
        return 0;
    }
    for (size_t i = 0; i + 1 < n; i++)
        d[i] = (double)(x[i + 1] - x[i]);
    mad = stats_mad(d, d + n, n - 1) / 0.6744897501960817; /* of a normal distribution */
    free(d);
    return 0.5 * mad * mad;
}

typedef struct segments {
    const size_t *end;
    size_t        n;
    double       *mean;
} segments;

static size_t length_of(const segments *s, size_t i)
{
    return s->end[i] - (i ? s->end[i - 1] : 0);
}

/* The level that splits the segments into two classes whose means are
 * furthest apart (Otsu 1979). */
static double threshold_of(const segments *s)
{
    double best = 0, threshold = NAN;

    for (size_t t = 0; t < s->n; t++) {
        double sum[2] = { 0, 0 }, weight[2] = { 0, 0 }, between;

        for (size_t i = 0; i < s->n; i++) {
            const int high = s->mean[i] > s->mean[t];

            sum[high] += s->mean[i] * (double)length_of(s, i);
            weight[high] += (double)length_of(s, i);
        }
        if (!(weight[0] > 0) || !(weight[1] > 0))
            continue;
        between = weight[0] * weight[1] * pow(sum[0] / weight[0] - sum[1] / weight[1], 2);
        if (between > best) {
            best      = between;
            threshold = s->mean[t];
        }
    }
    return threshold;
}

/* Where runs of the rarer class end. */
static size_t places_of(const segments *s, double threshold, double start, double step,
                        double *place)
{
    size_t high = 0, total = s->end[s->n - 1], n = 0;
    bool   rarer_is_high;

    for (size_t i = 0; i < s->n; i++)
        high += s->mean[i] > threshold ? length_of(s, i) : 0;
    rarer_is_high = 2 * high < total;
    for (size_t i = 0; i + 1 < s->n; i++)
        if ((s->mean[i] > threshold) == rarer_is_high &&
            (s->mean[i + 1] > threshold) != rarer_is_high)
            place[n++] = start + step * (double)s->end[i];
    return n;
}

static lm_status from_segments(const trace_grid *g, const series *s, const series_level *l,
                               size_t from, segments *seg, epochs *out, lm_error *err)
{
    double   *place = malloc((seg->n + 1) * sizeof *place);
    size_t    n;
    lm_status status;

    if (!place)
        return no_memory(err);
    n = places_of(seg, threshold_of(seg), s->start + l->step * (double)from, l->step, place);
    if (n < 3) {
        status = lm_error_set(err, LM_E_NOTFOUND,
                              "changepoints: the usual level is left %zu time%s: no two epochs", n,
                              n == 1 ? "" : "s");
    } else {
        const found_places f = { place, NULL, n - 1, s->active_from, s->active_to, l->step };

        status = label_epochs(g, &f, out, err);
    }
    free(place);
    return status;
}

lm_status epochs_by_changes(const trace_grid *g, const series *s, epochs *out, lm_error *err)
{
    size_t              level = 0, from, n;
    const series_level *l;
    segments            seg = { NULL, 0, NULL };
    size_t             *end = NULL;
    double              noise;
    lm_status           status = LM_OK;

    while (s->level[level].n > BINS_MAX)
        level++;
    l    = &s->level[level];
    from = series_bin(s, level, s->active_from);
    n    = series_bin(s, level, s->active_to) - from;
    if (n < 2 * SHORTEST)
        return lm_error_set(err, LM_E_NOTFOUND, "changepoints: %zu samples are too few", n);
    noise = noise_of(l->x + from, n, err, &status);
    if (!status)
        status = pelt(l->x + from, n, PENALTY * noise * log((double)n) + 1e-12, SHORTEST, &end,
                      &seg.n, err);
    if (status)
        return status;
    seg.end  = end;
    seg.mean = malloc(seg.n * sizeof *seg.mean);
    for (size_t i = 0; seg.mean && i < seg.n; i++) {
        double sum = 0;

        for (size_t k = i ? end[i - 1] : 0; k < end[i]; k++)
            sum += (double)l->x[from + k];
        seg.mean[i] = sum / (double)length_of(&seg, i);
    }
    status = seg.mean ? from_segments(g, s, l, from, &seg, out, err) : no_memory(err);
    free(seg.mean);
    free(end);
    return status;
}
