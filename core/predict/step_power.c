/* Power and energy of a predicted step. */
#include "predict/step_power.h"

#include <math.h>

power_load step_load(const bottleneck_of *b)
{
    static const term_bound bound[N_BOTTLENECKS] = {
        [BOTTLENECK_ARITHMETIC] = BOUND_ARITHMETIC, [BOTTLENECK_TRAFFIC] = BOUND_TRAFFIC,
        [BOTTLENECK_LAUNCH] = BOUND_LAUNCH,         [BOTTLENECK_INTRA_NODE] = BOUND_LAUNCH,
        [BOTTLENECK_INTER_NODE] = BOUND_LAUNCH,     [BOTTLENECK_COMPUTE] = BOUND_ARITHMETIC,
    };
    power_load load = { { 0 } };
    double     all  = 0;

    for (bottleneck k = 0; k < N_BOTTLENECKS; k++)
        if (b->seconds[k] > 0) {
            load.share[bound[k]] += b->seconds[k];
            all += b->seconds[k];
        }
    for (term_bound k = 0; k < N_TERM_BOUNDS && all > 0; k++)
        load.share[k] /= all;
    return load;
}

/* Of a product, each factor's bounds by chance apart from the other's. */
static double both(double a, double b)
{
    return exp(sqrt(log(a) * log(a) + log(b) * log(b)));
}

step_power step_power_of(const power_model *m, const bottleneck_of *b, const prediction *step)
{
    const power_load  load  = step_load(b);
    const double      all   = (double)step->nodes * (double)step->devices;
    const power_state usual = power_usual(m, &load);
    const double      low   = step->low[QUANTITY_STEP] / step->step;
    const double      high  = step->high[QUANTITY_STEP] / step->step;
    /* a fitted power asks what bounds the time; one that is assumed only whether a device works */
    const bool known = power_known(m) && (m->assumed || !(b->seconds[BOTTLENECK_COMPUTE] > 0));
    step_power out   = { .watts.value = known ? usual.watts : (double)NAN };

    out.watts.low  = out.watts.value * m->low;
    out.watts.high = out.watts.value * m->high;
    if (out.watts.high > m->cap_w)
        out.watts.high = m->cap_w;
    out.joules.value = out.watts.value * all * step->step;
    out.joules.low   = out.joules.value / both(low, m->low);
    out.joules.high  = out.joules.value * both(high, m->high);
    out.edp          = out.joules.value * step->step;
    return out;
}
