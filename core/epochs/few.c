/* Runs of few epochs, by their marks. */
#include "epochs/few.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "epochs/marks.h"
#include "epochs/track.h"

/* Resolutions that are looked at: bins of the whole. */
#define BINS_FROM 64
#define BINS_TO   2048
/* So many of the largest marks are ends of epochs. */
#define LARGEST 20
/* Lengths are equal within this part. */
#define EQUAL 0.08
/* What is shorter than this part of an epoch is none. */
#define CRUMB 0.06
/* The first epoch takes at most so many times as long. */
#define WARMUP_MOST 2.1
/* Each is as much like the others as this. */
#define LEAST_ALIKE 0.3
/* The middle of an epoch begins here. */
#define MIDDLE 0.3
/* Bins of an epoch, at least. */
#define BINS_LEAST 12

/* A moment at which an epoch may begin and end. */
typedef struct moment {
    double at;   /* s */
    double area; /* of the mark that ends there; INFINITY: an end of training */
} moment;

/* In order. */
typedef struct moments {
    moment m[LARGEST + 2];
    size_t n;
} moments;

static int ascending(const void *a, const void *b)
{
    const double x = ((const moment *)a)->at, y = ((const moment *)b)->at;

    return (x > y) - (x < y);
}

static int by_area(const void *a, const void *b)
{
    const double x = ((const mark *)a)->area, y = ((const mark *)b)->area;

    return (x < y) - (x > y);
}

/* Ends of the largest marks of a level, and those of training. */
static lm_status find_moments(const series *s, size_t level, moments *out, lm_error *err)
{
    const series_level *l    = &s->level[level];
    const size_t        from = series_bin(s, level, s->active_from),
                 to          = series_bin(s, level, s->active_to);
    float *events            = series_events(l);
    mark  *m                 = malloc(MARKS_MAX * sizeof *m);
    size_t n                 = 0;

    out->n = 0;
    if (events && m) {
        n = marks_find(events + from, to - from, m);
        qsort(m, n, sizeof *m, by_area);
        for (size_t i = 0; i < n && i < LARGEST; i++)
            out->m[out->n++] = (moment){ s->start + l->step * (double)(from + m[i].to), m[i].area };
        out->m[out->n++] = (moment){ s->active_from, INFINITY };
        out->m[out->n++] = (moment){ s->active_to, INFINITY };
        qsort(out->m, out->n, sizeof *out->m, ascending);
    }
    n = events && m;
    free(events);
    free(m);
    return n ? LM_OK : no_memory(err);
}

/* The moment nearest to a time, if it is within a part of a length; out->n: none. */
static size_t near(const moments *m, double time, double length)
{
    size_t best = m->n;

    for (size_t i = 0; i < m->n; i++)
        if (fabs(m->m[i].at - time) <= EQUAL * length &&
            (best == m->n || fabs(m->m[i].at - time) < fabs(m->m[best].at - time)))
            best = i;
    return best;
}

/* Is what was before the first of equal epochs nothing, or one or two that took longer? */
static bool begins_well(const series *s, const moments *m, double first, double length)
{
    const double before = (first - s->active_from) / length;

    if (before < CRUMB || (before >= 1 && before <= WARMUP_MOST))
        return true;
    for (size_t i = 0; i < m->n; i++) {
        const double a = (m->m[i].at - s->active_from) / length, b = (first - m->m[i].at) / length;

        if (b >= 1 && a >= b && a <= WARMUP_MOST)
            return true;
    }
    return false;
}

/* The chain of equal epochs that ends with that from moment i to j, into `out`; false: none. */
static bool chain(const series *s, const moments *m, size_t i, size_t j, few_epochs *out)
{
    const double length = m->m[j].at - m->m[i].at;
    double       back[FEW_MAX + 1];
    size_t       n = 2;

    back[0] = m->m[j].at;
    back[1] = m->m[i].at;
    while (n <= FEW_MAX) {
        const size_t before = near(m, back[n - 1] - length, length);

        if (before == m->n || m->m[before].at >= back[n - 1])
            break;
        back[n++] = m->m[before].at;
    }
    out->n = n - 1;
    for (size_t k = 0; k < n; k++)
        out->place[k] = back[n - 1 - k];
    return out->n >= 2 && s->active_to - m->m[j].at < (1 - EQUAL) * length &&
           begins_well(s, m, out->place[0], (m->m[j].at - out->place[0]) / (double)out->n);
}

/* The least area of the marks that end epochs. */
static double least_area(const moments *m, const few_epochs *e)
{
    double least = INFINITY;

    for (size_t k = 0; k <= e->n; k++)
        for (size_t i = 0; i < m->n; i++)
            if (m->m[i].at == e->place[k])
                least = fmin(least, m->m[i].area);
    return least;
}

/* Do epochs hold no marks as large as those that end them, or each one, aside of its middle: an
 * evaluation's? With one in the middle, or more of them, each is two epochs or more. */
static bool holds_the_same(const moments *m, const few_epochs *e)
{
    const double least         = least_area(m, e);
    size_t       held[FEW_MAX] = { 0 };

    for (size_t k = 0; k < e->n; k++) {
        for (size_t i = 0; i < m->n; i++) {
            const double at = (m->m[i].at - e->place[k]) / (e->place[k + 1] - e->place[k]);

            if (m->m[i].area < least || at < CRUMB || at > 1 - CRUMB)
                continue;
            if (++held[k] > 1 || (at > MIDDLE && at < 1 - MIDDLE))
                return false;
        }
        if (held[k] != held[0])
            return false;
    }
    return true;
}

static lm_status look(const series *s, size_t level, double alike, double few, few_epochs *best,
                      lm_error *err)
{
    moments   m;
    lm_status status = find_moments(s, level, &m, err);

    for (size_t j = 1; !status && j < m.n; j++)
        for (size_t i = 0; !status && i < j; i++) {
            few_epochs own = { .bin = s->level[level].step };
            double     value[FEW_MAX];

            if (m.m[j].at - m.m[i].at < BINS_LEAST * own.bin || !chain(s, &m, i, j, &own) ||
                own.n < best->n || !holds_the_same(&m, &own))
                continue;
            status = track_alike(s, own.place, own.n, own.alike, err);
            memcpy(value, own.alike, sizeof value);
            own.quality = stats_quantile(value, own.n, 0.5); /* sorts: value[0] is the least */
            if (!status && value[0] >= LEAST_ALIKE && own.quality >= alike + few / (double)own.n &&
                (own.n > best->n || own.quality > best->quality))
                *best = own;
        }
    return status;
}

lm_status few_find(const series *s, double alike, double few, few_epochs *out, lm_error *err)
{
    const bool told   = s->active_from > s->start + s->level[0].step;
    few_epochs best   = { .n = 0 };
    lm_status  status = LM_OK;

    for (size_t level = 0; told && level < s->n_levels && !status; level++)
        if (s->level[level].n >= BINS_FROM && s->level[level].n <= BINS_TO)
            status = look(s, level, alike, few, &best, err);
    if (!status && !best.n)
        status = lm_error_set(err, LM_E_NOTFOUND, "no run of few epochs");
    if (!status)
        *out = best;
    return status;
}
