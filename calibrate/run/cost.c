/* How long measuring a point takes. */
#include "run/cost.h"

#include <math.h>

static void solve(cost_line *l)
{
    const double below = l->ff * l->xx - l->fx * l->fx;

    l->fixed  = (l->f * l->xx - l->x * l->fx) / below;
    l->factor = (l->x * l->ff - l->f * l->fx) / below;
    if (l->fixed < 0) {
        l->fixed  = 0;
        l->factor = l->x / l->xx;
    }
    if (l->factor < 0.05) { /* repetitions are a part of the cost in any case */
        l->factor = 0.05;
        l->fixed  = fmax(0, (l->f - 0.05 * l->fx) / l->ff);
    }
}

void cost_begin(cost_model *m, bool virtual)
{
    for (obs_kind k = 0; k < OBS_N_KINDS; k++) {
        const double fixed = virtual ? 1e-9 : k == OBS_NETWORK ? STOPPING_NETWORK_SECONDS : 0.02;

        /* each starting value weighs as a twentieth of a measured point */
        m->kind[k] =
            (cost_line){ .ff = 0.05 / (fixed * fixed), .xx = 0.05, .f = 0.05 / fixed, .x = 0.05 };
        solve(&m->kind[k]);
    }
}

double cost_expected(const cost_model *m, const stopping *stop, obs_kind kind, double once)
{
    return m->kind[kind].fixed + m->kind[kind].factor * stopping_seconds(stop, once);
}

void cost_learn(cost_model *m, const stopping *stop, obs_kind kind, double once, double seconds)
{
    cost_line   *l = &m->kind[kind];
    const double f = 1 / seconds, x = stopping_seconds(stop, once) / seconds;

    if (!(seconds > 0) || !isfinite(x))
        return;
    l->ff += f * f;
    l->fx += f * x;
    l->xx += x * x;
    l->f += f;
    l->x += x;
    solve(l);
}

double cost_guess_once(const sweep *plan, const sweep_point *p)
{
    /* a kernel by itself reads much of its data from a cache */
    const double flop = 1 / plan->flops_per_second, byte = 0.4 / plan->bytes_per_second;

    if (p->row.kind == OBS_KERNEL) {
        const lm_work w = lm_kernel_work(&p->kernel);

        return 1e-5 + (double)w.flops * flop + (double)(w.read_bytes + w.written_bytes) * byte;
    }
    if (p->row.kind == OBS_LAYER)
        return 3e-5 + 3 * (double)p->counts.flops_forward * flop +
               (double)(p->counts.read_bytes + p->counts.written_bytes) * byte;
    return 2e-5 * (double)p->row.ranks + 20 * byte * (double)p->row.bytes;
}
