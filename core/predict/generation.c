/* What the generation of tokens takes: a mean of its steps. */
#include "predict/generation.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "program/generation.h"

typedef struct asking {
    generation_at at;
    void         *of;
    scale_point  *point; /* in the order in which they were asked for */
    size_t        n, room;
} asking;

static lm_status ask(void *by, int64_t context, double *seconds, lm_error *err)
{
    asking   *a = by;
    lm_status status;

    if (!array_grow(&a->point, a->n, &a->room, sizeof *a->point))
        return no_memory(err);
    if ((status = a->at(a->of, context, &a->point[a->n], err)))
        return status;
    *seconds = a->point[a->n++].step.step;
    return LM_OK;
}

/* Adds a share of a step to the mean. */
static void add(scale_point *to, const scale_point *p, double share)
{
    prediction *step = &to->step;

    step->step += share * p->step.step;
    step->low[PHASE_STEP] += share * p->step.low[PHASE_STEP];
    step->high[PHASE_STEP] += share * p->step.high[PHASE_STEP];
    step->own_seconds += share * p->step.own_seconds;
    step->own_joules.value += share * p->step.own_joules.value;
    step->own_joules.low += share * p->step.own_joules.low;
    step->own_joules.high += share * p->step.own_joules.high;
    step->stands_in |= p->step.stands_in;
    ledger_add_all(&step->grounds.ledger, &p->step.grounds.ledger, share);
    grounds_join(&step->grounds, &p->step.grounds);
    for (bottleneck k = 0; k < N_BOTTLENECKS; k++)
        to->bottleneck.seconds[k] += share * p->bottleneck.seconds[k];
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        to->bottleneck.compute[k] += share * p->bottleneck.compute[k];
}

static void sum_up(const asking *a, const generation_step *s, generation *out)
{
    const double tokens = (double)out->tokens;
    prediction  *step   = &out->mean.step;

    out->mean             = a->point[0];
    out->first            = a->point[0].step.step;
    out->last             = a->point[out->tokens > 1].step.step; /* it is asked for as the second */
    step->step            = 0;
    step->low[PHASE_STEP] = 0;
    step->high[PHASE_STEP] = 0;
    step->own_seconds      = 0;
    step->own_joules       = (bounded){ 0, 0, 0 };
    step->grounds          = (grounds){ .n_beyond = 0 };
    out->mean.bottleneck   = (bottleneck_of){ .most = a->point[0].bottleneck.most };
    for (size_t i = 0; i < a->n; i++)
        add(&out->mean, &a->point[i], s[i].weight / tokens);
    out->seconds    = (bounded){ tokens * step->step, tokens * step->low[PHASE_STEP],
                                 tokens * step->high[PHASE_STEP] };
    out->per_second = (double)out->mean.global_batch / step->step;
}

lm_status predict_generation(int64_t context, int64_t tokens, generation_at at, void *of,
                             generation *out, lm_error *err)
{
    asking           a = { .at = at, .of = of };
    generation_step *step;
    size_t           n;
    const lm_status  status = generation_steps(context, tokens, ask, &a, &step, &n, err);

    if (!status) {
        *out = (generation){ .context = context, .tokens = tokens };
        sum_up(&a, step, out);
        free(step);
    }
    free(a.point);
    return status;
}
