/* Under what conditions a rank measured a point. */
#include "measure/conditions.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"

/* A device with a state of its own is not slowed down by waiting threads of its host. */
static bool is_cpu(const backend *device)
{
    return !device->type->virtual && !device->type->state;
}

static machine_state state_now(const backend *device)
{
    machine_state s = machine_state_unknown();

    if (device->type->state)
        device->type->state(device, &s);
    else if (!device->type->virtual)
        s = machine_state_cpu();
    return s;
}

/* At most so many looks at the clock a point: each costs system calls. */
static void look_at_clock(conditions *c)
{
    const size_t        places = sizeof c->clock / sizeof c->clock[0];
    const machine_state now    = state_now(c->device);

    if (!isnan(now.clock_mhz) && c->n_clocks < places)
        c->clock[c->n_clocks++] = now.clock_mhz;
    c->throttled |= now.held_down || now.throttles > c->throttles;
    c->throttles = now.throttles;
}

lm_status conditions_open(conditions *c, const backend *device, size_t max_repetitions,
                          lm_error *err)
{
    *c         = (conditions){ .device = device, .room = max_repetitions, .waits_known = true };
    c->stretch = malloc((max_repetitions + 1) * sizeof *c->stretch);
    c->own     = malloc((max_repetitions + 1) * sizeof *c->own);
    if (!c->stretch || !c->own)
        return no_memory(err);
    c->queue     = is_cpu(device) ? run_queue_open(NULL) : NULL;
    c->throttles = state_now(device).throttles;
    return LM_OK;
}

void conditions_phase_begins(conditions *c)
{
    run_queue_mark(c->queue);
}

void conditions_phase_ended(conditions *c, backend_time *t)
{
    double waited = run_queue_waited(c->queue);

    /* the CPU time of one thread says the same, but for the calls that ask for it */
    if (isnan(waited) && (c->device->type->virtual || t->wall > 1e-4))
        waited = t->wall - t->cpu;
    else if (isnan(t->cpu) && waited < t->wall) /* not, if waited is unknown */
        t->cpu = t->wall - waited;
    c->waits_known &= !isnan(waited);
    c->wall += t->wall;
    c->waited += fmin(fmax(waited, 0), t->wall);
}

void conditions_repetition_ended(conditions *c)
{
    if (c->n < c->room && c->wall > 0) {
        c->own[c->n] = c->wall;
        /* waited all the time, as clocks see it: more than any limit */
        c->stretch[c->n++] = c->waited < c->wall ? c->wall / (c->wall - c->waited) : HUGE_VAL;
        if ((c->n & (c->n - 1)) == 0) /* the first, second, fourth, eighth ... */
            look_at_clock(c);
    }
    c->wall = c->waited = 0;
}

condition_report conditions_close(conditions *c)
{
    condition_report r = { .stretch = NAN, .own_seconds = NAN, .clock_mhz = NAN };

    if (c->n) {
        look_at_clock(c);
        r.own_seconds = stats_quantile(c->own, c->n, 0.5);
        if (c->waits_known)
            r.stretch = stats_quantile(c->stretch, c->n, 0.5);
    }
    for (size_t i = 0; i < c->n; i++)
        r.seconds += c->own[i];
    r.heat_told = !isnan(c->throttles);
    if (c->n_clocks)
        r.clock_mhz = stats_quantile(c->clock, c->n_clocks, 0.5);
    r.throttled    = c->throttled;
    r.waits_untold = c->device && is_cpu(c->device) && !c->waits_known;
    run_queue_close(c->queue);
    free(c->stretch);
    free(c->own);
    *c = (conditions){ .n = 0 };
    return r;
}
