/* Seconds of each layer in a step's passes. */
#include "predict/layer_passes.h"

#include <stdlib.h>

#include "base/no_memory.h"
#include "predict/explain.h"

static double flops_of(const bound_layer *l, lm_pass pass)
{
    return (double)l->cost.pass[pass].flops;
}

static layer_passes flops_of_layer(const bound_layer *l)
{
    return (layer_passes){ flops_of(l, LM_FORWARD), flops_of(l, LM_GRAD_INPUT),
                           flops_of(l, LM_GRAD_WEIGHT) };
}

/* Divides backward seconds between the two gradients, for models that do not. */
static void add_backward(layer_passes *to, const bound_layer *l, double seconds)
{
    const layer_passes flops = flops_of_layer(l);
    const double       both  = flops.input + flops.weight;
    const double       input = both > 0 ? flops.input / both : 1;

    to->input += input * seconds;
    to->weight += (1 - input) * seconds;
}

static void add_share(layer_passes *to, const bound_layer *l, const share *s)
{
    if (s->passes & 1u << LM_FORWARD || (!s->passes && s->part == PHASE_FORWARD))
        to->forward += s->seconds;
    else if (s->passes & 1u << LM_GRAD_INPUT)
        to->input += s->seconds;
    else if (s->passes & 1u << LM_GRAD_WEIGHT)
        to->weight += s->seconds;
    else if (s->part == PHASE_BACKWARD)
        add_backward(to, l, s->seconds);
}

static layer_passes add_shares(const explanation *e, const bound_network *bound, layer_passes *work)
{
    layer_passes sum = { 0 };

    for (size_t i = 0; i < e->n_shares; i++)
        if (e->share[i].layer != NO_LAYER)
            add_share(&work[e->share[i].layer], &bound->layer[e->share[i].layer], &e->share[i]);
    for (size_t i = 0; i < bound->n_layers; i++) {
        sum.forward += work[i].forward;
        sum.input += work[i].input;
        sum.weight += work[i].weight;
    }
    return sum;
}

lm_status layer_passes_of(const predictor *who, const step_setup *s, const bound_network *bound,
                          layer_passes **out, lm_error *err)
{
    step_setup    one  = step_setup_of(s->batch, 1);
    layer_passes *work = calloc(bound->n_layers + 1, sizeof *work), sum;
    explanation  *e    = NULL;
    lm_status     status;

    one.optimizer = s->optimizer;
    one.program   = s->program;
    if (!work)
        return no_memory(err);
    status = explain_step(who, &one, &e, err);
    if (status && !step_prices_launches(who)) {
        free(work);
        return status;
    }
    sum = status ? (layer_passes){ 0 }
                 : add_shares(e, bound, work); /* the model does not separate kernels */
    if (!(sum.forward > 0 && (s->program != PROGRAM_TRAINING || sum.input + sum.weight > 0)))
        for (size_t i = 0; i < bound->n_layers; i++)
            work[i] = flops_of_layer(&bound->layer[i]);
    explanation_free(e);
    *out = work;
    return LM_OK;
}
