/* Finds repetitions in a stretch, by dynamic programming over the likeness of places. */
#include "epochs/sequence.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"

/* The value at bin i; beyond the ends that of the last bin. */
static inline float stretch_at(const stretch *s, long i)
{
    return s->x[i < 0 ? 0 : (size_t)i >= s->n ? s->n - 1 : (size_t)i];
}

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
    double value[512], median, high;
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
    median = stats_quantile(value, n, 0.5);
    high   = stats_quantile(value, n, 0.9);
    return median > 0 ? median : high > 0 ? high : 1;
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

/* This many periods around the middle. */
static stretch stretch_middle(const stretch *s, double periods)
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

/* ---- sequences ------------------------------------------------------------------------------- */

#define ANCHORS   8  /* number of neighbourhoods that are tried as the first template */
#define TRIED     12 /* repetitions around the middle on which they are tried */
#define REFINED   48 /* repetitions the template is refined on */
#define ROUNDS    3
#define STIFFNESS 8.0F /* cost of an interval that differs, per squared log ratio */
#define NEAREST   0.55 /* intervals, of the period */
#define FURTHEST  1.8
/* Where the metric hardly moves, chance resembles anything: local scatter counts as at least this
 * part of the usual. */
#define FLOOR 0.4

bool sequence_open(sequence *r, size_t n, double bins)
{
    r->match = malloc(n * sizeof *r->match);
    r->score = malloc(n * sizeof *r->score);
    r->back  = malloc(n * sizeof *r->back);
    r->found =
        malloc(((size_t)((double)n / fmax(1, floor(NEAREST * bins))) + 3) * sizeof *r->found);
    return r->match && r->score && r->back && r->found;
}

void sequence_free(sequence *r)
{
    free_all(r->match, r->score, r->back, r->found);
}

/* A template out of a window's values: tapered (Hann), without mean, of length 1. */
static bool shape_template(float *t, size_t width)
{
    double mean = 0, weight = 0, length = 0;

    for (size_t i = 0; i < width; i++) {
        const double w = 0.5 - 0.5 * cos(2 * 3.14159265358979 * ((double)i + 0.5) / (double)width);

        mean += w * (double)t[i];
        weight += w;
    }
    mean /= weight;
    for (size_t i = 0; i < width; i++) {
        const double w = 0.5 - 0.5 * cos(2 * 3.14159265358979 * ((double)i + 0.5) / (double)width);

        t[i] = (float)(w * ((double)t[i] - mean));
        length += (double)t[i] * (double)t[i];
    }
    if (!(length > 0))
        return false;
    for (size_t i = 0; i < width; i++)
        t[i] = (float)((double)t[i] / sqrt(length));
    return true;
}

/* Likeness of each place: -1 to 1. */
static void match(const stretch *s, const float *t, float *out)
{
    const long   half = (long)(s->width / 2);
    const double w    = (double)s->width;
    double       sum = 0, squares = 0;

    for (long i = -half; i < half; i++) {
        sum += (double)stretch_at(s, i);
        squares += (double)stretch_at(s, i) * (double)stretch_at(s, i);
    }
    for (long place = 0; place < (long)s->n; place++) {
        const double scatter = sqrt(fmax(squares - sum * sum / w, 0));
        const double in      = (double)stretch_at(s, place + half),
                     gone    = (double)stretch_at(s, place - half);
        float dot            = 0;

        if (place >= half && place + half <= (long)s->n) {
            const float *x = s->x + (place - half);

            for (size_t i = 0; i < s->width; i++)
                dot += t[i] * x[i];
        } else {
            for (long i = -half; i < half; i++)
                dot += t[i + half] * stretch_at(s, place + i);
        }
        out[place] = (float)((double)dot / fmax(scatter, FLOOR * s->scatter));
        sum += in - gone;
        squares += in * in - gone * gone;
    }
}

/* Best sequence of places; *n of them in `found`, which has room for n / nearest + 2. */
static void best_sequence(const stretch *s, const float *m, float *score, int32_t *back,
                          size_t *found, size_t *n)
{
    const long near = (long)fmax(1, floor(NEAREST * s->period)),
               far  = (long)ceil(FURTHEST * s->period);
    /* nearer to the ends there is too little to compare */
    const long margin = (long)(s->width / 4);
    float     *cost   = malloc((size_t)(far + 1) * sizeof *cost);
    size_t     best = 0, count = 0;

    *n = 0;
    if (!cost)
        return;
    for (long k = near; k <= far; k++) {
        const double ratio = log((double)k / s->period);

        cost[k] = STIFFNESS * (float)(ratio * ratio);
    }
    for (long i = 0; i < (long)s->n; i++) {
        float most = 0;
        long  from = -1;

        score[i] = -FLT_MAX;
        back[i]  = -1;
        if (i < margin || i + margin > (long)s->n)
            continue;
        for (long k = near; k <= far && k <= i; k++)
            if (score[i - k] - cost[k] > most) {
                most = score[i - k] - cost[k];
                from = i - k;
            }
        score[i] = m[i] + most;
        back[i]  = (int32_t)from;
        if (score[i] > score[best])
            best = (size_t)i;
    }
    free(cost);
    for (long i = score[best] > -FLT_MAX ? (long)best : -1; i >= 0; i = back[i])
        found[count++] = (size_t)i;
    for (size_t i = 0; i < count / 2; i++) {
        const size_t t       = found[i];
        found[i]             = found[count - 1 - i];
        found[count - 1 - i] = t;
    }
    *n = count;
}

/* Cuts the ends of the sequence back to places that match; other places are no repetitions. */
static void trim(sequence *r)
{
    double *value = malloc((r->n + 1) * sizeof *value);
    size_t  from = 0, to = r->n;
    double  least;

    if (!value || !r->n) {
        free(value);
        return;
    }
    for (size_t i = 0; i < r->n; i++)
        value[i] = (double)r->match[r->found[i]];
    least = 0.35 * stats_quantile(value, r->n, 0.5);
    free(value);
    while (from < to && (double)r->match[r->found[from]] < least)
        from++;
    while (to > from && (double)r->match[r->found[to - 1]] < least)
        to--;
    memmove(r->found, r->found + from, (to - from) * sizeof *r->found);
    r->n = to - from;
}

static void find_sequence(const stretch *s, const float *t, sequence *r)
{
    match(s, t, r->match);
    best_sequence(s, r->match, r->score, r->back, r->found, &r->n);
    trim(r);
}

/* Mean of the windows around the places. */
static bool mean_template(const stretch *s, const sequence *r, float *t)
{
    const long half = (long)(s->width / 2);

    for (long i = -half; i < half; i++) {
        double sum = 0;

        for (size_t k = 0; k < r->n; k++)
            sum += (double)stretch_at(s, (long)r->found[k] + i);
        t[i + half] = (float)(sum / (double)(r->n ? r->n : 1));
    }
    return shape_template(t, s->width);
}

/* Change of the mean at a place, over a twelfth of the period on both sides. */
static double change_at(const stretch *s, size_t place)
{
    const long side = (long)fmax(1, s->period / 12);
    double     sum  = 0;

    for (long i = 0; i < side; i++)
        sum += (double)stretch_at(s, (long)place + i) - (double)stretch_at(s, (long)place - 1 - i);
    return fabs(sum) / (double)side;
}

/* The most marked changes within three periods of the middle, half a width or
 * more apart from one another. */
static size_t find_anchors(const stretch *s, size_t anchor[ANCHORS])
{
    const double reach = 1.5 * s->period;
    const size_t mid = s->n / 2, from = (double)mid > reach ? mid - (size_t)reach : 0,
                 to    = (double)(s->n - mid) > reach ? mid + (size_t)reach : s->n;
    const double apart = s->period / 8;
    size_t       n     = 0;

    while (n < ANCHORS) {
        size_t best = to;
        double most = 0;

        for (size_t i = from; i < to; i++) {
            const double change = change_at(s, i);
            bool         free_  = change > most;

            for (size_t k = 0; k < n && free_; k++)
                free_ = fabs((double)i - (double)anchor[k]) >= apart;
            if (free_) {
                most = change;
                best = i;
            }
        }
        if (best == to)
            break;
        anchor[n++] = best;
    }
    return n;
}

static void cut_window(const stretch *s, size_t place, float *t)
{
    const long half = (long)(s->width / 2);

    for (long i = -half; i < half; i++)
        t[i + half] = stretch_at(s, (long)place + i);
}

/* The neighbourhood that finds the others best when it is the template. */
static bool first_template(const stretch *s, sequence *r, float *t)
{
    stretch part = stretch_middle(s, TRIED);
    size_t  anchor[ANCHORS];
    size_t  n    = find_anchors(&part, anchor);
    double  most = -1;
    float  *own  = malloc(s->width * sizeof *own);

    for (size_t i = 0; own && i < n; i++) {
        double sum = 0;

        cut_window(&part, anchor[i], own);
        if (!shape_template(own, s->width))
            continue;
        find_sequence(&part, own, r);
        for (size_t k = 0; k < r->n; k++)
            if (r->found[k] + s->width / 4 < anchor[i] || r->found[k] > anchor[i] + s->width / 4)
                sum += (double)r->match[r->found[k]];
        if (sum > most && r->n > 1) {
            most = sum;
            memcpy(t, own, s->width * sizeof *own);
        }
    }
    free(own);
    return most > -1;
}

bool sequence_find_all(const stretch *all, sequence *r, float *t)
{
    const stretch part = stretch_middle(all, REFINED);

    if (!first_template(all, r, t))
        return false;
    for (int round = 0; round < ROUNDS; round++) {
        find_sequence(&part, t, r);
        if (r->n < 2 || !mean_template(&part, r, t))
            return false;
    }
    find_sequence(all, t, r);
    return r->n >= 2;
}
