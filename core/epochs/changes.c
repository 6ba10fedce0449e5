/*
 * Methods of levels:
 *
 *   changepoints PELT segments of equal mean, split into two classes by level. An epoch begins
 *                 where the rarer class ends ruptures every change point is a peak that counts, as
 *                 the package `ruptures` gives them (Truong, Oudre & Vayatis 2020): Hur & Lee's
 *                 comparator jenks the values by themselves in two classes, by Jenks' natural
 *                 break: theirs as well
 */
#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/order.h"
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
        for (size_t k = 0; k < n_open; k++) /* drops places that can no longer become the best */
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
        free_all(memory, places, out);
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

/* ---- the methods ----------------------------------------------------------------------------- */

#define BINS_MAX 16384 /* of the level that is segmented */
#define PENALTY  3.0   /* in variances of the noise, times the logarithm of the number of bins */
#define SHORTEST 2

/* Variance of the noise: from differences of neighbours, which changes of level hardly touch. */
static lm_status noise_of(const float *x, size_t n, double *out, lm_error *err)
{
    double *d = malloc(2 * n * sizeof *d), mad;

    if (!d)
        return no_memory(err);
    for (size_t i = 0; i + 1 < n; i++)
        d[i] = (double)(x[i + 1] - x[i]);
    mad = stats_mad(d, d + n, n - 1) / 0.6744897501960817; /* of a normal distribution */
    free(d);
    *out = 0.5 * mad * mad;
    return LM_OK;
}

typedef struct segments {
    size_t *end; /* n */
    size_t  n;
    double *mean;
} segments;

static size_t length_of(const segments *s, size_t i)
{
    return s->end[i] - (i ? s->end[i - 1] : 0);
}

typedef struct weighted {
    double mean, length;
} weighted;

ORDER_BY(by_mean, weighted, mean)

/* The level that splits the segments into the two classes with the most distant means: Jenks'
 * (1967) natural break, Otsu's (1979) threshold. */
static lm_status natural_break(const segments *s, double *out, lm_error *err)
{
    weighted *w     = malloc(s->n * sizeof *w);
    double    total = 0, length = 0, low = 0, below = 0, best = 0;

    if (!w)
        return no_memory(err);
    for (size_t i = 0; i < s->n; i++) {
        w[i] = (weighted){ s->mean[i], (double)length_of(s, i) };
        total += w[i].mean * w[i].length;
        length += w[i].length;
    }
    qsort(w, s->n, sizeof *w, by_mean);
    *out = NAN;
    for (size_t i = 0; i + 1 < s->n; i++) {
        double between;

        low += w[i].mean * w[i].length;
        below += w[i].length;
        between = below * (length - below) * pow(low / below - (total - low) / (length - below), 2);
        if (w[i].mean < w[i + 1].mean && between > best) {
            best = between;
            *out = w[i].mean;
        }
    }
    free(w);
    return LM_OK;
}

/* Bins at which runs of the rarer class end. */
static size_t rarer_ends(const segments *s, double threshold, double *bin)
{
    size_t high = 0, total = s->end[s->n - 1], n = 0;
    bool   rarer_is_high;

    for (size_t i = 0; i < s->n; i++)
        high += s->mean[i] > threshold ? length_of(s, i) : 0;
    rarer_is_high = 2 * high < total;
    for (size_t i = 0; i + 1 < s->n; i++)
        if ((s->mean[i] > threshold) == rarer_is_high &&
            (s->mean[i + 1] > threshold) != rarer_is_high)
            bin[n++] = (double)s->end[i];
    return n;
}

/* Segments of equal mean; for jenks each value is one. */
static lm_status segments_of(const float *x, size_t n, epochs_method m, segments *out,
                             lm_error *err)
{
    double    noise  = 0;
    lm_status status = LM_OK;

    if (m == EPOCHS_JENKS) {
        out->n   = n;
        out->end = malloc(n * sizeof *out->end);
        for (size_t i = 0; i < n && out->end; i++)
            out->end[i] = i + 1;
    } else if (!(status = noise_of(x, n, &noise, err))) {
        status =
            pelt(x, n, PENALTY * noise * log((double)n) + 1e-12, SHORTEST, &out->end, &out->n, err);
    }
    if (status)
        return status;
    out->mean = malloc(out->n * sizeof *out->mean);
    if (!out->mean || !out->end)
        return no_memory(err);
    for (size_t i = 0; i < out->n; i++) {
        double sum = 0;

        for (size_t k = i ? out->end[i - 1] : 0; k < out->end[i]; k++)
            sum += (double)x[k];
        out->mean[i] = sum / (double)length_of(out, i);
    }
    return LM_OK;
}

/* Bins at which epochs begin: every change of ruptures, else the ends of the rarer class. */
static lm_status begin(const segments *seg, epochs_method m, double *bin, size_t *n, lm_error *err)
{
    double          threshold = NAN;
    const lm_status status    = natural_break(seg, &threshold, err);

    if (status)
        return status;
    *n = m == EPOCHS_RUPTURES ? seg->n - 1 : rarer_ends(seg, threshold, bin);
    for (size_t i = 0; i < *n && m == EPOCHS_RUPTURES; i++)
        bin[i] = (double)seg->end[i];
    if (*n < 3)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: the usual level is left %zu time%s: no two epochs",
                            epochs_method_names[m], *n, *n == 1 ? "" : "s");
    return LM_OK;
}

static lm_status by_changes(const trace_grid *g, const series *s, epochs_method m, epochs *out,
                            lm_error *err)
{
    size_t              level = 0, from, n, n_places;
    const series_level *l;
    segments            seg   = { .end = NULL };
    double             *place = NULL;
    lm_status           status;

    while (s->level[level].n > BINS_MAX)
        level++;
    l    = &s->level[level];
    from = series_bin(s, level, s->active_from);
    n    = series_bin(s, level, s->active_to) - from;
    if (n < 2 * SHORTEST)
        return lm_error_set(err, LM_E_NOTFOUND, "%s: %zu samples are too few",
                            epochs_method_names[m], n);
    status = segments_of(l->x + from, n, m, &seg, err);
    if (!status && !(place = malloc((seg.n + 1) * sizeof *place)))
        status = no_memory(err);
    if (!status && !(status = begin(&seg, m, place, &n_places, err))) {
        for (size_t i = 0; i < n_places; i++)
            place[i] = s->start + l->step * ((double)from + place[i]);
        status = label_epochs(g,
                              &(found_places){ place, NULL, n_places - 1, s->active_from,
                                               s->active_to, l->step, m != EPOCHS_CHANGEPOINTS },
                              out, err);
    }
    if (m != EPOCHS_CHANGEPOINTS) /* most intervals of the comparators are no epochs */
        out->low = out->high = NAN;
    free_all(place, seg.mean, seg.end);
    return status;
}

lm_status epochs_by_changepoints(const trace_grid *g, const series *s, epochs *out, lm_error *err)
{
    return by_changes(g, s, EPOCHS_CHANGEPOINTS, out, err);
}

lm_status epochs_by_ruptures(const trace_grid *g, const series *s, epochs *out, lm_error *err)
{
    return by_changes(g, s, EPOCHS_RUPTURES, out, err);
}

lm_status epochs_by_jenks(const trace_grid *g, const series *s, epochs *out, lm_error *err)
{
    return by_changes(g, s, EPOCHS_JENKS, out, err);
}
