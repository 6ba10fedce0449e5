/* Time of generating tokens: a mean of its steps. */
#include "predict/generation.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "models/explanation.h"
#include "predict/predict.h"
#include "program/generation.h"

/* A step with its price. */
typedef struct priced_step {
    predictor  who; /* with the part of a rank */
    step_price price;
} priced_step;

/* The steps of a setup, each with its share of the mean. */
typedef struct steps {
    step_setup       setup; /* batch 0: none yet */
    net_shard        shard; /* of a rank */
    priced_step     *step;  /* in the order of the questions */
    generation_step *share;
    size_t           n, room;
} steps;

typedef struct state {
    int64_t       context, tokens;
    generation_at at;
    void         *of;
    predictor     first; /* predictor of the first step */
    step_model    by;    /* its model, whose functions here return means */
} state;

/* ---- prices ---- */

/* The predictor of a step, of the same part of the network as that of the mean. */
static lm_status step_at(const predictor *mean, int64_t context, predictor *out, lm_error *err)
{
    const state     *own = mean->state;
    const predictor *who;
    const lm_status  status = own->at(own->of, context, &who, err);

    if (status)
        return status;
    *out       = *who;
    out->shard = mean->shard;
    if (!shard_is_whole(&out->shard))
        out->scan = NULL;
    return LM_OK;
}

typedef struct asking {
    const predictor *mean;
    steps           *to;
} asking;

static lm_status ask(void *by, int64_t context, double *seconds, lm_error *err)
{
    const asking *a = by;
    steps        *t = a->to;
    priced_step  *p;
    lm_status     status;

    if (!array_grow(&t->step, t->n, &t->room, sizeof *t->step))
        return no_memory(err);
    p = &t->step[t->n];
    /* the mean's prediction adds the host's time */
    if ((status = step_at(a->mean, context, &p->who, err)) ||
        (status = predictor_price(&p->who, &t->setup, &p->price, err)))
        return status;
    *seconds = p->price.forward.value;
    t->n++;
    return LM_OK;
}

static void forget(steps *t)
{
    free(t->step);
    free(t->share);
    *t = (steps){ .n = 0 };
}

/* Do the setups have the same price? The number of replicas does not matter. */
static bool same(const step_setup *a, const step_setup *b)
{
    return a->batch == b->batch && a->devices == b->devices && a->laid_out == b->laid_out &&
           !(a->clock_mhz < b->clock_mhz || a->clock_mhz > b->clock_mhz);
}

/* Steps of a setup; those of the last setup are kept. */
static lm_status steps_of(const predictor *who, const step_setup *s, const steps **out,
                          lm_error *err)
{
    const state *own = who->state;
    steps       *t   = who->memo;
    asking       a   = { who, t };
    size_t       n;
    lm_status    status;

    *out = t;
    if (t->setup.batch && same(&t->setup, s) && shard_equals(&t->shard, &who->shard))
        return LM_OK;
    forget(t);
    t->setup = *s;
    t->shard = who->shard;
    if ((status = generation_steps(own->context, own->tokens, ask, &a, &t->share, &n, err)))
        forget(t);
    return status;
}

static void add_bounded(bounded *to, const bounded *x, double times)
{
    to->value += times * x->value;
    to->low += times * x->low;
    to->high += times * x->high;
}

/* Adds a share of a step to the mean. Steps are forward passes: other parts of the price are zero
 * or unknown. */
static void add(step_price *to, const step_price *p, double times)
{
    add_bounded(&to->forward, &p->forward, times);
    add_bounded(&to->joules_step, &p->joules_step, times);
    to->stands_in |= p->stands_in;
    to->unbounded |= p->unbounded;
    grounds_join(&to->passes, &p->passes);
    ledger_add_all(&to->passes.ledger, &p->passes.ledger, times);
    grounds_join(&to->rest, &p->rest);
    ledger_add_all(&to->rest.ledger, &p->rest.ledger, times);
}

static lm_status mean_price(const predictor *who, const step_setup *s, step_price *out,
                            lm_error *err)
{
    const state *own = who->state;
    const steps *t;
    step_price   mean;
    lm_status    status = steps_of(who, s, &t, err);

    if (status)
        return status;
    mean         = t->step[0].price;
    mean.forward = mean.joules_step = (bounded){ 0, 0, 0 };
    mean.passes = mean.rest = (grounds){ .n_beyond = 0 };
    for (size_t i = 0; i < t->n; i++)
        add(&mean, &t->step[i].price, t->share[i].weight / (double)own->tokens);
    mean.step          = mean.forward;
    mean.joules_passes = mean.joules_step;
    *out               = mean;
    return LM_OK;
}

static lm_status mean_bounds(const predictor *who, const step_setup *s, bound_price *out,
                             lm_error *err)
{
    const state *own  = who->state;
    bound_price  mean = { .passes = { 0 } }, one;
    const steps *t;
    lm_status    status = steps_of(who, s, &t, err);

    for (size_t i = 0; !status && i < t->n; i++) {
        const predictor *step  = &t->step[i].who;
        const double     times = t->share[i].weight / (double)own->tokens;

        if (!(status = step->by->bounds(step, s, &one, err)))
            for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
                mean.passes[k] += times * one.passes[k];
    }
    if (!status)
        *out = mean;
    return status;
}

/* Explains the middle step, whose counts are the means, and scales it to the mean time. */
static lm_status mean_explain(const predictor *who, const step_setup *s, explanation *e,
                              lm_error *err)
{
    const state     *own   = who->state;
    const prediction asked = e->step; /* under a layout, which `s` has no more */
    prediction       mean;
    predictor        middle;
    lm_status        status = step_at(who, own->context + (own->tokens - 1) / 2, &middle, err);

    if (status || (status = predict_step(who, s, &mean, err)) ||
        (status = predict_step(&middle, s, &e->step, err)))
        return status;
    status = middle.by->explain(&middle, s, e, err);
    for (size_t i = 0; i < e->n_shares && !status; i++)
        e->share[i].seconds *= mean.step / e->step.step;
    e->step = asked;
    return status;
}

/* ---- what the first step says of all ---- */

static bool first_clocks(const predictor *who, clock_range *out)
{
    return predictor_tells_clocks(&((const state *)who->state)->first, out);
}

static bool first_tells_power(const predictor *who)
{
    return predictor_tells_power(&((const state *)who->state)->first);
}

/* ---- opening ---- */

lm_status generation_open(int64_t context, int64_t tokens, generation_at at, void *of,
                          predictor *out, lm_error *err)
{
    const predictor *first;
    state           *s = NULL;
    steps           *t = NULL;
    lm_status        status;

    if ((status = at(of, context, &first, err)))
        return status;
    if (first->as_tf32 > 0)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "tf32: the time of decoding is that of reading the weights, which are "
                            "of f32 then: take f16, or f32");
    s = malloc(sizeof *s);
    t = calloc(1, sizeof *t);
    if (!s || !t) {
        free(s);
        free(t);
        return no_memory(err);
    }
    *s                 = (state){ context, tokens, at, of, *first, *first->by };
    s->by.grows_evenly = false; /* the times decide which steps represent the others */
    s->by.price        = mean_price;
    s->by.bounds       = first->by->bounds ? mean_bounds : NULL;
    s->by.clocks       = first_clocks;
    s->by.tells_power  = first_tells_power;
    s->by.explain      = mean_explain;
    s->by.decide       = NULL;
    *out               = *first;
    out->by            = &s->by;
    out->state         = s;
    out->memo          = t;
    out->scan          = NULL;
    return LM_OK;
}

void generation_close(predictor *who)
{
    if (!who->state)
        return;
    forget(who->memo);
    free(who->memo);
    free((state *)who->state);
    who->state = who->memo = NULL;
}

/* ---- all steps ---- */

static lm_status seconds_at(const state *s, const scale_question *q, int64_t nodes, int64_t context,
                            double *out, lm_error *err)
{
    const predictor *who;
    prediction       p;
    step_setup       setup;
    lm_status        status;

    if ((status = s->at(s->of, context, &who, err)) ||
        (status = scale_setup(q, nodes, &setup, err)) ||
        (status = predict_seconds(who, &setup, &p, err)))
        return status;
    *out = p.step;
    return LM_OK;
}

lm_status generation_predict(const predictor *who, const scale_question *q, int64_t nodes,
                             generation *out, lm_error *err)
{
    const state *s      = who->state;
    generation   g      = { .context = s->context, .tokens = s->tokens };
    const double tokens = (double)s->tokens;
    lm_status    status;

    if ((status = scale_at(who, q, nodes, &g.mean, err)) ||
        (status = seconds_at(s, q, nodes, s->context, &g.first, err)) ||
        (status = seconds_at(s, q, nodes, s->context + s->tokens - 1, &g.last, err)))
        return status;
    g.seconds    = (bounded){ tokens * g.mean.step.step, tokens * g.mean.step.low[PHASE_STEP],
                              tokens * g.mean.step.high[PHASE_STEP] };
    g.per_second = (double)g.mean.global_batch / g.mean.step.step;
    *out         = g;
    return LM_OK;
}
