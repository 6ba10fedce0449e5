/* Power and energy of a predicted step. */
#include "predict/step_power.h"

#include <math.h>

static bool compute_known(const bottleneck_of *b)
{
    double all = 0;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        all += b->compute[k];
    return all > 0;
}

/* Seconds in exposed messages. */
static double sent_of(const bottleneck_of *b)
{
    return fmax(0, b->seconds[BOTTLENECK_INTRA_NODE]) + fmax(0, b->seconds[BOTTLENECK_INTER_NODE]);
}

power_load step_load(const bottleneck_of *b)
{
    power_load load = { .join = 1 };
    double     all  = 0;

    for (bottleneck k = 0; k < N_BOTTLENECKS; k++)
        if (b->seconds[k] > 0) {
            if (k == BOTTLENECK_COMPUTE && compute_known(b))
                for (term_bound t = 0; t < N_TERM_BOUNDS; t++)
                    load.share[t] += b->compute[t] * b->seconds[k];
            else if (k == BOTTLENECK_COMPUTE)
                load.share[BOUND_ARITHMETIC] += b->seconds[k];
            else if (k < (int)N_TERM_BOUNDS)
                load.share[k] += b->seconds[k];
            else
                load.wait += b->seconds[k];
            all += b->seconds[k];
        }
    for (term_bound k = 0; k < N_TERM_BOUNDS && all > 0; k++) {
        load.wait += (1 - b->others) * load.share[k];
        load.share[k] *= b->others / all;
    }
    load.wait = all > 0 ? fmax(0, load.wait / all) : 0;
    if (b->seconds[BOTTLENECK_BUBBLE] > 0)
        load.bubble = fmax(0, load.wait - sent_of(b) / all);
    return load;
}

/* By the model's own power of a device at work, and what is drawn while it waits for others. */
static bounded told_watts(const power_model *m, const prediction *step)
{
    const double waits = fmax(0, step->step - step->own_seconds);
    power_range  rest  = { 0, 0, 0 };

    if (waits > 1e-9 * step->step)
        rest = power_known(m) ? power_waiting(m) : (power_range){ NAN, NAN, NAN };
    return (bounded){ (step->own_joules.value + waits * rest.value) / step->step,
                      (step->own_joules.low + waits * rest.low) / step->step,
                      (step->own_joules.high + waits * rest.high) / step->step };
}

/* Bound of the mean power: waiting power at one end of its range, and the rest at one end of its
 * interval. */
static double watts_at(const power_model *m, const power_load *load, double waiting, double end)
{
    power_model at = *m;

    if (m->assumed && load->wait > 0)
        end = 1;
    at.wait_w = waiting;
    return end * power_usual(&at, load).watts;
}

/* Mean power from the shares of time by bound, or from the time at work. */
static bounded watts_of(const power_model *m, const bottleneck_of *b)
{
    const power_load  load  = step_load(b);
    const power_range waits = power_waiting(m);
    /* a fitted power needs the bounds of the time, an assumed one only the time at work */
    const bool known =
        power_known(m) && (m->assumed || !(b->seconds[BOTTLENECK_COMPUTE] > 0) || compute_known(b));

    if (!known)
        return (bounded){ NAN, NAN, NAN };
    return (bounded){ power_usual(m, &load).watts, watts_at(m, &load, waits.low, m->low),
                      watts_at(m, &load, waits.high, m->high) };
}

step_power step_power_of(const power_model *m, const bottleneck_of *b, const prediction *step)
{
    const double all  = (double)step->nodes * (double)step->devices;
    const double low  = step->low[PHASE_STEP] / step->step;
    const double high = step->high[PHASE_STEP] / step->step;
    const bool   told = step->own_joules.value > 0;
    step_power   out  = { .watts = told ? told_watts(m, step) : watts_of(m, b), .learned = told };
    const double less = out.watts.low / out.watts.value, more = out.watts.high / out.watts.value;

    if (out.watts.high > m->cap_w)
        out.watts.high = m->cap_w;
    out.joules.value = out.watts.value * all * step->step;
    out.joules.low   = out.joules.value / interval_of_product(low, less);
    out.joules.high  = out.joules.value * interval_of_product(high, more);
    out.edp          = out.joules.value * step->step;
    return out;
}

step_energy step_energy_of(const power_model *m, const bottleneck_of *b, const prediction *step,
                           const power_state *at)
{
    const double     devices = (double)step->nodes * (double)step->devices;
    const power_load load    = step_load(b);
    const double     sent = (load.wait - load.bubble) * step->step, own = step->step - sent;
    const double     longer = own > 0 ? (step->step * at->stretch - sent) / own : 1;
    double           watts  = power_waiting(m).value;
    step_energy      out    = { 0, 0, 0 };

    if (isfinite(at->mhz) && power_clocks_known(m))
        watts = m->idle_w + (watts - m->idle_w) * power_dynamic(m, at->mhz);
    if (load.wait > 0) {
        out.messages = watts * sent * devices;
        out.bubbles  = watts * load.bubble * step->step * longer * devices;
    }
    out.computing = at->watts * devices * step->step * at->stretch - out.messages - out.bubbles;
    return out;
}

const char *step_power_by(const power_model *m, const step_power *p)
{
    return isnan(p->watts.value) ? "" : p->learned ? "learned" : m->assumed ? "assumed" : "fitted";
}
