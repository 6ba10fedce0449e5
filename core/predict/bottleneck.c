/* What most of a step's time goes to. */
#include "predict/bottleneck.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "predict/by_layers.h"
#include "predict/paleo_step.h"

_Static_assert((int)BOTTLENECK_ARITHMETIC == (int)BOUND_ARITHMETIC &&
                   (int)BOTTLENECK_TRAFFIC == (int)BOUND_TRAFFIC &&
                   (int)BOTTLENECK_LAUNCH == (int)BOUND_LAUNCH,
               "a device's own bottlenecks are bounds of terms");

const char *bottleneck_name(bottleneck b)
{
    static const char *const name[N_BOTTLENECKS] = {
        [BOTTLENECK_ARITHMETIC] = "arithmetic", [BOTTLENECK_TRAFFIC] = "traffic",
        [BOTTLENECK_LAUNCH] = "launch",         [BOTTLENECK_INTRA_NODE] = "intra-node",
        [BOTTLENECK_INTER_NODE] = "inter-node", [BOTTLENECK_COMPUTE] = "compute",
    };

    return name[b];
}

const char *sync_bound_name(sync_bound b)
{
    return b == SYNC_BOUND_LATENCY ? "latency" : b == SYNC_BOUND_BANDWIDTH ? "bandwidth" : "";
}

/* Adds a part's contributions, but for what only the number of nodes tells. */
static void add_part(const predictor *who, part which, const workload *load, double *sum)
{
    const size_t at = form_find(who->model, which);
    contribution room[MAX_CONTRIBUTIONS];
    size_t       n = 0;

    if (at < n_forms && who->cal->fitted[at].present)
        n = calibration_contributions(who->cal, at, load, room);
    for (size_t k = 0; k < n; k++) {
        const uint32_t r = room[k].regressor;

        if (!forms[at].n_features)
            sum[term_family_bound(term_family_of(r))] += room[k].seconds;
        else if (!feature_of_nodes((feature)r))
            sum[feature_bound((feature)r)] += room[k].seconds;
    }
}

/* At one batch: sums of the passes, and of the update on one rank and on several. */
typedef struct sums {
    double passes[N_TERM_BOUNDS], update[2][N_TERM_BOUNDS];
} sums;

static sums sums_at(const predictor *who, const workload *load)
{
    sums s = { .passes = { 0 } };

    for (int many = 0; many < 2; many++) {
        part         parts[4];
        const size_t n = predict_parts(who, many, parts);

        for (size_t i = 0; i < n; i++) {
            const bool pass =
                parts[i] == PART_FORWARD || parts[i] == PART_BACKWARD || parts[i] == PART_STEP;

            if (parts[i] != PART_SYNC && !(pass && many))
                add_part(who, parts[i], load, pass ? s.passes : s.update[many]);
        }
    }
    return s;
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

static lm_status paleo_profile(const predictor *who, const step_setup *s, bottleneck_profile *out,
                               lm_error *err)
{
    sums      at     = { .passes = { 0 } };
    lm_status status = paleo_bounds(who->paleo, s->batch, at.passes, at.update[0], err);

    if (status)
        return status;
    *out = (bottleneck_profile){ .passes = grow(at.passes, at.passes), .batch = s->batch };
    out->update[0] = out->update[1] = grow(at.update[0], at.update[0]);
    return LM_OK;
}

/* Steps of a multiprocessor count as arithmetic; an update moves weights. */
static lm_status layers_profile(const predictor *who, const step_setup *s, bottleneck_profile *out,
                                lm_error *err)
{
    sums          at = { .passes = { 0 } };
    whole_seconds found;
    lm_status     status = by_layers_seconds(who, s->batch, s->optimizer, &found, err);

    if (status)
        return status;
    at.passes[BOUND_ARITHMETIC] = found.by[RESOURCE_FLOPS] + found.by[RESOURCE_DEPTH];
    at.passes[BOUND_TRAFFIC]    = found.by[RESOURCE_BANDWIDTH];
    at.passes[BOUND_LAUNCH]     = found.by[RESOURCE_HOST];
    at.update[0][BOUND_TRAFFIC] = found.update;
    *out = (bottleneck_profile){ .passes = grow(at.passes, at.passes), .batch = s->batch };
    out->update[0] = out->update[1] = grow(at.update[0], at.update[0]);
    return LM_OK;
}

/* By the default model, where the machine file has it. */
static lm_status learned_profile(const predictor *who, const step_setup *s, bottleneck_profile *out,
                                 lm_error *err)
{
    predictor others = *who;
    lm_error  why    = { 0 };
    lm_status status;

    others.layerwise = NULL;
    others.scan      = NULL;
    others.model     = predict_sync_model(who);
    status           = bottleneck_profile_of(&others, s, out, &why);
    if (status == LM_E_NOMEM) {
        *err = why;
        return status;
    }
    if (status)
        *out = (bottleneck_profile){ .batch = 0 }; /* of no batch anything is told */
    return LM_OK;
}

lm_status bottleneck_profile_of(const predictor *who, const step_setup *s, bottleneck_profile *out,
                                lm_error *err)
{
    const int64_t  batch = s->batch;
    full_workload *load;
    bool           even = false;
    lm_status      status;

    if (who->layerwise)
        return learned_profile(who, s, out, err);
    if (who->paleo)
        return paleo_profile(who, s, out, err);
    if (predict_by_layers(who))
        return layers_profile(who, s, out, err);
    if (!(load = malloc(2 * sizeof *load)))
        return no_memory(err);
    status = workloads_even(who->loads, who->network, who->input, who->dtype, &even, err);
    if (!status)
        status = predict_load(who, even ? 1 : batch, s->optimizer, &load[0], err);
    if (!status)
        status = predict_load(who, even ? 2 : batch, s->optimizer, &load[1], err);
    if (!status) {
        const sums one = sums_at(who, &load[0].load), two = sums_at(who, &load[1].load);

        out->passes = grow(one.passes, two.passes);
        for (int many = 0; many < 2; many++)
            out->update[many] = grow(one.update[many], two.update[many]);
        out->batch = even ? 0 : batch;
    }
    free(load);
    return status;
}

bool bottleneck_profile_holds(const bottleneck_profile *p, int64_t batch)
{
    return !p->batch || p->batch == batch;
}

/* Half of it or more would be there for single bytes. */
static sync_bound sync_bound_of(const predictor *who, const step_setup *s, const prediction *step)
{
    const allreduce byte = { .bytes = 1, .nodes = s->nodes, .devices = s->devices };
    double          latency;

    if (who->paleo)
        return SYNC_BOUND_BANDWIDTH; /* it knows no latency */
    latency =
        (double)step->messages * calibration_allreduce(who->cal, predict_sync_model(who), &byte);
    if (!(step->sync > 0) || isnan(latency))
        return SYNC_BOUND_UNKNOWN;
    return latency > step->sync / 2 ? SYNC_BOUND_LATENCY : SYNC_BOUND_BANDWIDTH;
}

/* A learned model says how long, and the default model's prices what of that is bound by what. */
static void only_compute(bottleneck_of *out, const prediction *step)
{
    double all   = 0;
    bool   known = true;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++) {
        out->compute[k] = fmax(0, out->seconds[k]); /* of NAN 0 */
        all += out->compute[k];
        known &= !isnan(out->seconds[k]);
        out->seconds[k] = 0;
    }
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        out->compute[k] = known && all > 0 ? out->compute[k] / all : 0;
    out->seconds[BOTTLENECK_COMPUTE] = step->step - step->exposed;
}

bottleneck_of bottleneck_find(const predictor *who, const bottleneck_profile *p,
                              const step_setup *s, const prediction *step)
{
    const bool       many    = step_setup_ranks(s) > 1;
    const double     more    = p->batch ? 0 : (double)(s->batch - 1);
    const double     micro   = (double)s->sync.accumulation;
    double           update  = 0;
    bottleneck_of    out     = { .most = BOTTLENECK_ARITHMETIC, .sync = SYNC_BOUND_UNKNOWN };
    double *const    seconds = out.seconds;
    const bottleneck between = s->nodes > 1 ? BOTTLENECK_INTER_NODE : BOTTLENECK_INTRA_NODE;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++) {
        const bound_seconds *u    = &p->update[many];
        const double         mine = u->first[k] + more * u->more[k];

        seconds[k] = micro * (p->passes.first[k] + more * p->passes.more[k]) + mine;
        update += mine;
    }
    if (many) {
        /* what is not told from the update is what the update's own regressors leave */
        seconds[between] = isnan(step->exposed) ? step->grad - update : step->exposed;
        out.sync         = sync_bound_of(who, s, step);
    }
    if (who->layerwise)
        only_compute(&out, step);
    for (bottleneck b = 0; b < N_BOTTLENECKS; b++)
        if (fabs(seconds[b]) > fabs(seconds[out.most]))
            out.most = b;
    out.share = seconds[out.most] / step->step;
    return out;
}
