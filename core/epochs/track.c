/* Tracks repetitions of a period by dynamic programming over how alike places are. */
#include "epochs/track.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

#define BINS_MAX       192 /* of a period */
#define BINS_MIN       24
#define ALIKE_BINS     64
#define EVENT_BINS_MAX 768   /* where only short events are left */
#define WORK           1.0e8 /* bins of the level times bins of a period */
#define ANCHORS        8     /* neighbourhoods that are tried as the first template */
#define TRIED          12    /* repetitions around the middle they are tried on */
#define REFINED        48    /* repetitions the template is refined on */
#define ROUNDS         3
#define STIFFNESS      8.0F /* cost of an interval that differs, per squared log ratio */
#define NEAREST        0.55 /* intervals, of the period */
#define FURTHEST       1.8
/* Where the metric hardly moves, chance resembles anything: local scatter counts as at least this
 * part of the usual. */
#define HALF_ALIKE 0.5 /* of the median */
#define FLOOR      0.4

/* A stretch of a level, and one period in bins of it. */
typedef struct stretch {
    const float *x;
    size_t       n, width; /* width: of the template, even */
    double       period;   /* bins */
    double       scatter;  /* usual root of the sum of squares within a window */
} stretch;

static float at(const stretch *s, long i)
{
    return s->x[i < 0 ? 0 : (size_t)i >= s->n ? s->n - 1 : (size_t)i];
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

/* How alike each place is: -1 to 1. */
static void match(const stretch *s, const float *t, float *out)
{
    const long   half = (long)(s->width / 2);
    const double w    = (double)s->width;
    double       sum = 0, squares = 0;

    for (long i = -half; i < half; i++) {
        sum += (double)at(s, i);
        squares += (double)at(s, i) * (double)at(s, i);
    }
    for (long place = 0; place < (long)s->n; place++) {
        const double scatter = sqrt(fmax(squares - sum * sum / w, 0));
        const double in = (double)at(s, place + half), gone = (double)at(s, place - half);
        float        dot = 0;

        if (place >= half && place + half <= (long)s->n) {
            const float *x = s->x + (place - half);

            for (size_t i = 0; i < s->width; i++)
                dot += t[i] * x[i];
        } else {
            for (long i = -half; i < half; i++)
                dot += t[i + half] * at(s, place + i);
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
               far  = (long)ceil(FURTHEST * s->period),
               margin =
                   (long)(s->width / 4); /* nearer to the ends too little is there to compare */
    float *cost = malloc((size_t)(far + 1) * sizeof *cost);
    size_t best = 0, count = 0;

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

/* Buffers for sequences over a stretch. */
typedef struct room {
    float   *match, *score;
    int32_t *back;
    size_t  *found, n;
} room;

static bool room_of(room *r, size_t n, double bins)
{
    r->match = malloc(n * sizeof *r->match);
    r->score = malloc(n * sizeof *r->score);
    r->back  = malloc(n * sizeof *r->back);
    r->found =
        malloc(((size_t)((double)n / fmax(1, floor(NEAREST * bins))) + 3) * sizeof *r->found);
    return r->match && r->score && r->back && r->found;
}

static void room_free(room *r)
{
    free(r->match);
    free(r->score);
    free(r->back);
    free(r->found);
}

/* Places that hardly match are no repetitions: the ends of the sequence are cut back to those that
 * do. */
static void trim(room *r)
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

static void find_sequence(const stretch *s, const float *t, room *r)
{
    match(s, t, r->match);
    best_sequence(s, r->match, r->score, r->back, r->found, &r->n);
    trim(r);
}

/* Mean of the windows around the places. */
static bool mean_template(const stretch *s, const room *r, float *t)
{
    const long half = (long)(s->width / 2);

    for (long i = -half; i < half; i++) {
        double sum = 0;

        for (size_t k = 0; k < r->n; k++)
            sum += (double)at(s, (long)r->found[k] + i);
        t[i + half] = (float)(sum / (double)(r->n ? r->n : 1));
    }
    return shape_template(t, s->width);
}

/* How much the mean changes at a place, over a twelfth of the period on both sides. */
static double change_at(const stretch *s, size_t place)
{
    const long side = (long)fmax(1, s->period / 12);
    double     sum  = 0;

    for (long i = 0; i < side; i++)
        sum += (double)at(s, (long)place + i) - (double)at(s, (long)place - 1 - i);
    return fabs(sum) / (double)side;
}

/* The most marked changes within three periods of the middle, half a width or more apart from one
 * another. */
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
        t[i + half] = at(s, (long)place + i);
}

/* A part of the stretch around its middle. */
static stretch around_middle(const stretch *s, double periods)
{
    const size_t n    = (size_t)(periods * s->period);
    stretch      part = *s;

    if (n < s->n) {
        part.x += (s->n - n) / 2;
        part.n = n;
    }
    return part;
}

/* The neighbourhood which finds the others best, as a template. */
static bool first_template(const stretch *s, room *r, float *t)
{
    stretch part = around_middle(s, TRIED);
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

/* Between bins, by a parabola through the match. */
static double peak_between(const float *m, size_t n, size_t i)
{
    double l, h, bend;

    if (i == 0 || i + 1 >= n)
        return (double)i;
    l    = (double)m[i - 1];
    h    = (double)m[i + 1];
    bend = l - 2 * (double)m[i] + h;
    return (double)i + (bend < 0 ? fmax(-0.5, fmin(0.5, 0.5 * (l - h) / bend)) : 0);
}

/* An interval's values at `width` equal steps. */
static void resample(const stretch *s, double from, double to, double *out)
{
    for (size_t i = 0; i < s->width; i++) {
        const double place = from + (to - from) * ((double)i + 0.5) / (double)s->width - 0.5;
        const long   below = (long)floor(place);
        const double part  = place - (double)below;

        out[i] = (1 - part) * (double)at(s, below) + part * (double)at(s, below + 1);
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

/* How alike each of n stretches (pairs of places) is to the mean of the others; that of all goes
 * into `mean`, if it is not NULL. */
static lm_status compare(const stretch *s, const double *place, size_t n, double *alike,
                         double *mean, lm_error *err)
{
    double *sum = calloc(3 * s->width, sizeof *sum), *own = sum ? sum + s->width : NULL,
           *rest = own ? own + s->width : NULL;

    if (!sum)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
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

/* The part of the mean epoch, at most half of it, whose level differs most from the rest: where it
 * ends an epoch begins. Returns that place, a fraction of the period between -1/2 and 1/2. */
static double beginning(const double *mean, size_t n, double *other)
{
    double total = 0, best = 0;
    size_t end = 0, length = 0;

    for (size_t i = 0; i < n; i++)
        total += mean[i];
    for (size_t from = 0; from < n; from++) {
        double in = 0;

        for (size_t k = 1; k <= n / 2; k++) {
            double between;

            in += mean[(from + k - 1) % n];
            between = in / (double)k - (total - in) / (double)(n - k);
            between = between * between * (double)k * (double)(n - k);
            if (between > best) {
                best   = between;
                end    = (from + k) % n;
                length = k;
            }
        }
    }
    *other = length ? (double)length / (double)n : NAN;
    return (double)end / (double)n - (2 * end > n ? 1 : 0);
}

static double interval_at(const double *place, size_t n, long k, double usual)
{
    return k < 0 || k >= (long)n ? usual : place[k + 1] - place[k];
}

static void summarise(track *t)
{
    double *value = malloc(2 * t->n * sizeof *value);

    if (!value)
        return;
    for (size_t i = 0; i < t->n; i++)
        value[i] = t->place[i + 1] - t->place[i];
    t->median = stats_quantile(value, t->n, 0.5);
    t->spread = stats_mad(value, value + t->n, t->n) / t->median;
    memcpy(value, t->alike, t->n * sizeof *value);
    t->quality = stats_quantile(value, t->n, 0.5);
    free(value);
}

/* Where warm-ups take about two periods, a place in their middle is none: the first intervals must
 * be like the others. */
static void trim_alike(track *t)
{
    double *value = malloc(t->n * sizeof *value);
    double  least;
    size_t  from = 0;

    if (!value)
        return;
    memcpy(value, t->alike, t->n * sizeof *value);
    least = HALF_ALIKE * stats_quantile(value, t->n, 0.5);
    free(value);
    while (from + 2 < t->n && t->alike[from] < least)
        from++;
    t->n -= from;
    memmove(t->place, t->place + from, (t->n + 1) * sizeof *t->place);
    memmove(t->alike, t->alike + from, t->n * sizeof *t->alike);
}

/* Places of the sequence as times, moved to where epochs begin. */
static lm_status finish(const series *s, size_t level, bool events, const stretch *st,
                        const room *r, double from, track *out, lm_error *err)
{
    const double step  = s->level[level].step;
    double      *place = malloc(3 * r->n * sizeof *place), *pair = place ? place + r->n : NULL,
           *mean = malloc(st->width * sizeof *mean);
    double    f;
    lm_status status;

    out->n      = r->n - 1;
    out->bin    = step;
    out->level  = level;
    out->events = events;
    out->place  = malloc((r->n + 1) * sizeof *out->place);
    out->alike  = malloc((r->n + 1) * sizeof *out->alike);
    if (!place || !mean || !out->place || !out->alike) {
        status = lm_error_set(err, LM_E_NOMEM, "out of memory");
        goto out;
    }
    for (size_t i = 0; i < r->n; i++)
        place[i] = peak_between(r->match, st->n, r->found[i]);
    for (size_t i = 0; i + 1 < r->n; i++) {
        pair[2 * i]     = place[i];
        pair[2 * i + 1] = place[i + 1];
    }
    if ((status = compare(st, pair, out->n, out->alike, mean, err)))
        goto out;
    f = beginning(mean, st->width, &out->other);
    for (size_t i = 0; i < r->n; i++)
        out->place[i] = from + step * (place[i] + f * interval_at(place, out->n, (long)i - (f < 0),
                                                                  st->period));
    trim_alike(out);
    summarise(out);
out:
    free(place);
    free(mean);
    return status;
}

/* The finest level at which the work stays within bounds. */
static size_t finest_level(const series *s, double seconds, double bins)
{
    const double span = s->active_to - s->active_from;
    const double most = fmax(BINS_MIN, fmin(bins, sqrt(WORK / fmax(1, span / seconds))));
    size_t       l    = 0;

    while (l + 1 < s->n_levels && seconds / s->level[l].step > most)
        l++;
    return l;
}

/* Short events vanish at coarse levels: they are tracked at the level at which their period was
 * seen, if that is finer. */
static size_t level_for(const series *s, const period *p)
{
    const size_t usual = finest_level(s, p->seconds, BINS_MAX);
    const size_t fine  = finest_level(s, p->seconds, EVENT_BINS_MAX);

    return !p->events || p->level >= usual ? usual : p->level > fine ? p->level : fine;
}

/* The active part of a level, or of its events, which *own then holds. */
static lm_status open_stretch(const series *s, size_t level, bool events, size_t from, size_t to,
                              double seconds, float **own, stretch *out, lm_error *err)
{
    const series_level *l = &s->level[level];

    *own = events ? series_events(l) : NULL;
    if (events && !*own)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    *out         = (stretch){ (events ? *own : l->x) + from, to - from, 0, seconds / l->step, 0 };
    out->width   = 2 * (size_t)fmax(2, round(out->period / 2));
    out->scatter = 1;
    if (out->n >= out->width)
        out->scatter = usual_scatter(out);
    return LM_OK;
}

/* Template and sequence by turns, first around the middle, then over all. False: there is none. */
static bool find_all(const stretch *all, room *r, float *t)
{
    const stretch part = around_middle(all, REFINED);

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

lm_status track_epochs(const series *s, const period *p, track *out, lm_error *err)
{
    const size_t level = level_for(s, p);
    const size_t from  = series_bin(s, level, s->active_from),
                 to    = series_bin(s, level, s->active_to);
    stretch   all      = { 0 };
    room      r        = { NULL, NULL, NULL, NULL, 0 };
    float    *t = NULL, *own = NULL;
    lm_status status;

    *out   = (track){ 0 };
    status = open_stretch(s, level, p->events, from, to, p->seconds, &own, &all, err);
    if (status)
        return status;
    t = malloc(all.width * sizeof *t);
    if (!t || !room_of(&r, all.n, all.period))
        status = lm_error_set(err, LM_E_NOMEM, "out of memory");
    else if ((double)all.n < 1.5 * all.period || !find_all(&all, &r, t))
        status = lm_error_set(err, LM_E_NOTFOUND, "less than two epochs");
    else
        status = finish(s, level, p->events, &all, &r,
                        s->start + s->level[level].step * (double)from, out, err);
    out->marked = p->marked;
    if (status)
        track_free(out);
    room_free(&r);
    free(t);
    free(own);
    return status;
}

lm_status track_alike(const series *s, const double *place, size_t n, double *alike, lm_error *err)
{
    const double length = (place[n] - place[0]) / (double)n;
    const size_t level  = finest_level(s, length, ALIKE_BINS);
    const double step   = s->level[level].step;
    stretch      all    = { 0 };
    float       *own    = NULL;
    double      *pair   = malloc(2 * n * sizeof *pair);
    lm_status    status =
        pair ? open_stretch(s, level, false, 0, s->level[level].n, length, &own, &all, err)
                : lm_error_set(err, LM_E_NOMEM, "out of memory");

    for (size_t i = 0; !status && i < n; i++) {
        pair[2 * i]     = (place[i] - s->start) / step;
        pair[2 * i + 1] = (place[i + 1] - s->start) / step;
    }
    if (!status)
        status = compare(&all, pair, n, alike, NULL, err);
    free(pair);
    free(own);
    return status;
}

#define VANISHED 1.5 /* bins of a period that is averaged away */
#define SETS     8   /* of stretches that begin elsewhere */

/* Place of `inner` nearest to a time. */
static size_t nearest_place(const track *inner, double time)
{
    size_t below = 0, above = inner->n;

    while (above - below > 1) {
        const size_t mid = (below + above) / 2;

        if (inner->place[mid] <= time)
            below = mid;
        else
            above = mid;
    }
    return time - inner->place[below] <= inner->place[above] - time ? below : above;
}

/* For each outer repetition as many inner ones as it holds, beginning at another of them than its
 * neighbours do. Returns their number, pairs of bins in `place`. */
static size_t shift_places(const track *inner, const track *outer, size_t set, double start,
                           double step, double *place)
{
    const size_t m      = (size_t)fmax(1, round(outer->median / inner->median));
    const size_t stride = m > 2 ? 1 + (set + m / 3) % (m - 1) : 1; /* never all at the same */
    size_t       n      = 0;

    for (size_t k = 0; k < outer->n; k++) {
        const size_t shift = (1 + set + k * stride) % m;
        size_t       from  = nearest_place(inner, outer->place[k]) + shift;

        if (from + m > inner->n && from >= m)
            from -= m;
        if (from + m > inner->n)
            continue;
        place[2 * n]     = (inner->place[from] - start) / step;
        place[2 * n + 1] = (inner->place[from + m] - start) / step;
        n++;
    }
    return n;
}

/* The same at one level. */
static lm_status beyond_at(const series *s, const track *inner, const track *outer, size_t level,
                           bool events, double *beyond, lm_error *err)
{
    const double step  = s->level[level].step;
    const size_t from  = series_bin(s, level, s->active_from),
                 to    = series_bin(s, level, s->active_to);
    const double start = s->start + step * (double)from;
    stretch      st    = { 0 };
    float       *own   = NULL;
    double      *place = NULL, *alike = NULL, most = 0;
    lm_status    status = open_stretch(s, level, events, from, to, outer->median, &own, &st, err);

    if (status)
        return status;
    place = malloc((2 * outer->n + 2) * sizeof *place);
    alike = malloc((outer->n + 1) * sizeof *alike);
    if (!place || !alike) {
        status = lm_error_set(err, LM_E_NOMEM, "out of memory");
        goto out;
    }
    for (size_t i = 0; i < outer->n; i++) {
        place[2 * i]     = (outer->place[i] - start) / step;
        place[2 * i + 1] = (outer->place[i + 1] - start) / step;
    }
    if ((status = compare(&st, place, outer->n, alike, NULL, err)))
        goto out;
    *beyond = stats_quantile(alike, outer->n, 0.5);
    for (size_t set = 0; set < SETS && !status; set++) {
        const size_t n = shift_places(inner, outer, set, start, step, place);

        if (n >= 2 && !(status = compare(&st, place, n, alike, NULL, err)))
            most = fmax(most, stats_quantile(alike, n, 0.5));
    }
    *beyond -= most;
out:
    free(own);
    free(place);
    free(alike);
    return status;
}

lm_status track_beyond(const series *s, const track *inner, const track *outer, double *beyond,
                       lm_error *err)
{
    const bool events = outer->events && !inner->events;
    size_t     coarse = outer->level;
    double     there  = 0;
    lm_status  status = beyond_at(s, inner, outer, outer->level, events, beyond, err);

    while (coarse + 1 < s->n_levels && inner->median > VANISHED * s->level[coarse].step)
        coarse++;
    if (!status && coarse > outer->level && outer->median > 8 * s->level[coarse].step &&
        !(status = beyond_at(s, inner, outer, coarse, false, &there, err)))
        *beyond = fmax(*beyond, there);
    return status;
}

void track_free(track *t)
{
    free(t->place);
    free(t->alike);
    t->place = t->alike = NULL;
}
