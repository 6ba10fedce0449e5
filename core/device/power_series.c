/* Mean power from samples of a device. */
#include "device/power_series.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/stats.h"

static void push(power_series *s, double seconds, double watts)
{
    if (array_grow(&s->piece, s->n, &s->room, sizeof *s->piece))
        s->piece[s->n++] = (power_piece){ seconds, watts };
    else
        s->lost = true;
}

void power_series_look(power_series *s, double time, double joules, double watts)
{
    const bool   counter = isfinite(joules);
    const double seconds = time - s->time;

    if ((!counter && !isfinite(watts)) || (s->begun && !(seconds > 0)) ||
        (counter && s->begun && joules == s->joules))
        return;
    if (counter && s->begun && joules < s->joules) {
        s->resets++;
        s->moved = false;
    } else if (counter && s->moved) {
        push(s, seconds, (joules - s->joules) / seconds);
    } else if (counter) {
        s->moved = s->begun;
    } else if (s->begun) {
        push(s, seconds, watts);
    }
    s->begun  = true;
    s->time   = time;
    s->joules = joules;
}

void power_series_free(power_series *s)
{
    free(s->piece);
    *s = (power_series){ 0 };
}

/* Moments of the pieces from `first` on within `low` .. `high`. */
static stats_moments moments_of(const power_piece *p, size_t first, size_t n, double low,
                                double high)
{
    stats_moments m = { 0 };

    for (size_t i = first; i < n; i++)
        if (p[i].watts >= low && p[i].watts <= high)
            stats_add(&m, p[i].watts, p[i].seconds);
    return m;
}

static double median_of(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* A piece smoothed by its neighbours, so that one outlier does not count as a ramp (Tukey 1977,
 * running median). */
static power_piece smooth(const power_piece *p, size_t n, size_t i)
{
    const size_t before = i ? i - 1 : i, behind = i + 1 < n ? i + 1 : i;

    return (power_piece){ p[i].seconds, median_of(p[before].watts, p[i].watts, p[behind].watts) };
}

/* Number of pieces to leave out at the beginning, so that the standard error of the rest is least;
 * `backward`: at the end. */
static size_t find_ramp(const power_piece *p, size_t n, bool backward)
{
    stats_moments rest  = { 0 };
    size_t        best  = 0;
    double        least = HUGE_VAL;

    if (n < POWER_RAMP_PIECES)
        return 0;
    for (size_t d = n; d-- > 0;) {
        const power_piece one = smooth(p, n, backward ? n - 1 - d : d);

        stats_add(&rest, one.watts, one.seconds);
        if (d <= n / 2 && rest.squares / (rest.weight * rest.weight) <= least) {
            least = rest.squares / (rest.weight * rest.weight);
            best  = d;
        }
    }
    return best;
}

/* Finds both ends, twice, because one ramp may hide the other. */
static void find_ends(const power_piece *p, size_t n, bool to_the_end, size_t *first, size_t *end)
{
    *end = n;
    for (int i = 0; i < 2; i++) {
        *first = find_ramp(p, *end, false);
        if (!to_the_end)
            *end = n - find_ramp(p + *first, n - *first, true);
    }
}

static power_mean settle(const power_piece *piece, size_t n, bool to_the_end)
{
    power_mean    out = { .watts = NAN, .deviation = NAN };
    size_t        ramp, end, before;
    stats_moments m;

    find_ends(piece, n, to_the_end, &ramp, &end);
    m = moments_of(piece, ramp, end, -HUGE_VAL, HUGE_VAL);
    for (size_t i = 0; i < ramp; i++)
        out.ramp_seconds += piece[i].seconds;
    for (size_t i = end; i < n; i++)
        out.tail_seconds += piece[i].seconds;
    if (!m.n)
        return out;
    do {
        const double far = 3 * sqrt(m.squares / m.weight) + 1e-9 * fabs(m.mean);

        before = m.n;
        m      = moments_of(piece, ramp, end, m.mean - far, m.mean + far);
    } while (m.n && m.n < before);
    out.watts     = m.n ? m.mean : (double)NAN;
    out.deviation = sqrt(m.squares / m.weight);
    out.seconds   = m.weight;
    out.pieces    = m.n;
    out.strange   = end - ramp - m.n;
    return out;
}

power_mean power_settle(const power_piece *piece, size_t n)
{
    return settle(piece, n, true);
}

power_mean power_settle_run(const power_piece *piece, size_t n)
{
    return settle(piece, n, false);
}
