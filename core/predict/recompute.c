/* Forward passes run again in the backward pass. */
#include "predict/recompute.h"

#include <math.h>

#include "base/no_memory.h"
#include "network/timeline.h"
#include "predict/explain.h"

/* Is the share part of the forward pass? In a whole step its term decides. */
static bool is_forward(const share *s)
{
    return s->part == PHASE_FORWARD || (s->part == PHASE_STEP && s->passes & 1u << LM_FORWARD);
}

static double share_of(const explanation *e, const timeline *t)
{
    double all = 0, again = 0;

    for (size_t i = 0; i < e->n_shares; i++) {
        const share *s = &e->share[i];

        if (!is_forward(s))
            continue;
        all += s->seconds;
        if (s->layer != NO_LAYER && t->again[s->layer] != TIMELINE_NEVER)
            again += s->seconds;
    }
    return again / all;
}

lm_status recompute_share(const predictor *who, const step_setup *s, const char *segments,
                          double *out, lm_error *err)
{
    const workload_name of    = predictor_workload(who, PROGRAM_TRAINING);
    step_setup          one   = step_setup_of(s->batch, 1);
    bound_network      *bound = NULL;
    arena              *room  = arena_new();
    explanation        *e     = NULL;
    timeline            t;
    lm_status           status =
        room ? workloads_bind_at(who->loads, &of, s->batch, &bound, err) : no_memory(err);

    one.optimizer = s->optimizer;
    if (!status)
        status = timeline_make(bound, segments, room, &t, err);
    if (!status)
        status = explain_step(who, &one, &e, err);
    if (!status && isnan(*out = share_of(e, &t)))
        status = lm_error_set(
            err, LM_E_UNSUPPORTED,
            "recompute: the forward pass, which would run again, has no time of its own: measure it by itself");
    explanation_free(e);
    bound_network_free(bound);
    arena_free(room);
    return status;
}
