/* Networks as a learned model of single layers sees them. */
#include "models/layerwise_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "counts/shape.h"

#define NOBODY  SIZE_MAX
#define SEVERAL (SIZE_MAX - 1)

layerwise_case layerwise_in(const layerwise_case *c, phase f, const char *optimizer)
{
    layerwise_case out = *c;

    out.phase     = f;
    out.optimizer = f == PHASE_UPDATE || f == PHASE_STEP ? optimizer : "";
    return out;
}

/* ---- cases ---- */

/* The one reader of each layer. */
static size_t *readers(const bound_network *net)
{
    size_t *by = malloc((net->n_layers + 1) * sizeof *by);

    for (size_t i = 0; by && i < net->n_layers; i++)
        by[i] = NOBODY;
    for (size_t i = 0; by && i < net->n_layers; i++)
        for (size_t k = 0; k < net->layer[i].decl->n_inputs; k++) {
            const size_t from = net->layer[i].decl->input[k].layer;

            if (from < net->n_layers)
                by[from] = by[from] == NOBODY ? i : SEVERAL;
        }
    return by;
}

static bool is_product(const bound_layer *l)
{
    layer_shape s;

    shape_of_layer(l, &s);
    return s.kind != SHAPE_OTHER;
}

static bool is_function(const bound_layer *l)
{
    return l->n_inputs == 1 && l->n_kernels[LM_FORWARD] == 1 &&
           l->kernels[LM_FORWARD]->op == LM_OP_MAP && !l->n_weights;
}

/* Which layers belong to another's case: of[i] is its first layer. */
static void join_chains(const bound_network *net, const size_t *reader, size_t *of)
{
    for (size_t i = 0; i < net->n_layers; i++) {
        const bound_layer *l      = &net->layer[i];
        const size_t       before = l->decl->n_inputs ? l->decl->input[0].layer : NOBODY;

        if (!is_product(l))
            continue;
        if (before < net->n_layers && reader[before] == i &&
            !strcmp(net->layer[before].decl->type, "pad"))
            of[i] = before;
        if (reader[i] < net->n_layers && is_function(&net->layer[reader[i]]))
            of[reader[i]] = of[i];
    }
}

static bool does_something(const bound_layer *l)
{
    return l->n_kernels[LM_FORWARD] > 0 || (l->counted && !l->lowered);
}

lm_status layerwise_each(const bound_network *net, bool chains, const layerwise_setup *s,
                         lm_status (*see)(void *context, layerwise_case *c), void *context,
                         lm_error *err)
{
    size_t   *reader = readers(net);
    size_t   *of     = malloc((net->n_layers + 1) * sizeof *of);
    lm_status status = reader && of ? LM_OK : no_memory(err);

    for (size_t i = 0; !status && i < net->n_layers; i++)
        of[i] = i;
    if (!status && chains)
        join_chains(net, reader, of);
    for (size_t i = 0; i < net->n_layers && !status; i++) {
        const bound_layer *layer[3];
        layerwise_case     c = { .layer     = layer,
                                 .phase     = PHASE_FORWARD,
                                 .batch     = net->options.batch,
                                 .dtype     = net->options.dtype,
                                 .optimizer = "",
                                 .settings  = s->settings,
                                 .on        = s->on,
                                 .clock_mhz = s->clock_mhz };

        if (of[i] != i)
            continue;
        for (size_t k = i; k < net->n_layers && c.n_layers < 3; k++)
            if (of[k] == i && does_something(&net->layer[k]))
                layer[c.n_layers++] = &net->layer[k];
        if (c.n_layers)
            status = see(context, &c);
    }
    free(reader);
    free(of);
    return status;
}

/* ---- sums ---- */

typedef struct adding {
    const layerwise_model *m;
    const layerwise_setup *s;
    layerwise_sum         *out;
    layerwise_see         *see; /* NULL: nobody looks */
    void                  *context;
    lm_error              *err;
} adding;

/* Does the phase do anything there? */
static bool happens(const layerwise_case *c, phase f)
{
    bool trained = false, back = false;

    for (size_t i = 0; i < c->n_layers; i++) {
        trained |= c->layer[i]->trained && c->layer[i]->n_weights;
        back |= c->layer[i]->trained || c->layer[i]->needs_grad_input;
    }
    return f == PHASE_UPDATE ? trained : f != PHASE_BACKWARD || back;
}

static lm_status ask_as_is(adding *a, const layerwise_case *c, phase f, layerwise_answer *out)
{
    const layerwise_case in     = layerwise_in(c, f, a->s->optimizer);
    const lm_status      status = layerwise_predict(a->m, &in, LAYERWISE_SECONDS, out, a->err);

    if (!status && !isnan(out->value))
        a->out->beyond = fmax(a->out->beyond, out->beyond);
    return status;
}

/* With a function behind it that was not learned it is one layer told and one that is not. */
static lm_status ask(adding *a, const layerwise_case *c, phase f, layerwise_answer *out)
{
    layerwise_case before = *c;
    lm_status      status = ask_as_is(a, c, f, out);

    if (status || !isnan(out->value) || c->n_layers < 2 || !is_function(c->layer[c->n_layers - 1]))
        return status;
    before.n_layers--;
    status = ask_as_is(a, &before, f, out);
    a->out->untold[f] += !status && !isnan(out->value);
    return status;
}

/* What a case takes in a phase: seconds, and joules by the bounds of its power alone. */
typedef struct taken {
    layerwise_answer seconds, joules; /* NAN: not told */
} taken;

static const layerwise_answer nothing = { 0, 0, 0, 1 }, untold = { NAN, NAN, NAN, 1 };

/* Watts for so long; where no power was learned, NAN. */
static lm_status ask_joules(adding *a, const layerwise_case *c, phase f, taken *to)
{
    const layerwise_case in     = layerwise_in(c, f, a->s->optimizer);
    layerwise_answer     watts  = untold;
    lm_status            status = LM_OK;

    if (a->m->kind->target[LAYERWISE_WATTS])
        status = layerwise_predict(a->m, &in, LAYERWISE_WATTS, &watts, a->err);
    to->joules = (layerwise_answer){ watts.value * to->seconds.value, watts.low * to->seconds.value,
                                     watts.high * to->seconds.value, 1 };
    return status;
}

/* One pass is as good as the other where only one was learned. */
static phase other_forward(phase f)
{
    return f == PHASE_FORWARD ? PHASE_INFERENCE : f == PHASE_INFERENCE ? PHASE_FORWARD : f;
}

static lm_status ask_phase(adding *a, const layerwise_case *c, phase f, taken *to)
{
    phase     told   = f;
    lm_status status = ask(a, c, f, &to->seconds);

    if (!status && isnan(to->seconds.value))
        status = ask(a, c, told = other_forward(f), &to->seconds);
    to->joules = untold;
    return status || isnan(to->seconds.value) ? status : ask_joules(a, c, told, to);
}

static void add_answer(layerwise_answer *to, const layerwise_answer *x)
{
    to->value += x->value;
    to->low += x->low;
    to->high += x->high;
}

/* A step of passes and update, where all are told: what is printed adds up. */
static void add_parts(taken found[N_PHASES])
{
    static const phase parts[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE };
    taken              sum     = { nothing, nothing };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        add_answer(&sum.seconds, &found[parts[i]].seconds);
        add_answer(&sum.joules, &found[parts[i]].joules);
    }
    if (!isnan(sum.seconds.value))
        found[PHASE_STEP] = sum;
}

static void add_told(layerwise_sum *to, phase f, const taken *told)
{
    to->seconds[f] += told->seconds.value;
    to->low[f] += told->seconds.low;
    to->high[f] += told->seconds.high;
    to->joules[f] += told->joules.value;
    to->joules_low[f] += told->joules.low;
    to->joules_high[f] += told->joules.high;
    to->told[f]++;
}

static lm_status add_case(void *context, layerwise_case *c)
{
    static const phase asked[] = { PHASE_FORWARD, PHASE_INFERENCE, PHASE_BACKWARD, PHASE_UPDATE,
                                   PHASE_STEP };
    adding            *a       = context;
    taken              found[N_PHASES];
    double             seconds[N_PHASES] = { 0 };
    lm_status          status            = LM_OK;

    for (size_t i = 0; i < sizeof asked / sizeof asked[0] && !status; i++) {
        const phase f = asked[i];

        found[f] = (taken){ nothing, nothing };
        if (!happens(c, f))
            continue;
        status = ask_phase(a, c, f, &found[f]);
        if (f == PHASE_STEP)
            add_parts(found);
        seconds[f] = found[f].seconds.value;
        if (isnan(seconds[f]))
            a->out->untold[f]++;
        else if (!status)
            add_told(a->out, f, &found[f]);
    }
    for (phase f = 0; f < N_PHASES; f++)
        a->out->other[f] += isnan(seconds[f]) != isnan(seconds[PHASE_STEP]);
    return status || !a->see ? status : a->see(a->context, c, seconds, a->err);
}

lm_status layerwise_sum_of(const layerwise_model *m, const bound_network *net,
                           const layerwise_setup *s, layerwise_sum *out, lm_error *err)
{
    return layerwise_sum_each(m, net, s, NULL, NULL, out, err);
}

lm_status layerwise_sum_each(const layerwise_model *m, const bound_network *net,
                             const layerwise_setup *s, layerwise_see *see, void *context,
                             layerwise_sum *out, lm_error *err)
{
    adding    a = { m, s, out, see, context, err };
    lm_status status;

    *out   = (layerwise_sum){ .beyond = 1 };
    status = layerwise_each(net, m->kind->chains, s, add_case, &a, err);
    for (phase f = 0; f < N_PHASES; f++)
        if (!out->told[f])
            out->seconds[f] = out->low[f] = out->high[f] = out->joules[f] = out->joules_low[f] =
                out->joules_high[f]                                       = NAN;
    return status;
}
