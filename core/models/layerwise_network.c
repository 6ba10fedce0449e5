/* Networks as a learned model of single layers sees them. */
#include "models/layerwise_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "counts/shape.h"
#include "models/stand_in.h"

#define NOBODY  SIZE_MAX
#define SEVERAL (SIZE_MAX - 1)

layerwise_case layerwise_in(const layerwise_case *c, phase f, const char *updated)
{
    layerwise_case out = *c;

    out.phase     = f;
    out.optimizer = f == PHASE_UPDATE || f == PHASE_STEP ? updated : "";
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

/* ---- attention ---- */

static bool is_dense(const bound_layer *l)
{
    layer_shape s;

    shape_of_layer(l, &s);
    return s.kind == SHAPE_DENSE;
}

/* What lies between a product and attention: cuts, turns, adds positions. */
static bool lies_between(const bound_layer *l)
{
    return l->n_inputs > 0 && !l->n_weights && !layerwise_is_attention(l) && !is_product(l);
}

typedef enum place { OUTSIDE, INSIDE, END } place;

/* How often a layer is read, and how often from inside. */
typedef struct reads {
    size_t all, inside;
} reads;

static void count_reads(const bound_network *net, size_t i, reads *r, bool inside)
{
    for (size_t k = 0; k < net->layer[i].decl->n_inputs; k++) {
        const size_t from = net->layer[i].decl->input[k].layer;

        if (from < net->n_layers)
            *(inside ? &r[from].inside : &r[from].all) += 1;
    }
}

/* From attention back to the products that nobody else reads; how many of these. */
static size_t go_back(const bound_network *net, size_t attention, reads *r, place *at)
{
    size_t ends = 0;

    at[attention] = INSIDE;
    count_reads(net, attention, r, true);
    for (size_t i = attention; i-- > 0;) {
        if (!r[i].inside || r[i].inside != r[i].all)
            continue;
        at[i] = is_dense(&net->layer[i]) ? END : lies_between(&net->layer[i]) ? INSIDE : OUTSIDE;
        ends += at[i] == END;
        if (at[i] == INSIDE)
            count_reads(net, i, r, true);
    }
    return ends;
}

/* From attention on to the product that reads it. */
static bool go_on(const bound_network *net, size_t attention, const size_t *reader, place *at)
{
    size_t i = reader[attention];

    while (i < net->n_layers && lies_between(&net->layer[i]) && !does_something(&net->layer[i])) {
        at[i] = INSIDE;
        i     = reader[i];
    }
    if (i >= net->n_layers || !is_dense(&net->layer[i]))
        return false;
    at[i] = END;
    return true;
}

/* Attention with the products around it: of[i] is the first layer of all these. */
static lm_status join_attention(const bound_network *net, const size_t *reader, size_t *of,
                                lm_error *err)
{
    reads    *r      = malloc((net->n_layers + 1) * sizeof *r);
    place    *at     = malloc((net->n_layers + 1) * sizeof *at);
    lm_status status = r && at ? LM_OK : no_memory(err);

    for (size_t a = 0; a < net->n_layers && !status; a++) {
        size_t first = NOBODY;

        if (!layerwise_is_attention(&net->layer[a]))
            continue;
        memset(r, 0, net->n_layers * sizeof *r);
        for (size_t i = 0; i < net->n_layers; i++) {
            at[i] = OUTSIDE;
            count_reads(net, i, r, false);
        }
        if (!go_back(net, a, r, at) || !go_on(net, a, reader, at))
            continue;
        for (size_t i = 0; i < net->n_layers; i++) {
            first = at[i] != OUTSIDE && first == NOBODY ? i : first;
            of[i] = at[i] != OUTSIDE ? first : of[i];
        }
    }
    free(r);
    free(at);
    return status;
}

/* ---- walking ---- */

#define CASE_LAYERS 16 /* of attention: three products, positions of two, itself, its output */

/* The layers of a case that do something; false: none does, or too many. */
static bool take_case(const bound_network *net, const size_t *of, size_t first,
                      const bound_layer *layer[CASE_LAYERS], layerwise_case *c)
{
    size_t n = 0;

    for (size_t k = first; k < net->n_layers; k++) {
        if (of[k] != first || !does_something(&net->layer[k]))
            continue;
        if (n == CASE_LAYERS)
            return false;
        layer[n++] = &net->layer[k];
    }
    c->layer    = layer;
    c->n_layers = n;
    return n > 0;
}

static void dissolve(size_t *around, size_t first, size_t n)
{
    for (size_t k = n; k-- > first;)
        if (around[k] == first)
            around[k] = NOBODY;
}

/* Whose case each layer belongs to, and around which attention it stands. */
typedef struct parts {
    size_t *of, *around;
} parts;

static lm_status see_from(const bound_network *net, const parts *p, size_t i,
                          const layerwise_case *like,
                          lm_status (*see)(void *context, layerwise_case *c, bool *parted),
                          void *context)
{
    const bound_layer *layer[CASE_LAYERS];
    layerwise_case     c      = *like;
    bool               parted = true;
    lm_status          status = LM_OK;

    if (p->around[i] == i) {
        if (take_case(net, p->around, i, layer, &c)) {
            parted = false;
            status = see(context, &c, &parted);
        }
        if (parted)
            dissolve(p->around, i, net->n_layers);
    }
    if (status || p->around[i] != NOBODY)
        return status;
    if (p->around[p->of[i]] != NOBODY) /* behind attention that was shown as a whole */
        p->of[i] = i;
    return p->of[i] == i && take_case(net, p->of, i, layer, &c) ? see(context, &c, &parted) : LM_OK;
}

lm_status layerwise_each(const bound_network *net, bool chains, const layerwise_setup *s,
                         lm_status (*see)(void *context, layerwise_case *c, bool *parted),
                         void *context, lm_error *err)
{
    const layerwise_case like   = { .phase     = PHASE_FORWARD,
                                    .batch     = net->options.batch,
                                    .dtype     = net->options.dtype,
                                    .optimizer = "",
                                    .settings  = s->settings,
                                    .on        = s->on,
                                    .clock_mhz = s->clock_mhz };
    const size_t         n      = net->n_layers;
    size_t              *reader = readers(net);
    size_t              *room   = malloc((2 * n + 1) * sizeof *room);
    const parts          p      = { room, room ? room + n : NULL };
    lm_status            status = reader && room ? LM_OK : no_memory(err);

    for (size_t i = 0; !status && i < n; i++) {
        p.of[i]     = i;
        p.around[i] = NOBODY;
    }
    if (!status && chains) {
        join_chains(net, reader, p.of);
        status = join_attention(net, reader, p.around, err);
    }
    for (size_t i = 0; i < n && !status; i++)
        status = see_from(net, &p, i, &like, see, context);
    free(reader);
    free(room);
    return status;
}

/* ---- sums ---- */

typedef struct adding {
    const layerwise_model *m;
    const bound_network   *net;
    const layerwise_setup *s;
    layerwise_sum         *out;
    layerwise_see         *see; /* NULL: nobody looks */
    void                  *context;
    lm_error              *err;
    double                 others[N_PHASES]; /* s, by prices */
    double                 low, high;        /* the widest interval of what the model tells */
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

/* What a case takes in a phase: seconds, and joules by the bounds of its power alone. */
typedef struct taken {
    layerwise_answer seconds, joules; /* NAN: not told */
} taken;

static const layerwise_answer nothing = { 0, 0, 0, 1, false }, untold = { NAN, NAN, NAN, 1, false };

/* Watts for so long; where no power was learned, NAN. */
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

/* What is told together: a step with its parts, or a pass in evaluation mode. */
typedef struct question {
    phase  asked[4];
    size_t n;
    phase  whole; /* that must be told */
} question;

static const question questions[] = {
    { { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_STEP }, 4, PHASE_STEP },
    { { PHASE_INFERENCE }, 1, PHASE_INFERENCE },
};

static layerwise_others *others_of(layerwise_sum *s, const question *q)
{
    return q->whole == PHASE_STEP ? &s->others : &s->others_inference;
}

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

/* Of a case that the model tells. */
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

/* Of a layer that it does not: by prices, whose interval comes last. */
static lm_status add_other(adding *a, const bound_layer *l, const layerwise_case *from,
                           const question *q)
{
    layerwise_others *others = others_of(a->out, q);
    layerwise_case    c      = *from;
    double            seconds[N_PHASES];
    taken             found[N_PHASES];
    lm_error          why    = { LM_OK, "" };
    const lm_status   status = stand_in_price(a->s->cal, a->net, l, a->s->optimizer, seconds, &why);

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

        found[f] = (taken){ { x, 0, 0, 1, false }, x ? untold : nothing };
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
    if (!status && !*told && c->n_layers > 1 && is_function(c->layer[c->n_layers - 1])) {
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
    adding   *a       = context;
    bool      told[2] = { false, false };
    lm_status status  = LM_OK;

    for (size_t k = 0; k < 2 && !status; k++)
        status = add_case_of(a, c, &questions[k], &told[k]);
    if (!status && !told[0] && !told[1] && is_any_attention(c)) {
        *parted = true;
        return LM_OK;
    }
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < c->n_layers && !told[k] && !status; i++)
            status = add_other(a, c->layer[i], c, &questions[k]);
    return status;
}

lm_status layerwise_refuse(const layerwise_others *o, const char *model, lm_error *err)
{
    return lm_error_set(err, LM_E_NOTFOUND,
                        "%s knows nothing of layer %s, and prices of single layers do not either: "
                        "measure such layers by themselves, then fit again",
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

static void copy_phase(layerwise_sum *s, phase from, phase to)
{
    s->seconds[to]     = s->seconds[from];
    s->low[to]         = s->low[from];
    s->high[to]        = s->high[from];
    s->joules[to]      = s->joules[from];
    s->joules_low[to]  = s->joules_low[from];
    s->joules_high[to] = s->joules_high[from];
    s->told[to]        = s->told[from];
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
    adding    a = { m, net, s, out, see, context, err, { 0 }, 1, 1 };
    lm_status status;

    *out   = (layerwise_sum){ .beyond = 1 };
    status = layerwise_each(net, m->kind->chains, s, add_case, &a, err);
    for (phase f = 0; f < N_PHASES; f++) {
        out->low[f] += a.low * a.others[f];
        out->high[f] += a.high * a.others[f];
    }
    if (!out->told[PHASE_STEP]) { /* a pass that no step was learned beside */
        copy_phase(out, PHASE_INFERENCE, PHASE_FORWARD);
        out->others = out->others_inference;
    }
    sort_others(&out->others);
    sort_others(&out->others_inference);
    for (phase f = 0; f < N_PHASES; f++)
        if (!out->told[f])
            out->seconds[f] = out->low[f] = out->high[f] = out->joules[f] = out->joules_low[f] =
                out->joules_high[f]                                       = NAN;
    return status;
}
