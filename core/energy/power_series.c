/* Mean power from looks at a device. */
#include "energy/power_series.h"

#include <math.h>
#include <stdlib.h>

static void push(power_series *s, double seconds, double watts)
{
    if (s->n == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        power_piece *more = realloc(s->piece, room * sizeof *more);

        if (!more) {
            s->lost = true;
            return;
        }
        s->piece = more;
        s->room  = room;
    }
    s->piece[s->n++] = (power_piece){ seconds, watts };
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

/* Of pieces from `first` on that are within `low` .. `high`. */
typedef struct moments {
    double seconds, mean, squares; /* squares: of what is off the mean, by time */
    size_t n;
} moments;

/* One more (West 1979, "Updating mean and variance estimates"). */
static void take(moments *m, const power_piece *p)
{
    const double off = p->watts - m->mean;

    m->seconds += p->seconds;
    m->mean += off * p->seconds / m->seconds;
    m->squares += p->seconds * off * (p->watts - m->mean);
    m->n++;
}

static moments moments_of(const power_piece *p, size_t first, size_t n, double low, double high)
{
    moments m = { 0, 0, 0, 0 };

    for (size_t i = first; i < n; i++)
        if (p[i].watts >= low && p[i].watts <= high)
            take(&m, &p[i]);
    return m;
}

/* Where the rest's standard error is least. */
static size_t find_ramp(const power_piece *p, size_t n)
{
    moments rest  = { 0, 0, 0, 0 };
    size_t  best  = 0;
    double  least = HUGE_VAL;

    if (n < POWER_RAMP_PIECES)
        return 0;
    for (size_t d = n; d-- > 0;) {
        take(&rest, &p[d]);
        if (d <= n / 2 && rest.squares / (rest.seconds * rest.seconds) <= least) {
            least = rest.squares / (rest.seconds * rest.seconds);
            best  = d;
        }
    }
    return best;
}

power_mean power_settle(const power_piece *piece, size_t n)
{
    const size_t ramp = find_ramp(piece, n);
    moments      m    = moments_of(piece, ramp, n, -HUGE_VAL, HUGE_VAL);
    power_mean   out  = { .watts = NAN };
    size_t       before;

    for (size_t i = 0; i < ramp; i++)
        out.ramp_seconds += piece[i].seconds;
    if (!m.n)
        return out;
    do {
        const double far = 3 * sqrt(m.squares / m.seconds) + 1e-9 * fabs(m.mean);

        before = m.n;
        m      = moments_of(piece, ramp, n, m.mean - far, m.mean + far);
    } while (m.n && m.n < before);
    out.watts   = m.n ? m.mean : (double)NAN;
    out.seconds = m.seconds;
    out.pieces  = m.n;
    out.strange = n - ramp - m.n;
    return out;
}
