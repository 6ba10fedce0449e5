/* Parts of a step of a linear model: features of layers, terms of their kernels. */
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fit/shared.h"
#include "models/explanation.h"
#include "models/linear.h"

/* State of an explanation. */
typedef struct work {
    const predictor  *who;
    explanation      *e;
    const step_setup *asked;
    unsigned          measured; /* see step_measured() */
    full_workload     load;     /* of the whole network */
    bound_network    *bound[2]; /* see workloads_bind() */
    double            steps;    /* number of steps from the first bound batch to the batch */
    double            sent;     /* bytes of gradients in messages, per byte of parameters */
    const char *class[N_TERM_SLOTS];
    lm_error *err;
} work;

/* Number of times that a step repeats the part. */
static double times_of(const work *w, phase part)
{
    return part == PHASE_FORWARD || part == PHASE_BACKWARD || part == PHASE_STEP
               ? (double)w->asked->sync.accumulation
               : 1;
}

/* Adds a share of one micro-step, times the number of micro-steps. */
static lm_status add_share(work *w, const share *s)
{
    share all = *s;

    all.count *= times_of(w, s->part);
    all.seconds *= times_of(w, s->part);
    return explanation_add(w->e, &all, w->err);
}

/* ---- features: of each layer its own counts ---- */

/* Counts of a layer at the batch: linear in the batch, as the network's. */
static lm_status layer_load(work *w, size_t layer, workload *out)
{
    union {
        net_metrics metrics;
        uint64_t    value[sizeof(net_metrics) / sizeof(uint64_t)];
    } first, second;
    lm_status status = metrics_of_layer(&w->bound[0]->layer[layer], &first.metrics, w->err);

    if (!status && w->bound[1]) {
        status = metrics_of_layer(&w->bound[1]->layer[layer], &second.metrics, w->err);
        for (size_t i = 0; i < sizeof first.value / sizeof first.value[0]; i++)
            first.value[i] += (uint64_t)w->steps * (second.value[i] - first.value[i]);
    }
    *out = (workload){ .counts = first.metrics,
                       .nodes  = w->load.load.nodes,
                       .bytes  = w->sent * (double)first.metrics.param_bytes };
    return status;
}

static lm_status share_feature(work *w, phase which, const contribution *whole)
{
    const feature f      = (feature)whole->regressor;
    share         mine   = { .layer       = NO_LAYER,
                             .part        = which,
                             .kernels     = "step",
                             .regressor   = feature_name(f),
                             .unit        = feature_unit(f),
                             .count       = whole->count,
                             .coefficient = whole->c->value,
                             .seconds     = whole->seconds,
                             .bound       = feature_bound(f),
                             .standing    = linear_certainty(w->who, w->measured, which, whole) };
    lm_status     status = LM_OK;

    if (!feature_of_layers(f))
        return add_share(w, &mine);
    for (size_t l = 0; l < w->e->n_layers && !status; l++) {
        workload load;

        if ((status = layer_load(w, l, &load)))
            return status;
        mine.layer   = l;
        mine.kernels = w->e->layer[l].type;
        mine.count   = feature_value(f, &load);
        mine.seconds = feature_seconds(f, whole->c->value, &load);
        if (mine.count != 0)
            status = add_share(w, &mine);
    }
    return status;
}

/* Shares of all-reduces: bytes belong to layers, the rest to the step. */
static lm_status share_sync(work *w)
{
    const collective_call a = { COLLECTIVE_ALLREDUCE, w->load.load.bytes, w->asked->nodes,
                                w->asked->devices, 1 };
    collective_answer     answer;
    lm_status             status = calibration_ask(w->who->cal, &w->who->link, &a, &answer, w->err);

    for (size_t k = 0; !status && k < answer.n; k++) {
        const collective_share *from = &answer.share[k];
        share                   s    = { .layer       = NO_LAYER,
                                         .part        = PHASE_SYNC,
                                         .kernels     = "step",
                                         .regressor   = from->name,
                                         .unit        = from->unit,
                                         .count       = from->count,
                                         .coefficient = from->price,
                                         .seconds     = from->seconds,
                                         .bound       = from->bound,
                                         .standing = w->measured & 1u << PHASE_SYNC ? CERTAINTY_MEASURED
                                                                                    : fabric_certainty(w->who, from) };

        if (from->bound != BOUND_TRAFFIC) {
            status = add_share(w, &s);
            continue;
        }
        for (size_t l = 0; l < w->e->n_layers && !status; l++) {
            workload load;

            if ((status = layer_load(w, l, &load)))
                return status;
            s.layer   = l;
            s.kernels = w->e->layer[l].type;
            s.count   = from->count * load.bytes / a.bytes;
            s.seconds = from->price * s.count;
            if (s.count != 0)
                status = add_share(w, &s);
        }
    }
    return status;
}

/* ---- terms: of each kernel its own ---- */

/* A term of a class of kernels of a layer. */
typedef struct cell {
    size_t     layer, class;
    term_phase when;
    uint32_t   term;
    double     value[2]; /* one for each bound network */
} cell;

typedef struct cells {
    const term_settings *settings;
    cell                *cell;
    size_t               n, room;
    size_t              *last; /* by layer and phase: 1 + its last cell; 0: none */
    size_t              *next; /* of each cell: the cell added before it */
    size_t               which;
    bool                 failed;
    double               sum[N_TERMS]; /* of one kernel; zeros between kernels */
} cells;

static cell *new_cell(cells *c, size_t *last)
{
    if (c->n == c->room) {
        const size_t room = c->room ? 2 * c->room : 1024;
        cell        *more = realloc(c->cell, room * sizeof *more);
        size_t      *next;

        if (more)
            c->cell = more;
        next = realloc(c->next, room * sizeof *next);
        if (next)
            c->next = next;
        if (!more || !next) {
            c->failed = true;
            return NULL;
        }
        c->room = room;
    }
    c->next[c->n] = *last;
    *last         = c->n + 1;
    return &c->cell[c->n++];
}

static void add_to_cell(cells *c, size_t layer, term_phase when, size_t class, uint32_t term,
                        double value)
{
    size_t *last = &c->last[layer * N_TERM_PHASES + when];
    cell *new;

    for (size_t i = *last; i; i = c->next[i - 1])
        if (c->cell[i - 1].term == term && c->cell[i - 1].class == class) {
            c->cell[i - 1].value[c->which] += value;
            return;
        }
    if (!(new = new_cell(c, last)))
        return;
    *new                 = (cell){ layer, class, when, term, { 0 } };
    new->value[c->which] = value;
}

static void visit(void *context, size_t layer, term_phase when, const lm_kernel *k,
                  term_chain *chain)
{
    cells *c = context;
    const size_t class =
        chain ? terms_add(k, c->settings, chain, c->sum) : terms_add_update(k, c->sum);

    for (size_t t = (size_t)k->pass; t < N_TERMS; t += LM_N_PASSES) /* term_put() */
        if (c->sum[t] != 0) {
            add_to_cell(c, layer, when, class, (uint32_t)t, c->sum[t]);
            c->sum[t] = 0;
        }
}

static const char *class_name(work *w, size_t slot)
{
    char text[64];

    if (!w->class[slot])
        w->class[slot] = explanation_keep(w->e, term_slot_class(slot, text, sizeof text));
    return w->class[slot];
}

/* Shares of one part, which counts the kernels of some passes. */
static lm_status share_cells(work *w, phase which, const cells *c, const contribution *whole,
                             size_t n)
{
    const unsigned      passes      = forms[form_find(w->who->model, which)].passes;
    const contribution *of[N_TERMS] = { NULL };
    const char         *name[N_TERMS];
    lm_status           status = LM_OK;

    for (size_t i = 0; i < n; i++) {
        char text[64];

        of[whole[i].regressor] = &whole[i];
        name[whole[i].regressor] =
            explanation_keep(w->e, term_name(whole[i].regressor, text, sizeof text));
        if (!name[whole[i].regressor])
            return no_memory(w->err);
    }
    for (size_t i = 0; i < c->n && !status; i++) {
        const cell         *x    = &c->cell[i];
        const contribution *from = of[x->term] ? of[x->term] : of[term_update_held(x->term)];
        share               s    = { .layer = x->layer, .part = which };

        s.count = x->value[0] + (w->bound[1] ? w->steps * (x->value[1] - x->value[0]) : 0);
        if (!(passes & 1u << x->when) || s.count == 0 || !from)
            continue;
        if (!(s.kernels = class_name(w, x->class)))
            return no_memory(w->err);
        s.regressor   = name[x->term];
        s.passes      = term_of_update(x->term) ? 0 : 1u << term_pass(x->term);
        s.unit        = term_unit(x->term);
        s.coefficient = linear_coefficient(w->who, which, from);
        s.seconds     = s.coefficient * s.count;
        s.bound       = term_family_bound(term_family_of(x->term));
        s.standing    = linear_certainty(w->who, w->measured, which, from);
        status        = add_share(w, &s);
    }
    return status;
}

static lm_status count_cells(work *w, cells *c)
{
    lm_status status = LM_OK;

    c->settings = &w->who->cal->settings;
    c->last     = calloc(w->e->n_layers * N_TERM_PHASES + 1, sizeof *c->last);
    if (!c->last)
        return no_memory(w->err);
    for (c->which = 0; c->which < 2 && w->bound[c->which] && !status; c->which++)
        status = terms_visit(w->bound[c->which], w->asked->optimizer, visit, c, w->err);
    return !status && c->failed ? no_memory(w->err) : status;
}

/* Adds seconds that belong to the whole step only, if any. */
static lm_status share_of_step(work *w, phase which, const char *name, double seconds)
{
    return explanation_add_whole(w->e, which, "step", name, times_of(w, which) * seconds,
                                 BOUND_TRAFFIC, CERTAINTY_INTERPOLATED, w->err);
}

/* Share of the slowdown by other ranks of the host. */
static lm_status share_host(work *w, phase which, const contribution *c, size_t n)
{
    double seconds = 0;

    for (size_t k = 0; k < n; k++)
        seconds += c[k].seconds;
    return share_of_step(
        w, which, "sharing",
        seconds * (shared_times(w->who->cal, w->who->model, which, w->asked->devices) - 1));
}

static lm_status share_forms(work *w)
{
    cells     c      = { 0 };
    lm_status status = LM_OK;

    for (size_t i = 0; i < w->e->n_parts && !status; i++) {
        const phase  which = w->e->part[i];
        const size_t at    = form_find(w->who->model, which);
        contribution room[MAX_CONTRIBUTIONS];
        size_t       n;

        if (which == PHASE_SYNC && calibration_asks(w->who->cal, w->who->model)) {
            status = share_sync(w);
            continue;
        }
        n = linear_contributions(w->who, which, at, &w->load.load, room);

        status = share_host(w, which, room, n);
        for (size_t k = 0; k < n && forms[at].n_features && !status; k++)
            status = share_feature(w, which, &room[k]);
        if (forms[at].n_features)
            continue;
        if (!c.last)
            status = count_cells(w, &c);
        if (!status)
            status = share_cells(w, which, &c, room, n);
    }
    free(c.cell);
    free(c.last);
    free(c.next);
    return status;
}

/* Shares of hidden all-reduces: their exposed part, the slowdown of the backward pass, and copies
 * of gradients. */
static lm_status share_overlap(work *w)
{
    explanation      *e       = w->e;
    const prediction *p       = &e->step;
    const double      factor  = p->exposed / explanation_seconds(e, PHASE_SYNC);
    const bool        assumed = !w->who->cal->overlapping.rows;
    const double      slowed  = p->backward - explanation_seconds(e, PHASE_BACKWARD);
    lm_status         status;

    for (size_t i = 0; i < e->n_shares; i++) {
        share *s = &e->share[i];

        if (s->part != PHASE_SYNC)
            continue;
        s->count *= factor;
        s->seconds *= factor;
        s->standing = assumed ? CERTAINTY_ASSUMED : s->standing;
    }
    if ((status = share_of_step(w, PHASE_SYNC, "slowdown", slowed)) ||
        (status = share_of_step(w, PHASE_SYNC, "copies", p->copy)))
        return status;
    return share_of_step(w, PHASE_SYNC, "stragglers", p->straggler);
}

static lm_status take_apart(work *w)
{
    const int64_t       batch = w->asked->batch, ranks = step_setup_ranks(w->asked);
    const predictor    *who    = w->who;
    const workload_name of     = predictor_workload(who, w->asked->program);
    grounds             unused = { .n_beyond = 0 };
    double              products;
    bool                whole;
    lm_status           status;

    w->steps      = (double)(batch - 1);
    w->e->n_parts = linear_parts(who, w->asked->program, ranks > 1, w->e->part);
    whole         = w->e->part[0] == PHASE_STEP;
    if ((status = workloads_full(who->loads, &of, batch, &who->cal->settings, w->asked->optimizer,
                                 &w->load, w->err)) ||
        (status = workloads_bind(who->loads, &of, batch, w->bound, w->err)))
        return status;
    w->load.load.nodes = (double)ranks;
    w->load.load.bytes = step_setup_bytes(w->asked, &w->load.load.counts);
    w->sent            = w->load.load.counts.param_bytes
                             ? w->load.load.bytes / (double)w->load.load.counts.param_bytes
                             : 1;
    w->measured        = step_measured(who, w->asked);
    if (!(status = explanation_name_layers(w->e, w->bound[0], w->err)))
        status = share_forms(w);
    if (!status && !step_setup_in_turn(w->asked))
        status = share_overlap(w);
    if (!status && w->asked->program == PROGRAM_TRAINING &&
        !(status = linear_products(who, w->asked, &products, &unused, w->err)))
        status = explanation_add_whole(w->e, whole ? PHASE_STEP : PHASE_UPDATE, "step",
                                       "products of the update", products, BOUND_ARITHMETIC,
                                       CERTAINTY_ASSUMED, w->err);
    bound_network_free(w->bound[0]);
    bound_network_free(w->bound[1]);
    return status;
}

lm_status linear_explain(const predictor *who, const step_setup *s, explanation *e, lm_error *err)
{
    work     *w = calloc(1, sizeof *w);
    lm_status status;

    if (!w)
        return no_memory(err);
    *w     = (work){ .who = who, .e = e, .asked = s, .err = err };
    status = take_apart(w);
    free(w);
    return status;
}
