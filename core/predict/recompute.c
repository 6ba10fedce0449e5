/* Forward passes run again in the backward pass. */
#include "predict/recompute.h"

#include "base/no_memory.h"
#include "network/timeline.h"
#include "predict/explain.h"

static double share_of(const explanation *e, const timeline *t)
{
    double all = 0, again = 0;

    for (size_t i = 0; i < e->n_shares; i++) {
        const share *s = &e->share[i];

        if (s->part != PHASE_FORWARD)
            continue;
        all += s->seconds;
        if (s->layer != NO_LAYER && t->again[s->layer] != TIMELINE_NEVER)
            again += s->seconds;
    }
    return all > 0 ? again / all : 0;
}

lm_status recompute_share(const predictor *who, const network *net, const registry *reg,
                          const step_setup *s, const char *segments, double *out, lm_error *err)
{
    const bind_options b     = { .batch = s->batch, .dtype = who->dtype, .input = who->input };
    step_setup         one   = step_setup_of(s->batch, 1);
    bound_network     *bound = NULL;
    arena             *room  = arena_new();
    explanation       *e     = NULL;
    timeline           t;
    lm_status          status = room ? bind_network(net, reg, &b, &bound, err) : no_memory(err);

    one.optimizer = s->optimizer;
    if (!status)
        status = timeline_make(bound, segments, room, &t, err);
    if (!status)
        status = explain_step(who, &one, &e, err);
    if (!status && e->part[0] != PHASE_FORWARD)
        status =
            lm_error_set(err, LM_E_UNSUPPORTED,
                         "recompute: of whole steps nobody knows the forward pass, which would "
                         "run again: measure it by itself");
    if (!status)
        *out = share_of(e, &t);
    explanation_free(e);
    bound_network_free(bound);
    arena_free(room);
    return status;
}
