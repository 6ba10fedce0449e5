/* Method `layermeter`: periods at all scales, each tracked; the clearest one is taken. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/order.h"
#include "base/stats.h"
#include "epochs/methods.h"
#include "epochs/period.h"
#include "epochs/series.h"
#include "epochs/track.h"

#define FEW_MAX 12

/* A whole run. */
typedef struct few_epochs {
    size_t n;                  /* epochs that are alike, 2 or more */
    double place[FEW_MAX + 1]; /* s: beginnings of epochs, and the end of the last one */
    double alike[FEW_MAX];
    double quality; /* median of them */
    double bin;     /* s: resolution */
} few_epochs;

/* Tried resolutions: bins of the whole. */
#define BINS_FROM 64
#define BINS_TO   2048
/* At most this many of the largest marks are ends of epochs. */
#define LARGEST 20
/* Lengths are equal within this part. */
#define EQUAL 0.08
/* Anything shorter than this part of an epoch is ignored. */
#define CRUMB 0.06
/* The first epoch takes at most this many times longer. */
#define WARMUP_MOST 2.1
/* Least likeness of each epoch and the others. */
#define LEAST_ALIKE 0.3
/* The middle of an epoch begins here. */
#define MIDDLE 0.3
/* Bins of an epoch, at least. */
#define BINS_LEAST 12

/* A moment at which an epoch may begin and end. */
typedef struct moment {
    double at;   /* s */
    double area; /* area of the mark that ends there; INFINITY: the end of training */
} moment;

/* In order. */
typedef struct moments {
    moment m[LARGEST + 2];
    size_t n;
} moments;

ORDER_BY(ascending, moment, at)

ORDER_DOWN_BY(by_area, mark, area)

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

/* The moment nearest to a time, within EQUAL of a length; out->n: there is none. */
static size_t near(const moments *m, double time, double length)
{
    size_t best = m->n;

    for (size_t i = 0; i < m->n; i++)
        if (fabs(m->m[i].at - time) <= EQUAL * length &&
            (best == m->n || fabs(m->m[i].at - time) < fabs(m->m[best].at - time)))
            best = i;
    return best;
}

/* Is the time before the first of the equal epochs empty, or one or two longer epochs? */
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

/* Does each epoch hold no mark as large as those at its ends, or exactly one outside of its middle?
 * Such a mark is an evaluation. With one in the middle or with more marks, it is two epochs or
 * more. */
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

/*
 * A whole run of few epochs, told by its marks (period.h): idle time; at most two longer epochs,
 * the second no longer than the first; then epochs of equal length that are alike; less than one
 * more epoch behind them. Each epoch holds no mark as large as those that end it, or exactly one.
 * Ends of training are marks, too. Among such runs the one with the most epochs wins, then the one
 * with the most similar epochs. Several resolutions are tried.
 *
 * Epochs are alike if the median of n is alike + few / n or more. LM_E_NOTFOUND if there is no such
 * run; LM_E_NOMEM
 */
static lm_status few_find(const series *s, double alike, double few, few_epochs *out, lm_error *err)
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

/* Repetitions resemble the mean of the others by at least this; chance does by less. */
#define ALIKE 0.4
/* Intervals of epochs vary by less than this, chance's by more; those of many that are very alike,
 * which chance's are not, may vary by more. */
#define REGULAR    0.08
#define IRREGULAR  0.16
#define VERY_ALIKE 0.75
#define MANY       5
/* Least number of steps of an epoch; fewer are a cycle of epochs. */
#define STEPS_LEAST 6.5
/* Steps are at another level for this part of their time or more, epochs may be for less. */
#define STEP_LEAST 0.25
/* A period is no multiple of a shorter one if its repetitions are more alike by this. */
#define BEYOND 0.1
/* The same for a cycle of few repetitions: the shorter period explains next to nothing. */
#define MOST 0.4
/* Few repetitions need higher thresholds: these over their number are added to BEYOND and MOST, and
 * to ALIKE. */
#define CHANCE 1.0
#define FEW    0.5
#define LEAST  2 /* intervals that can be compared */

static bool told(const track *t)
{
    const bool very_alike = t->n >= MANY && t->quality >= VERY_ALIKE;

    return t->n >= LEAST && t->quality >= ALIKE + FEW / (double)t->n &&
           t->spread <= (very_alike ? IRREGULAR : REGULAR);
}

/* Notes a period within an epoch. */
static void note_period(const track *t, epochs *out)
{
    if (out->n_periods == EPOCHS_PERIODS_MAX)
        return;
    out->period[out->n_periods].seconds    = t->median;
    out->period[out->n_periods++].strength = t->quality;
}

static lm_status take(const trace_grid *g, const series *s, const track *t, epochs *out,
                      lm_error *err)
{
    const found_places f = {
        t->place, t->alike, t->n, s->active_from, s->active_to, t->bin, false
    };
    lm_status status = label_epochs(g, &f, out, err);

    out->evaluation = t->other >= 0.02 ? t->other : NAN;
    return status;
}

/* Is `outer` more than repetitions of `inner`? An epoch of steps is. A cycle of a few epochs, some
 * of them with an evaluation, does not count unless `inner` is hardly clear. Short pauses
 * separate epochs; steps are at another level for a good part of their time. */
static lm_status holds(const series *s, const track *inner, const track *outer, bool *yes,
                       lm_error *err)
{
    double       beyond = 0;
    const bool   few    = outer->median <= STEPS_LEAST * inner->median;
    const double least  = few && !(inner->other >= STEP_LEAST) ? MOST : BEYOND;
    lm_status    status = LM_OK;

    *yes = !few || !inner->marked;
    if (*yes)
        status = track_beyond(s, inner, outer, &beyond, err);
    *yes = *yes && beyond >= least + CHANCE / (double)outer->n;
    return status;
}

/* A period's events may vanish at the level of its tracking. If a shorter period is clear already,
 * the metric itself is tracked then. */
static lm_status track_period(const series *s, const period *p, bool shorter, track *out,
                              lm_error *err)
{
    const lm_status status = track_epochs(s, p, out, err);
    period          plain  = *p;

    plain.events = false;
    return status == LM_E_NOTFOUND && p->events && shorter ? track_epochs(s, &plain, out, err)
                                                           : status;
}

/* Chooses among all clear periods, from the shortest on: the period that holds the ones before. */
static lm_status choose(const series *s, const period *p, size_t n, track *best, bool *found,
                        epochs *out, lm_error *err)
{
    *found = false;
    for (size_t i = 0; i < n; i++) {
        track     t;
        bool      better = true;
        lm_status status = track_period(s, &p[i], *found, &t, err);

        if (status == LM_E_NOTFOUND)
            continue;
        if (status)
            return status;
        better = told(&t);
        if (better && *found)
            status = holds(s, best, &t, &better, err);
        if (better && !status) {
            if (*found) {
                note_period(best, out);
                track_free(best);
            }
            *best  = t;
            *found = true;
        } else {
            track_free(&t);
        }
        if (status)
            return status;
    }
    return LM_OK;
}

/* A whole run of few epochs, if nothing repeats often enough. */
static lm_status take_few(const trace_grid *g, const series *s, epochs *out, lm_error *err)
{
    few_epochs      few;
    const lm_status status = few_find(s, ALIKE, FEW, &few, err);

    if (status)
        return status;
    return label_epochs(g,
                        &(found_places){ few.place, few.alike, few.n, s->active_from, s->active_to,
                                         few.bin, false },
                        out, err);
}

lm_status epochs_by_tracking(const trace_grid *g, const series *s, epochs *out, lm_error *err)
{
    period    p[PERIODS_MAX];
    track     best;
    size_t    n      = 0;
    bool      found  = false;
    lm_status status = periods_find(s, p, &n, err);

    if (!status)
        status = choose(s, p, n, &best, &found, out, err);
    if (!status)
        status = found ? take(g, s, &best, out, err) : take_few(g, s, out, err);
    if (status == LM_E_NOTFOUND && !found)
        lm_error_set(err, LM_E_NOTFOUND,
                     "nothing repeats twice or more in %.4g s: less than two epochs, or none that "
                     "this metric shows",
                     g->step * (double)g->n);
    if (found)
        track_free(&best);
    return status;
}
