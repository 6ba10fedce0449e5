/* The largest share of a step's time. */
#include "predict/bottleneck.h"

#include <math.h>
#include <stdlib.h>

_Static_assert((int)BOTTLENECK_ARITHMETIC == (int)BOUND_ARITHMETIC &&
                   (int)BOTTLENECK_TRAFFIC == (int)BOUND_TRAFFIC &&
                   (int)BOTTLENECK_LAUNCH == (int)BOUND_LAUNCH,
               "a device's own bottlenecks are bounds of terms");

const char *bottleneck_name(bottleneck b)
{
    static const char *const name[N_BOTTLENECKS] = {
        [BOTTLENECK_ARITHMETIC] = "arithmetic", [BOTTLENECK_TRAFFIC] = "traffic",
        [BOTTLENECK_LAUNCH] = "launch",         [BOTTLENECK_INTRA_NODE] = "intra-node",
        [BOTTLENECK_INTER_NODE] = "inter-node", [BOTTLENECK_BUBBLE] = "bubble",
        [BOTTLENECK_COMPUTE] = "compute",
    };

    return name[b];
}

const char *sync_bound_name(sync_bound b)
{
    return b == SYNC_BOUND_LATENCY ? "latency" : b == SYNC_BOUND_BANDWIDTH ? "bandwidth" : "";
}

static bound_seconds grow(const double *first, const double *second)
{
    bound_seconds b;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++) {
        b.first[k] = first[k];
        b.more[k]  = second[k] - first[k];
    }
    return b;
}

lm_status bottleneck_profile_of(const predictor *by, const step_setup *s, bottleneck_profile *out,
                                lm_error *err)
{
    const predictor     part = predictor_part(by, s), *who = &part;
    const workload_name of = predictor_workload(who, s->program);
    step_setup          at = *s;
    bound_price         one, two;
    bool                even   = false;
    lm_error            why    = { 0 };
    lm_status           status = LM_OK;

    *out = (bottleneck_profile){ .batch = 0 };
    if (!who->by->bounds)
        return LM_OK;
    if (who->by->grows_evenly)
        status = workloads_even(who->loads, &of, &even, err);
    if (status)
        return status;
    at.batch = even ? 1 : s->batch;
    status   = who->by->bounds(who, &at, &one, &why);
    if (!status && even) {
        at.batch = 2;
        status   = who->by->bounds(who, &at, &two, &why);
    } else {
        two = one;
    }
    if (status && (status == LM_E_NOMEM || !who->by->from_layers)) {
        *err = why;
        return status;
    }
    if (status) /* nothing is known of any batch */
        return LM_OK;
    out->passes = grow(one.passes, two.passes);
    for (int many = 0; many < 2; many++)
        out->update[many] = grow(one.update[many], two.update[many]);
    out->batch = even ? 0 : s->batch;
    return LM_OK;
}

bool bottleneck_profile_holds(const bottleneck_profile *p, int64_t batch)
{
    return !p->batch || p->batch == batch;
}

/* Messages of one byte would take half of the time or more. */
static sync_bound sync_bound_of(const predictor *who, const step_setup *s, const prediction *step)
{
    const collective_call byte = {
        .kind = COLLECTIVE_ALLREDUCE, .bytes = 1, .nodes = s->nodes, .devices = s->devices
    };
    double latency;

    if (!who->cal)
        return SYNC_BOUND_BANDWIDTH; /* datasheets have no latency */
    latency = (double)step->messages *
              calibration_collective(who->cal, predictor_sync_model(who), &who->link, &byte);
    if (!(step->sync > 0) || isnan(latency))
        return SYNC_BOUND_UNKNOWN;
    return latency > step->sync / 2 ? SYNC_BOUND_LATENCY : SYNC_BOUND_BANDWIDTH;
}

/* A learned model gives the seconds, and the default model's prices their bounds. */
static void only_compute(bottleneck_of *out, const prediction *step)
{
    double all   = 0;
    bool   known = true;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++) {
        out->compute[k] = fmax(0, out->seconds[k]); /* NAN becomes 0 */
        all += out->compute[k];
        known &= !isnan(out->seconds[k]);
        out->seconds[k] = 0;
    }
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        out->compute[k] = known && all > 0 ? out->compute[k] / all : 0;
    out->seconds[BOTTLENECK_COMPUTE] = step->step - step->exposed;
}

/* A rank under a layout has a part of the profiled layers and may compute some again. The
 * prediction gives its seconds of computation, and the profile gives their bounds. */
static void lay_out(bottleneck_of *out, const step_setup *s, const prediction *step)
{
    const bool   near = s->layout.tp * s->layout.cp <= s->devices;
    const double own  = step->forward + step->backward - step->waited - step->bubble + step->update;
    double       all  = 0;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        all += out->seconds[k];
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        out->seconds[k] *= own / all;
    out->seconds[near ? BOTTLENECK_INTRA_NODE : BOTTLENECK_INTER_NODE] += step->waited;
    out->seconds[BOTTLENECK_BUBBLE] = step->bubble;
    out->others                     = step->others;
}

/* Seconds for which the device waits for the host of an eager framework: the rest of the rank's own
 * time. They are none of a kernel, whose power the other seconds determine. */
static double host_wait(const predictor *who, const bottleneck_of *b, const prediction *step)
{
    double own = step->forward + step->backward + step->update;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        own -= b->seconds[k];
    return predictor_framework(who) == FRAMEWORK_EAGER ? fmax(0, own) : 0; /* unknown: 0 */
}

bottleneck_of bottleneck_find(const predictor *who, const bottleneck_profile *p,
                              const step_setup *s, const prediction *step)
{
    const bool    many   = step_setup_exchanges(s);
    const double  more   = p->batch ? 0 : (double)(s->batch - 1);
    const double  micro  = (double)s->sync.accumulation;
    double        update = 0, wait = 0;
    bottleneck_of out = { .most = BOTTLENECK_ARITHMETIC, .sync = SYNC_BOUND_UNKNOWN, .others = 1 };
    double *const seconds    = out.seconds;
    const bottleneck between = s->nodes > 1 ? BOTTLENECK_INTER_NODE : BOTTLENECK_INTRA_NODE;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++) {
        const bound_seconds *u    = &p->update[many];
        const double         mine = u->first[k] + more * u->more[k];

        seconds[k] = micro * (p->passes.first[k] + more * p->passes.more[k]) + mine;
        update += mine;
    }
    if (s->laid_out && !layout_is_plain(&s->layout))
        lay_out(&out, s, step);
    else
        wait = host_wait(who, &out, step);
    if (many) {
        /* all-reduces without a separate time: the rest of the update's time */
        seconds[between] += isnan(step->exposed) ? step->grad - update : step->exposed;
        out.sync = sync_bound_of(who, s, step);
    }
    if (who->by->from_layers || !who->by->bounds)
        only_compute(&out, step);
    for (bottleneck b = 0; b < N_BOTTLENECKS; b++)
        if (fabs(seconds[b]) > fabs(seconds[out.most]))
            out.most = b;
    out.share = seconds[out.most] / step->step;
    if (seconds[BOTTLENECK_LAUNCH] + wait > fabs(seconds[out.most])) {
        out.most  = BOTTLENECK_LAUNCH;
        out.share = (seconds[BOTTLENECK_LAUNCH] + wait) / step->step;
    }
    return out;
}
