/* Places of a period's repetitions as times, moved to where epochs begin; comparison of two
 * periods. */
#include "epochs/track.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "epochs/sequence.h"

#define VANISHED 1.5 /* bins of a period that averaging removes */
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

/* For each outer repetition as many inner ones as it holds; neighbours begin at different inner
 * ones. Returns their number, as pairs of bins in `place`. */
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
    lm_status    status = stretch_open(s, level, events, from, to, outer->median, &own, &st, err);

    if (status)
        return status;
    place = malloc((2 * outer->n + 2) * sizeof *place);
    alike = malloc((outer->n + 1) * sizeof *alike);
    if (!place || !alike) {
        status = no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < outer->n; i++) {
        place[2 * i]     = (outer->place[i] - start) / step;
        place[2 * i + 1] = (outer->place[i + 1] - start) / step;
    }
    if ((status = stretch_alike(&st, place, outer->n, alike, NULL, err)))
        goto out;
    *beyond = stats_quantile(alike, outer->n, 0.5);
    for (size_t set = 0; set < SETS && !status; set++) {
        const size_t n = shift_places(inner, outer, set, start, step, place);

        if (n >= 2 && !(status = stretch_alike(&st, place, n, alike, NULL, err)))
            most = fmax(most, stats_quantile(alike, n, 0.5));
    }
    *beyond -= most;
out:
    free_all(own, place, alike);
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

#define BINS_MAX       192 /* of a period */
#define ALIKE_BINS     64
#define EVENT_BINS_MAX 768 /* where only short events are left */
#define HALF_ALIKE     0.5 /* of the median */

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

/* Finds the part of the mean epoch with the most different level, at most half of the epoch. An
 * epoch begins where this part ends. Returns that place, a fraction of the period between -1/2 and
 * 1/2. */
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

/* A warm-up of about two periods has no place in its middle: the first intervals must be like the
 * others. */
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
                        const sequence *r, double from, track *out, lm_error *err)
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
        status = no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < r->n; i++)
        place[i] = peak_between(r->match, st->n, r->found[i]);
    for (size_t i = 0; i + 1 < r->n; i++) {
        pair[2 * i]     = place[i];
        pair[2 * i + 1] = place[i + 1];
    }
    if ((status = stretch_alike(st, pair, out->n, out->alike, mean, err)))
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

/* Short events vanish at coarse levels: they are tracked at the level at which their period was
 * seen, if that is finer. */
static size_t level_for(const series *s, const period *p)
{
    const size_t usual = stretch_level(s, p->seconds, BINS_MAX);
    const size_t fine  = stretch_level(s, p->seconds, EVENT_BINS_MAX);

    return !p->events || p->level >= usual ? usual : p->level > fine ? p->level : fine;
}

lm_status track_epochs(const series *s, const period *p, track *out, lm_error *err)
{
    const size_t level = level_for(s, p);
    const size_t from  = series_bin(s, level, s->active_from),
                 to    = series_bin(s, level, s->active_to);
    stretch   all      = { 0 };
    sequence  r        = { NULL, NULL, NULL, NULL, 0 };
    float    *t = NULL, *own = NULL;
    lm_status status;

    *out   = (track){ 0 };
    status = stretch_open(s, level, p->events, from, to, p->seconds, &own, &all, err);
    if (status)
        return status;
    t = malloc(all.width * sizeof *t);
    if (!t || !sequence_open(&r, all.n, all.period))
        status = no_memory(err);
    else if ((double)all.n < 1.5 * all.period || !sequence_find_all(&all, &r, t))
        status = lm_error_set(err, LM_E_NOTFOUND, "less than two epochs");
    else
        status = finish(s, level, p->events, &all, &r,
                        s->start + s->level[level].step * (double)from, out, err);
    out->marked = p->marked;
    if (status)
        track_free(out);
    sequence_free(&r);
    free(t);
    free(own);
    return status;
}

lm_status track_alike(const series *s, const double *place, size_t n, double *alike, lm_error *err)
{
    const double length = (place[n] - place[0]) / (double)n;
    const size_t level  = stretch_level(s, length, ALIKE_BINS);
    const double step   = s->level[level].step;
    stretch      all    = { 0 };
    float       *own    = NULL;
    double      *pair   = malloc(2 * n * sizeof *pair);
    lm_status    status =
        pair ? stretch_open(s, level, false, 0, s->level[level].n, length, &own, &all, err)
                : no_memory(err);

    for (size_t i = 0; !status && i < n; i++) {
        pair[2 * i]     = (place[i] - s->start) / step;
        pair[2 * i + 1] = (place[i + 1] - s->start) / step;
    }
    if (!status)
        status = stretch_alike(&all, pair, n, alike, NULL, err);
    free(pair);
    free(own);
    return status;
}

void track_free(track *t)
{
    free(t->place);
    free(t->alike);
    t->place = t->alike = NULL;
}
