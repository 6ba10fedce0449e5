/* Method `layermeter`: periods at all scales, each tracked, the one that is told best taken. */
#include <math.h>

#include "epochs/few.h"
#include "epochs/label.h"
#include "epochs/methods.h"
#include "epochs/track.h"

/* Repetitions resemble the mean of the others by at least this; chance does by less. */
#define ALIKE 0.4
/* Intervals of epochs vary by less than this, chance's by more; those of many that are very alike,
 * which chance's are not, may vary by more. */
#define REGULAR    0.08
#define IRREGULAR  0.16
#define VERY_ALIKE 0.75
#define MANY       5
/* Steps of an epoch; what holds fewer is a cycle of epochs. */
#define STEPS_LEAST 6.5
/* Steps are at another level for this part of their time or more, epochs may be for less. */
#define STEP_LEAST 0.25
/* More alike than repetitions of a shorter period in a row: it is not a multiple of it. */
#define BEYOND 0.1
/* The same of a cycle that holds few: the shorter period explains next to nothing. */
#define MOST 0.4
/* Of few repetitions more is asked, by these over their number: of
 * BEYOND and MOST, and of ALIKE. */
#define CHANCE 1.0
#define FEW    0.5
#define LEAST  2 /* intervals that can be compared */

static bool told(const track *t)
{
    const bool very_alike = t->n >= MANY && t->quality >= VERY_ALIKE;

    return t->n >= LEAST && t->quality >= ALIKE + FEW / (double)t->n &&
           t->spread <= (very_alike ? IRREGULAR : REGULAR);
}

/* What an epoch holds is noted beside it. */
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
    const found_places f      = { t->place, t->alike, t->n, s->active_from, s->active_to, t->bin };
    lm_status          status = label_epochs(g, &f, out, err);

    out->evaluation = t->other >= 0.02 ? t->other : NAN;
    return status;
}

/* Is `outer` more than repetitions of `inner`? An epoch of steps is; so is a cycle of few epochs,
 * of which some are evaluated: those are epochs still, unless hardly told. Short pauses part
 * epochs; steps are at another level for a good part of their time. */
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

/* Events of a level may be none at the one that a period is tracked at: then, where a shorter one
 * is told already, in the metric itself. */
static lm_status track_period(const series *s, const period *p, bool shorter, track *out,
                              lm_error *err)
{
    const lm_status status = track_epochs(s, p, out, err);
    period          plain  = *p;

    plain.events = false;
    return status == LM_E_NOTFOUND && p->events && shorter ? track_epochs(s, &plain, out, err)
                                                           : status;
}

/* Of all periods that are told, from the shortest on, the one that holds those before. */
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

/* Where nothing repeats often enough: a whole run of few epochs. */
static lm_status take_few(const trace_grid *g, const series *s, epochs *out, lm_error *err)
{
    few_epochs      few;
    const lm_status status = few_find(s, ALIKE, FEW, &few, err);

    if (status)
        return status;
    return label_epochs(
        g, &(found_places){ few.place, few.alike, few.n, s->active_from, s->active_to, few.bin },
        out, err);
}

lm_status epochs_by_tracking(const trace_grid *g, epochs *out, lm_error *err)
{
    series    s;
    period    p[PERIODS_MAX];
    track     best;
    size_t    n      = 0;
    bool      found  = false;
    lm_status status = series_of(g, &s, err);

    if (status)
        return status;
    status = periods_find(&s, p, &n, err);
    if (!status)
        status = choose(&s, p, n, &best, &found, out, err);
    if (!status && found) {
        status = take(g, &s, &best, out, err);
    } else if (!status && (status = take_few(g, &s, out, err)) == LM_E_NOTFOUND) {
        status = lm_error_set(
            err, LM_E_NOTFOUND,
            "nothing repeats twice or more in %.4g s: less than two epochs, or none that "
            "this metric shows",
            g->step * (double)g->n);
    }
    if (found)
        track_free(&best);
    series_free(&s);
    return status;
}
