/* Parts of a predicted step. */
#include "predict/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "network/stages.h"
#include "predict/host_step.h"
#include "predict/laid_out.h"
#include "predict/predict.h"

/* ---- ranks that share a network ---- */

/* Shares of a whole step belong to the pass of their kernels. */
static void tell_apart(explanation *e)
{
    static const phase part[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_SYNC };

    for (size_t i = 0; i < e->n_shares; i++) {
        share *s = &e->share[i];

        if (s->part == PHASE_STEP)
            s->part = s->passes & 1u << LM_FORWARD ? PHASE_FORWARD
                      : s->passes                  ? PHASE_BACKWARD
                                                   : PHASE_UPDATE;
    }
    memcpy(e->part, part, sizeof part);
    e->n_parts = sizeof part / sizeof part[0];
}

/* A class of its own. Below 1e-12 s it is the rounding of a difference. */
static lm_status add_part(explanation *e, phase part, const char *name, double seconds,
                          term_bound bound, lm_error *err)
{
    return seconds > 1e-12
               ? explanation_add_whole(e, part, name, name, seconds, bound, CERTAINTY_ASSUMED, err)
               : LM_OK;
}

/* Scales the shares of layers in one part, so that they add up to `seconds`. */
static void scale_part(explanation *e, phase part, double seconds)
{
    const double now = explanation_seconds(e, part);

    for (size_t i = 0; i < e->n_shares && now > 0; i++)
        if (e->share[i].part == part) {
            e->share[i].count *= seconds / now;
            e->share[i].seconds *= seconds / now;
        }
}

/* Messages of a group; NULL: they have another one's name, or there are none. */
static const char *messages_of(const layout *l, rank_group g, bool infers)
{
    switch (g) {
    case GROUP_TENSOR: return l->sp ? "tp: all-gather, reduce-scatter" : "tp: all-reduce";
    case GROUP_CONTEXT: return l->ulysses ? "cp: all-to-all" : "cp: send-recv";
    case GROUP_EXPERTS: return "ep: all-to-all";
    case GROUP_DATA: return l->zero ? "dp: reduce-scatter, all-gather" : "dp: all-reduce";
    case GROUP_SHARD: return "dp: all-gather, reduce-scatter of blocks";
    case GROUP_STAGES: return infers ? "pp: send-recv" : "pp: all-reduce of tied weights";
    case GROUP_REPLICA:
    case GROUP_SAME_EXPERTS:
    case GROUP_EXPERT_SHARD:
    case N_RANK_GROUPS: break;
    }
    return NULL;
}

/* Forward passes that run again, with their bounds. */
static lm_status add_again(explanation *e, double again, lm_error *err)
{
    double    bound[N_TERM_BOUNDS + 1] = { 0 };
    lm_status status                   = LM_OK;

    for (size_t i = 0; i < e->n_shares; i++)
        if (e->share[i].part == PHASE_FORWARD && e->share[i].layer != NO_LAYER)
            bound[e->share[i].bound] += e->share[i].seconds;
    for (int k = 0; k <= N_TERM_BOUNDS && !status; k++)
        status =
            add_part(e, PHASE_BACKWARD, "computed again", again * bound[k], (term_bound)k, err);
    return status;
}

/* Beside the layers of a rank's part: what is computed again, messages, and waiting. */
static lm_status add_messages(explanation *e, const step_times *t, const layout *l,
                              const step_setup *s, lm_error *err)
{
    const bool         infers   = s->program == PROGRAM_INFERENCE;
    const double       again    = s->again;
    static const phase behind[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_SYNC };
    const prediction  *p        = &e->step;
    double             pass[]   = { p->forward - t->host[0], p->backward - p->bubble - t->host[1] };
    lm_status          status   = LM_OK;

    for (int g = 0; g < N_RANK_GROUPS; g++)
        for (int k = 0; k < 2; k++)
            pass[k] -= t->added[k][g];
    scale_part(e, PHASE_FORWARD, pass[0]);
    scale_part(e, PHASE_BACKWARD, pass[1] - again * pass[0]);
    scale_part(e, PHASE_UPDATE, p->update);
    for (int g = 0; g < N_RANK_GROUPS && !status; g++)
        for (int k = 0; k < 3 && !status; k++)
            if (messages_of(l, (rank_group)g, infers))
                status = add_part(e, behind[k], messages_of(l, (rank_group)g, infers),
                                  t->added[k][g], BOUND_TRAFFIC, err);
    if (status || (status = add_again(e, again, err)) ||
        (status = add_part(e, PHASE_FORWARD, "host", t->host[0], BOUND_LAUNCH, err)) ||
        (status = add_part(e, PHASE_BACKWARD, "host", t->host[1], BOUND_LAUNCH, err)) ||
        (status = add_part(e, PHASE_BACKWARD, "pp: waiting for other stages", p->bubble,
                           N_TERM_BOUNDS, err)) ||
        (status = add_part(e, PHASE_SYNC, "copies of gradients", p->copy, BOUND_TRAFFIC, err)))
        return status;
    return add_part(e, PHASE_SYNC, "waiting for the slowest rank", p->straggler, N_TERM_BOUNDS,
                    err);
}

/* Leaves the layers of one rank of a pipeline. */
static lm_status keep_rank(const predictor *part, const step_setup *s, const layout *l,
                           explanation *e, lm_error *err)
{
    const workload_name of    = predictor_workload(part, s->program);
    bound_network      *bound = NULL;
    int64_t            *stage = calloc(e->n_layers + 1, sizeof *stage);
    size_t              n     = 0;
    lm_status           status =
        stage ? workloads_bind_at(part->loads, &of, s->batch, &bound, err) : no_memory(err);

    if (!status)
        status = stages_of_layers(bound, l->pp * l->vp, l->stages, stage, err);
    for (size_t i = 0; i < e->n_shares && !status; i++)
        if (e->share[i].layer == NO_LAYER || stage[e->share[i].layer] % l->pp == e->rank)
            e->share[n++] = e->share[i];
    e->n_shares = status ? e->n_shares : n;
    bound_network_free(bound);
    free(stage);
    return status;
}

static lm_status explain_laid_out(const predictor *who, const step_setup *s, explanation *e,
                                  lm_error *err)
{
    const predictor part = predictor_part(who, s);
    step_setup      one  = *s;
    step_times      t    = { .bucket = NULL };
    layout          l;
    lm_status       status = layout_of_step(who, s, &l, err);

    if (status)
        return status;
    one.nodes = one.devices = 1;
    one.laid_out            = false;
    one.sync.rule           = SYNC_ONCE;
    if (s->program == PROGRAM_INFERENCE) /* a batch, of those in the pipeline */
        one.sync.accumulation = 1;
    if (!(status = predict_laid_out(who, s, &e->step, &t, err)) &&
        !(status = part.by->explain(&part, &one, e, err)) && l.pp > 1 &&
        s->program == PROGRAM_TRAINING) {
        e->rank   = t.rank;
        e->ranks  = l.pp;
        e->weight = l.schedule == PIPELINE_ZB_H1 ? t.weight : 0;
        status    = keep_rank(&part, s, &l, e, err);
    }
    free(t.bucket);
    if (status)
        return status;
    tell_apart(e);
    return add_messages(e, &t, &l, s, err);
}

/* The host of an eager framework, beside the kernels. */
static lm_status add_host(const predictor *who, const step_setup *s, explanation *e, lm_error *err)
{
    const double      micro = (double)s->sync.accumulation;
    const prediction *p     = &e->step;
    step_price        price;
    double            forward, backward;
    lm_status         status = host_price(who, s, &price, err);

    if (status)
        return status;
    forward  = micro * price.added.forward;
    backward = micro * price.added.backward + s->again * forward;
    if (e->n_parts && e->part[0] == PHASE_STEP)
        tell_apart(e);
    scale_part(e, PHASE_FORWARD, p->forward - forward);
    scale_part(e, PHASE_BACKWARD, p->backward - backward);
    if (!isnan(p->update))
        scale_part(e, PHASE_UPDATE, p->update - price.added.update);
    if (!(status = add_part(e, PHASE_FORWARD, "host", forward, BOUND_LAUNCH, err)) &&
        !(status = add_part(e, PHASE_BACKWARD, "host", backward, BOUND_LAUNCH, err)))
        status = add_part(e, PHASE_UPDATE, "host", price.added.update, BOUND_LAUNCH, err);
    return status;
}

lm_status explain_step(const predictor *who, const step_setup *s, explanation **out, lm_error *err)
{
    explanation *e = calloc(1, sizeof *e);
    lm_status    status;

    if (!e || !(e->arena = arena_new())) {
        free(e);
        return no_memory(err);
    }
    if (s->laid_out && !layout_is_plain(&s->layout))
        status = explain_laid_out(who, s, e, err);
    else if (!(status = predict_step(who, s, &e->step, err)) &&
             !(status = who->by->explain(who, s, e, err)) &&
             predictor_framework(who) == FRAMEWORK_EAGER)
        status = add_host(who, s, e, err);
    e->bounded = !who->by->from_layers && who->by->bounds;
    for (size_t i = 0; i < e->n_shares && e->step.stands_in; i++)
        e->share[i].standing = CERTAINTY_ASSUMED;
    if (status) {
        explanation_free(e);
        return status;
    }
    *out = e;
    return LM_OK;
}

void explanation_free(explanation *e)
{
    if (!e)
        return;
    free(e->share);
    arena_free(e->arena);
    free(e);
}
