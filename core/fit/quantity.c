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

void intervals_at(const intervals *all, quantity q, const double seconds[N_QUANTITIES],
                  int64_t batch, int64_t nodes, double *low, double *high)
{
    const bool      many         = nodes > 1;
    const interval *own          = &all->of[interval_slot_of(q, many)];
    const double    at[N_SCOPES] = { [SCOPE_SECONDS] = seconds[q],
                                     [SCOPE_BATCH]   = batch > 0 ? (double)batch : NAN,
                                     [SCOPE_NODES]   = (double)nodes };
    quantity        part[4];

    if (interval_known(own)) {
        interval_at(own, seconds[q], at, low, high);
        return;
    }
    parts_of(q, many, part);
    *low = *high = part[0] == N_QUANTITIES ? NAN : 0;
    for (size_t i = 0; part[i] != N_QUANTITIES; i++) {
        double a, b;

        intervals_at(all, part[i], seconds, batch, nodes, &a, &b);
        *low += a;
        *high += b;
    }
}
