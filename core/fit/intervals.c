/* Intervals of the predicted times of a model. */
#include "fit/intervals.h"

#include <math.h>

phase interval_phase(phase p, bool many)
{
    if (p == PHASE_STEP && many)
        return PHASE_STEP_MANY;
    return p == PHASE_GRAD && !many ? PHASE_UPDATE : p;
}

static widening reach_of(const interval *i, scope s, int64_t value)
{
    return interval_widening(i, interval_ratio(i, s, value > 0 ? (double)value : NAN));
}

void intervals_reach(const intervals *all, scope s, int64_t value, interval_reach *out)
{
    out->known = 0;
    for (phase p = 0; p < N_TIMES; p++) {
        out->of[p] = reach_of(&all->of[p], s, value);
        out->known |= interval_known(&all->of[p]) ? 1u << p : 0;
    }
}

/* By the scope that it lies farthest outside of. */
static double factor_at(const interval *i, phase slot, double seconds, const interval_place *place)
{
    const double   mine = interval_ratio(i, SCOPE_SECONDS, seconds);
    const widening batch =
        place->of_batch ? place->of_batch->of[slot] : reach_of(i, SCOPE_BATCH, place->batch);
    const widening ranks =
        place->of_ranks ? place->of_ranks->of[slot] : reach_of(i, SCOPE_NODES, place->ranks);
    const widening most = batch.ratio > ranks.ratio ? batch : ranks;

    return mine > most.ratio ? interval_widening(i, mine).factor : most.factor;
}

/* By the interval of a time itself. False: it is unknown, and the bounds are as they were. */
static inline bool bound_own(const intervals *all, phase slot, double seconds,
                             const interval_place *place, double *low, double *high)
{
    const interval *i = &all->of[slot];

    if (!(place->of_batch ? place->of_batch->known >> slot & 1 : interval_known(i)))
        return false;
    interval_widened(i, seconds, factor_at(i, slot, seconds, place), low, high);
    return true;
}

/* Of a time that is a sum of others. */
static double sum_of(const double from[N_TIMES], bool many, phase p)
{
    if (p == PHASE_GRAD && many)
        return from[PHASE_SYNC] + from[PHASE_UPDATE];
    if (p == PHASE_BACKWARD_GRAD)
        return from[PHASE_BACKWARD] + from[PHASE_GRAD];
    if (p == PHASE_STEP)
        return from[PHASE_FORWARD] + from[PHASE_BACKWARD] + from[PHASE_GRAD];
    return NAN;
}

void intervals_of_step(const intervals *all, const double seconds[N_TIMES],
                       const interval_place *place, double low[N_TIMES], double high[N_TIMES])
{
    static const phase order[] = { /* parts before what they add up to */
                                   PHASE_FORWARD, PHASE_BACKWARD,      PHASE_UPDATE, PHASE_SYNC,
                                   PHASE_GRAD,    PHASE_BACKWARD_GRAD, PHASE_STEP
    };
    const bool many = place->ranks > 1;

    for (phase p = 0; p < N_TIMES; p++)
        low[p] = high[p] = NAN;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const phase p = order[i];

        if (!bound_own(all, interval_phase(p, many), seconds[p], place, &low[p], &high[p])) {
            low[p]  = sum_of(low, many, p);
            high[p] = sum_of(high, many, p);
        }
    }
}

void intervals_at(const intervals *all, phase p, const double seconds[N_TIMES],
                  const interval_place *place, double *low, double *high)
{
    double lows[N_TIMES], highs[N_TIMES];

    *low = *high = NAN;
    if (bound_own(all, interval_phase(p, place->ranks > 1), seconds[p], place, low, high))
        return;
    intervals_of_step(all, seconds, place, lows, highs);
    *low  = lows[p];
    *high = highs[p];
}
