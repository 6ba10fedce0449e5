/* Power of a training device, and the effect of another clock. */
#include "device/power.h"

#include <math.h>

/* Tolerance of the search for the clock under a limit. */
#define SAME 1e-9

const char *best_for_name(best_for b)
{
    static const char *const name[N_BEST_FOR] = { "time", "energy", "edp" };

    return name[b];
}

void clocks_try(const power_model *m, const power_load *load, double cap_w, const double *mhz,
                size_t n, power_state *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = power_held(m, load, mhz[i], cap_w);
}

static double cost(const power_state *s, best_for what)
{
    switch (what) {
    case BEST_ENERGY: return s->watts * s->stretch;
    case BEST_EDP: return s->watts * s->stretch * s->stretch;
    case BEST_TIME:
    case N_BEST_FOR: break;
    }
    return s->stretch;
}

size_t clocks_best(const power_state *at, size_t n, best_for what)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        if (cost(&at[i], what) < cost(&at[best], what) * (1 - SAME))
            best = i;
    return best;
}

void clocks_usual(const power_model *m, double out[CLOCKS_USUAL])
{
    for (int i = 0; i < CLOCKS_USUAL; i++)
        out[i] = m->top_mhz * (i + 1) / CLOCKS_USUAL;
}

const power_model power_unknown = {
    .bound_w       = { NAN, NAN, NAN },
    .idle_w        = NAN,
    .wait_w        = NAN,
    .cap_w         = NAN,
    .top_mhz       = NAN,
    .knee_mhz      = NAN,
    .slope         = 1,
    .low_mhz       = NAN,
    .high_mhz      = NAN,
    .mape          = NAN,
    .held_out_mape = NAN,
    .low           = NAN,
    .high          = NAN,
};

bool power_known(const power_model *m)
{
    return isfinite(m->bound_w[BOUND_ARITHMETIC]);
}

bool power_clocks_known(const power_model *m)
{
    return power_known(m) && isfinite(m->idle_w) && isfinite(m->top_mhz) && isfinite(m->knee_mhz);
}

static double volts(const power_model *m, double mhz)
{
    return 1 + m->slope * fmax(0, mhz / m->knee_mhz - 1);
}

double power_dynamic(const power_model *m, double mhz)
{
    const double v = volts(m, mhz) / volts(m, m->top_mhz);

    return mhz / m->top_mhz * v * v;
}

power_range power_waiting(const power_model *m)
{
    const double rest = isnan(m->idle_w) ? m->bound_w[BOUND_LAUNCH] : m->idle_w;
    double       most = rest;

    if (isfinite(m->wait_w))
        return (power_range){ m->wait_w, m->wait_w, m->wait_w };
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        most = fmax(most, m->bound_w[k]);
    if (most > m->cap_w)
        most = fmax(rest, m->cap_w);
    return (power_range){ (rest + most) / 2, rest, most };
}

double power_memory_share(const power_load *load)
{
    return fmax(load->share[BOUND_TRAFFIC] - load->more, 0);
}

double power_draw(const power_model *m, const power_load *load, double mhz)
{
    const double still   = m->memory_w * power_memory_share(load);
    double       watts   = 0;
    const bool   the_top = isnan(mhz);

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        watts += m->bound_w[k] * load->share[k];
    if (load->wait > 0)
        watts += power_waiting(m).value * load->wait;
    if (the_top)
        return watts;
    return m->idle_w + still + (watts - m->idle_w - still) * power_dynamic(m, mhz);
}

double power_slow_down(const power_load *load, double slower, power_load *out)
{
    const double p       = load->join > 1 ? load->join : 1;
    const double clocked = load->share[BOUND_ARITHMETIC] + load->more;
    const double work    = load->share[BOUND_ARITHMETIC] + load->share[BOUND_TRAFFIC];
    const double others  = fmax(1 - pow(work, p), 0); /* to the power of p */
    const double slow    = work + (slower - 1) * clocked;
    const double own     = pow(others + pow(slow, p), 1 / p);
    /* waiting for the work of other devices */
    const double busy = 1 - load->wait;
    const double more = busy > 0 ? load->bubble * (own - 1) / busy : 0;
    const double all  = own + more;
    double      *to   = out->share;

    *out = *load;
    to[BOUND_ARITHMETIC] += (slower - 1) * fmin(clocked, to[BOUND_ARITHMETIC]);
    to[BOUND_TRAFFIC] += (slower - 1) * fmax(load->more, 0);
    to[BOUND_ARITHMETIC] /= all;
    to[BOUND_TRAFFIC] /= all;
    out->wait        = (load->wait + more) / all;
    out->bubble      = (load->bubble + more) / all;
    to[BOUND_LAUNCH] = fmax(1 - slow / all - out->wait, 0);
    out->more        = slower * clocked / all - to[BOUND_ARITHMETIC];
    return all;
}

/* State at another clock; `load` has the shares at clock `usual`. */
static power_state state_at(const power_model *m, const power_load *load, double usual, double mhz)
{
    power_load  slow;
    power_state s = { .mhz = mhz };

    s.stretch = power_slow_down(load, usual / mhz, &slow);
    s.watts   = power_draw(m, &slow, mhz);
    return s;
}

/* No board runs slower than this share of its top clock. */
#define LEAST_CLOCK 0.05

/* The load without waiting. */
static power_load at_work(const power_load *load)
{
    const double busy = 1 - load->wait;
    power_load   out  = *load;

    if (!(load->wait > 0) || !(busy > 0))
        return out;
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        out.share[k] /= busy;
    out.more /= busy;
    out.wait = out.bubble = 0;
    return out;
}

/* The highest clock up to `highest` at which the device draws no more than the limit at work. Power
 * grows with the clock: the arithmetic's energy does not shrink, but its time does. With `usual`
 * NAN the shares are those at each clock. */
static double clock_under(const power_model *m, const power_load *load, double usual,
                          double highest, double cap_w)
{
    const power_load work = at_work(load);
    double           low = LEAST_CLOCK * m->top_mhz, high = highest;

    if (!(state_at(m, &work, isnan(usual) ? high : usual, high).watts > cap_w))
        return high;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;

        if (state_at(m, &work, isnan(usual) ? middle : usual, middle).watts > cap_w)
            high = middle;
        else
            low = middle;
    }
    return low;
}

power_state power_usual(const power_model *m, const power_load *load)
{
    power_state s = { .mhz = NAN, .watts = power_draw(m, load, NAN), .stretch = 1 };

    if (power_clocks_known(m))
        s.mhz = clock_under(m, load, NAN, m->top_mhz, m->cap_w);
    if (s.watts > m->cap_w)
        s.watts = m->cap_w;
    return s;
}

/* The model with scaled dynamic power, so that `told` becomes `watts`. */
static power_model scaled(const power_model *m, double watts, double told)
{
    power_model out   = *m;
    double      scale = (watts - m->idle_w) / (told - m->idle_w);

    if (watts >= POWER_AT_CAP * m->cap_w)
        scale = fmax(scale, 1);
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        out.bound_w[k] = m->idle_w + scale * (m->bound_w[k] - m->idle_w);
    out.memory_w = scale * m->memory_w;
    out.wait_w   = m->idle_w + scale * (m->wait_w - m->idle_w);
    return out;
}

power_model power_as_measured(const power_model *m, const power_load *load, double watts)
{
    return scaled(m, watts, power_draw(m, load, NAN));
}

power_state power_held(const power_model *m, const power_load *load, double mhz, double cap_w)
{
    const power_state usual = power_usual(m, load);
    const double      limit = isnan(cap_w) ? m->cap_w : cap_w;
    double            highest;

    const power_load work = at_work(load);

    if (isnan(mhz) && !(fmin(power_draw(m, &work, NAN), m->cap_w) > limit) && !(cap_w > m->cap_w))
        return usual;
    if (!power_clocks_known(m))
        return (power_state){ .mhz = NAN, .watts = NAN, .stretch = NAN };
    highest = isnan(mhz) ? m->top_mhz : mhz;
    return state_at(m, load, usual.mhz, clock_under(m, load, usual.mhz, highest, limit));
}

power_state power_carried(const power_model *m, const power_load *load, double watts,
                          double from_mhz, double to_mhz)
{
    const bool  drawn = isfinite(watts);
    power_model own   = *m;
    power_state from, to;

    if (drawn)
        own = isnan(from_mhz) ? power_as_measured(m, load, watts)
                              : scaled(m, watts, power_held(m, load, from_mhz, NAN).watts);
    from = power_held(&own, load, from_mhz, NAN);
    to   = power_held(&own, load, to_mhz, NAN);
    to.stretch /= from.stretch;
    if (!drawn)
        to.watts = NAN;
    return to;
}
