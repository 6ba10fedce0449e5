/* Is a longer period more than repetitions of a shorter one? */
#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "epochs/stretch.h"
#include "epochs/track.h"

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
