/* Networks as a learned model of single layers sees them: sums. */
#include "layerwise/layerwise_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "layerwise/stand_in.h"

layerwise_case layerwise_in(const layerwise_case *c, phase f, const char *updated)
{
    layerwise_case out = *c;

    out.phase     = f;
    out.optimizer = f == PHASE_UPDATE || f == PHASE_STEP ? updated : "";
    return out;
}

/* Phases of one question: a step with its parts, or one pass. */
typedef struct question {
    phase  asked[4];
    size_t n;
    phase  whole; /* that must be told */
} question;

typedef struct adding {
    const layerwise_model *m;
    const bound_network   *net;
    const layerwise_setup *s;
    const question        *asked;
    layerwise_sum         *out;
    layerwise_see         *see; /* NULL: nobody looks */
    void                  *context;
    lm_error              *err;
    double                 others[N_PHASES]; /* s, by prices */
    double                 low, high;        /* the widest interval of the model's phases */
    stand_ins             *by;               /* of layers that it does not know */
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

static lm_status ask(adding *a, const layerwise_case *c, phase f, layerwise_answer *out)
{
    const layerwise_case in = layerwise_in(c, f, a->s->optimizer);

    return layerwise_predict(a->m, &in, LAYERWISE_SECONDS, out, a->err);
}

/* Cost of a case in a phase: seconds, and joules within the bounds of its power alone. */
typedef struct taken {
    layerwise_answer seconds, joules; /* NAN: not told */
} taken;

static const layerwise_answer nothing = { 0, 0, 0, 1, false }, untold = { NAN, NAN, NAN, 1, false };

/* Joules for so many seconds; NAN: no power was learned. */
static lm_status ask_joules(adding *a, const layerwise_case *c, phase f, taken *to)
{
    const layerwise_case in     = layerwise_in(c, f, a->s->optimizer);
    layerwise_answer     watts  = untold;
    lm_status            status = LM_OK;

    if (a->m->kind->target[LAYERWISE_WATTS])
        status = layerwise_predict(a->m, &in, LAYERWISE_WATTS, &watts, a->err);
    to->joules = (layerwise_answer){ watts.value * to->seconds.value, watts.low * to->seconds.value,
                                     watts.high * to->seconds.value, 1, false };
    return status;
}

phase layerwise_other_forward(phase f)
{
    return f == PHASE_FORWARD ? PHASE_INFERENCE : f == PHASE_INFERENCE ? PHASE_FORWARD : f;
}

static lm_status ask_phase(adding *a, const layerwise_case *c, phase f, taken *to)
{
    phase     told   = f;
    lm_status status = ask(a, c, f, &to->seconds);

    if (!status && isnan(to->seconds.value))
        status = ask(a, c, told = layerwise_other_forward(f), &to->seconds);
    a->out->stood_in[f] += told != f && !isnan(to->seconds.value);
    to->joules = untold;
    return status || isnan(to->seconds.value) ? status : ask_joules(a, c, told, to);
}

static void add_answer(layerwise_answer *to, const layerwise_answer *x)
{
    to->value += x->value;
    to->low += x->low;
    to->high += x->high;
}

/* Sets the step to the sum of passes and update if all are known, so that printed times add up. */
static void add_parts(taken found[N_PHASES])
{
    static const phase part[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE };
    taken              sum    = { nothing, nothing };

    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        add_answer(&sum.seconds, &found[part[i]].seconds);
        add_answer(&sum.joules, &found[part[i]].joules);
    }
    if (!isnan(sum.seconds.value))
        found[PHASE_STEP] = sum;
}

static void add_taken(adding *a, phase f, const taken *x)
{
    layerwise_sum *to = a->out;

    to->seconds[f] += x->seconds.value;
    to->low[f] += x->seconds.low;
    to->high[f] += x->seconds.high;
    to->joules[f] += x->joules.value;
    to->joules_low[f] += x->joules.low;
    to->joules_high[f] += x->joules.high;
    to->beyond = fmax(to->beyond, x->seconds.beyond);
    to->unseen |= x->seconds.unseen;
}

static const question questions[] = {
    { { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_STEP }, 4, PHASE_STEP },
    { { PHASE_INFERENCE }, 1, PHASE_INFERENCE },
    { { PHASE_FORWARD }, 1, PHASE_FORWARD }, /* a pass that no step was learned beside */
};

static lm_status show(adding *a, const layerwise_case *c, const question *q,
                      const taken found[N_PHASES])
{
    double seconds[N_PHASES];

    for (phase f = 0; f < N_PHASES; f++)
        seconds[f] = NAN;
    for (size_t i = 0; i < q->n; i++)
        seconds[q->asked[i]] = found[q->asked[i]].seconds.value;
    return a->see ? a->see(a->context, c, seconds, a->err) : LM_OK;
}

static lm_status ask_all(adding *a, const layerwise_case *c, const question *q,
                         taken found[N_PHASES])
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < q->n && !status; i++) {
        const phase f = q->asked[i];

        found[f] = (taken){ nothing, nothing };
        if (happens(c, f))
            status = ask_phase(a, c, f, &found[f]);
        a->out->told[f] += happens(c, f) && !isnan(found[f].seconds.value);
    }
    if (!status && q->whole == PHASE_STEP) {
        const bool whole = !isnan(found[PHASE_STEP].seconds.value);

        add_parts(found);
        a->out->told[PHASE_STEP] += !whole && !isnan(found[PHASE_STEP].seconds.value);
    }
    return status;
}

/* Adds a case that the model knows. */
static lm_status add_told(adding *a, const layerwise_case *c, const question *q,
                          const taken found[N_PHASES])
{
    for (size_t i = 0; i < q->n; i++) {
        const phase f = q->asked[i];

        const layerwise_answer *x = &found[f].seconds;

        if (isnan(x->value)) {
            a->out->other[f]++;
            continue;
        }
        add_taken(a, f, &found[f]);
        if (x->value > 0) {
            a->low  = fmin(a->low, x->low / x->value);
            a->high = fmax(a->high, x->high / x->value);
        }
    }
    return show(a, c, q, found);
}

static void note_other(layerwise_others *to, const char *type, double seconds)
{
    size_t i = 0;

    while (i < to->n && strcmp(to->of[i].type, type) != 0)
        i++;
    if (i == LAYERWISE_OTHERS)
        to->of[--i].type = "others";
    else if (i == to->n)
        to->of[to->n++].type = type;
    to->of[i].layers++;
    to->of[i].seconds += seconds;
}

/* Adds a layer that the model does not know, by prices. Its interval comes last. */
static lm_status add_other(adding *a, const bound_layer *l, const layerwise_case *from,
                           const question *q)
{
    layerwise_others *others = &a->out->others;
    layerwise_case    c      = *from;
    double            seconds[N_PHASES];
    taken             found[N_PHASES];
    lm_error          why    = { LM_OK, "" };
    const lm_status   status = stand_in_price(a->by, a->net, l, a->s->optimizer, seconds, &why);

    if (status == LM_E_NOMEM)
        return no_memory(a->err);
    if (!status && isnan(seconds[q->whole]))
        lm_error_set(&why, LM_E_NOTFOUND, "%s (%s) in its backward pass", l->decl->name,
                     l->decl->type);
    if (why.code && !others->why.code)
        others->why = why;
    for (size_t i = 0; i < q->n; i++) {
        const phase  f = q->asked[i];
        const double x = seconds[f];

        found[f] = (taken){ { x, 0, 0, 1, false }, isnan(x) ? untold : nothing };
        add_taken(a, f, &found[f]);
        a->others[f] += x;
    }
    note_other(others, l->entry->type.name, seconds[q->whole]);
    c.layer    = &l;
    c.n_layers = 1;
    return show(a, &c, q, found);
}

/* A case as a whole; else without the function behind it, which prices then tell; else by prices. */
static lm_status add_case_of(adding *a, const layerwise_case *c, const question *q, bool *told)
{
    layerwise_case before = *c;
    taken          found[N_PHASES];
    lm_status      status = ask_all(a, c, q, found);

    *told = !isnan(found[q->whole].seconds.value);
    if (!status && !*told && c->n_layers > 1 && !a->m->kind->chained &&
        layerwise_is_function(c->layer[c->n_layers - 1])) {
        before.n_layers--;
        status = ask_all(a, &before, q, found);
        *told  = !isnan(found[q->whole].seconds.value);
    }
    if (status || !*told)
        return status;
    status = add_told(a, &before, q, found);
    return status || before.n_layers == c->n_layers ? status
                                                    : add_other(a, c->layer[before.n_layers], c, q);
}

static bool is_any_attention(const layerwise_case *c)
{
    bool found = false;

    for (size_t i = 0; i < c->n_layers && c->n_layers > 1; i++)
        found |= layerwise_is_attention(c->layer[i]);
    return found;
}

static lm_status add_case(void *context, layerwise_case *c, bool *parted)
{
    adding         *a      = context;
    const question *q      = a->asked;
    bool            told   = false;
    lm_status       status = add_case_of(a, c, q, &told);

    if (!status && !told && (is_any_attention(c) || (a->m->kind->chained && c->n_layers > 1))) {
        *parted = true;
        return LM_OK;
    }
    for (size_t i = 0; i < c->n_layers && !told && !status; i++)
        status = add_other(a, c->layer[i], c, q);
    return status;
}

lm_status layerwise_refuse(const layerwise_others *o, const char *model, lm_error *err)
{
    return lm_error_set(err, LM_E_NOTFOUND,
                        "%s does not know layer %s, and there are no coefficients of such single "
                        "layers: measure such single layers, then fit again",
                        model, o->why.text);
}

static void sort_others(layerwise_others *o)
{
    for (size_t i = 1; i < o->n; i++)
        for (size_t k = i; k > 0 && o->of[k].seconds > o->of[k - 1].seconds; k--) {
            const layerwise_others swap = *o;

            o->of[k]     = swap.of[k - 1];
            o->of[k - 1] = swap.of[k];
        }
}

lm_status layerwise_sum_of(const layerwise_model *m, const bound_network *net,
                           const layerwise_setup *s, layerwise_sum *out, lm_error *err)
{
    return layerwise_sum_each(m, net, s, NULL, NULL, out, err);
}

/* Functions are joined to the layers before them if the model learned such cases. */
static layerwise_joined joined_by(const layerwise_model *m)
{
    const size_t n     = strlen(LAYERWISE_CHAINED);
    bool         found = false;

    for (size_t t = 0; t < m->n_tasks && m->kind->chained; t++)
        for (size_t k = 0; k < m->task[t].n_features; k++)
            found |= !strncmp(m->task[t].feature[k].name, LAYERWISE_CHAINED, n) &&
                     m->task[t].feature[k].high > 0;
    return m->kind->chains ? LAYERWISE_CHAINS : found ? LAYERWISE_FUNCTIONS : LAYERWISE_SINGLE;
}

/* Layers with prices draw what the others draw on average, and are as wrong as the worst of them. */
static void add_unknown(const adding *a, phase f, layerwise_sum *out)
{
    const double told = out->seconds[f] - a->others[f];
    const double more = a->others[f] > 0 ? out->seconds[f] / told : 1;

    out->low[f] += a->low * a->others[f];
    out->high[f] += a->high * a->others[f];
    out->joules[f] *= more;
    out->joules_low[f] *= more;
    out->joules_high[f] *= more;
}

static lm_status add_all(adding *a, const question *q, lm_error *err)
{
    layerwise_sum *out = a->out;
    lm_status      status;

    *out     = (layerwise_sum){ .beyond = 1 };
    a->asked = q;
    status   = layerwise_each(a->net, joined_by(a->m), a->s, add_case, a, err);
    for (phase f = 0; f < N_PHASES; f++)
        add_unknown(a, f, out);
    sort_others(&out->others);
    for (phase f = 0; f < N_PHASES; f++)
        if (!out->told[f])
            out->seconds[f] = out->low[f] = out->high[f] = out->joules[f] = out->joules_low[f] =
                out->joules_high[f]                                       = NAN;
    return status;
}

lm_status layerwise_sum_each(const layerwise_model *m, const bound_network *net,
                             const layerwise_setup *s, layerwise_see *see, void *context,
                             layerwise_sum *out, lm_error *err)
{
    stand_ins    by     = stand_ins_of(s->cal);
    const adding fresh  = { m, net, s, NULL, out, see, context, err, { 0 }, 1, 1, &by };
    adding       a      = fresh;
    lm_status    status = add_all(&a, &questions[net->options.evaluation], err);

    if (!status && !net->options.evaluation && !out->told[PHASE_STEP] && !see) {
        a      = fresh;
        status = add_all(&a, &questions[2], err);
    }
    stand_ins_free(&by);
    return status;
}
