/* What is asked of a model. */
#include "fit/quantity.h"

#include <math.h>

static const char *const names[N_INTERVALS] = {
    [QUANTITY_FORWARD]       = "forward",
    [QUANTITY_BACKWARD]      = "backward",
    [QUANTITY_UPDATE]        = "update",
    [QUANTITY_SYNC]          = "sync",
    [QUANTITY_GRAD]          = "grad",
    [QUANTITY_BACKWARD_GRAD] = "backward+grad",
    [QUANTITY_STEP]          = "step",
    [QUANTITY_INFERENCE]     = "inference",
    [QUANTITY_GRAD_INPUT]    = "grad_input",
    [QUANTITY_GRAD_WEIGHT]   = "grad_weight",
    [QUANTITY_EXPOSED]       = "exposed",
    [QUANTITY_OVERLAPPED]    = "overlapped",
    [INTERVAL_STEP_MANY]     = "step_many",
};

const char *quantity_name(quantity q)
{
    return names[q];
}

size_t interval_slot_of(quantity q, bool many)
{
    if (q == QUANTITY_STEP && many)
        return INTERVAL_STEP_MANY;
    return q == QUANTITY_GRAD && !many ? (size_t)QUANTITY_UPDATE : (size_t)q;
}

const char *interval_slot_name(size_t slot)
{
    return names[slot];
}

/* Parts that add up to a quantity; N_QUANTITIES ends them, and begins them where there are none. */
static void parts_of(quantity q, bool many, quantity part[4])
{
    size_t n = 0;

    if (q == QUANTITY_STEP)
        part[n++] = QUANTITY_FORWARD;
    if (q == QUANTITY_STEP || q == QUANTITY_BACKWARD_GRAD)
        part[n++] = QUANTITY_BACKWARD;
    if (n)
        part[n++] = QUANTITY_GRAD;
    if (q == QUANTITY_GRAD && many) {
        part[n++] = QUANTITY_SYNC;
        part[n++] = QUANTITY_UPDATE;
    }
    part[n] = N_QUANTITIES;
}

static widening reach_of(const interval *i, scope s, int64_t value)
{
    return interval_widening(i, interval_octaves(i, s, value > 0 ? (double)value : NAN));
}

void intervals_reach(const intervals *all, scope s, int64_t value, interval_reach *out)
{
    for (size_t slot = 0; slot < N_INTERVALS; slot++)
        out->of[slot] = reach_of(&all->of[slot], s, value);
}

/* The farthest of what a known interval is asked of. */
static double factor_at(const intervals *all, size_t slot, double seconds,
                        const interval_place *place)
{
    const interval *i    = &all->of[slot];
    const double    mine = interval_octaves(i, SCOPE_SECONDS, seconds);
    const widening  batch =
        place->of_batch ? place->of_batch->of[slot] : reach_of(i, SCOPE_BATCH, place->batch);
    const widening ranks =
        place->of_ranks ? place->of_ranks->of[slot] : reach_of(i, SCOPE_NODES, place->ranks);
    const widening *most = batch.octaves > ranks.octaves ? &batch : &ranks;

    return mine > most->octaves ? interval_widening(i, mine).factor : most->factor;
}

void intervals_at(const intervals *all, quantity q, const double seconds[N_QUANTITIES],
                  const interval_place *place, double *low, double *high)
{
    const bool   many = place->ranks > 1;
    const size_t slot = interval_slot_of(q, many);
    quantity     part[4];

    if (interval_known(&all->of[slot])) {
        interval_widened(&all->of[slot], seconds[q], factor_at(all, slot, seconds[q], place), low,
                         high);
        return;
    }
    parts_of(q, many, part);
    *low = *high = part[0] == N_QUANTITIES ? NAN : 0;
    for (size_t i = 0; part[i] != N_QUANTITIES; i++) {
        double a, b;

        intervals_at(all, part[i], seconds, place, &a, &b);
        *low += a;
        *high += b;
    }
}

void intervals_of_step(const intervals *all, const double seconds[N_QUANTITIES],
                       const interval_place *place, double low[N_QUANTITIES],
                       double high[N_QUANTITIES])
{
    static const quantity order[] = { /* parts before what they add up to */
                                      QUANTITY_FORWARD, QUANTITY_BACKWARD, QUANTITY_UPDATE,
                                      QUANTITY_SYNC,    QUANTITY_GRAD,     QUANTITY_BACKWARD_GRAD,
                                      QUANTITY_STEP
    };
    const bool many = place->ranks > 1;

    for (quantity q = 0; q < N_QUANTITIES; q++)
        low[q] = high[q] = NAN;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const quantity q    = order[i];
        const size_t   slot = interval_slot_of(q, many);
        quantity       part[4];

        if (interval_known(&all->of[slot])) {
            interval_widened(&all->of[slot], seconds[q], factor_at(all, slot, seconds[q], place),
                             &low[q], &high[q]);
            continue;
        }
        parts_of(q, many, part);
        if (part[0] != N_QUANTITIES)
            low[q] = high[q] = 0;
        for (size_t k = 0; part[k] != N_QUANTITIES; k++) {
            low[q] += low[part[k]];
            high[q] += high[part[k]];
        }
    }
}
