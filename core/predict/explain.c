/* What a predicted step is made of. */
#include "predict/explain.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "fit/shared.h"
#include "predict/by_layers.h"
#include "predict/layerwise_step.h"
#include "predict/paleo_step.h"

/* ---- taking apart -------------------------------------------------------------------------------
 */

/* Everything that is needed meanwhile. */
typedef struct work {
    const predictor  *who;
    explanation      *e;
    const step_setup *asked;
    unsigned          measured; /**< parts, see predict_measured() */
    full_workload     load;     /* of the whole network */
    bound_network    *bound[2]; /* see workloads_bind() */
    double            steps;    /* from the first to the batch */
    double            sent;     /* bytes of gradients as they travel, for each of their own */
    const char *class[N_TERM_SLOTS];
    lm_error *err;
} work;

lm_status explanation_add(explanation *e, const share *s, lm_error *err)
{
    if (e->n_shares == e->room) {
        const size_t room = e->room ? 2 * e->room : 256;
        share       *more = realloc(e->share, room * sizeof *more);

        if (!more)
            return no_memory(err);
        e->share = more;
        e->room  = room;
    }
    e->share[e->n_shares++] = *s;
    return LM_OK;
}

/* Of one micro-step. */
static lm_status add_share(work *w, const share *s)
{
    share all = *s;

    if (s->part == PART_FORWARD || s->part == PART_BACKWARD || s->part == PART_STEP) {
        all.count *= (double)w->asked->sync.accumulation;
        all.seconds *= (double)w->asked->sync.accumulation;
    }
    return explanation_add(w->e, &all, w->err);
}

static const char *keep(explanation *e, const char *text)
{
    return arena_text(e->arena, text, strlen(text));
}

static lm_status name_layers(explanation *e, const bound_network *net, lm_error *err)
{
    e->n_layers = net->n_layers;
    e->layer    = arena_alloc(e->arena, (net->n_layers + 1) * sizeof *e->layer);
    for (size_t i = 0; e->layer && i < net->n_layers; i++) {
        e->layer[i] = (explained_layer){ keep(e, net->layer[i].decl->name),
                                         keep(e, net->layer[i].entry->type.name) };
        if (!e->layer[i].name || !e->layer[i].type)
            return no_memory(err);
    }
    return e->layer ? LM_OK : no_memory(err);
}

/* ---- features: of each layer its own counts -----------------------------------------------------
 */

/* Counts of a layer at the batch: they grow by equal steps like the network's. */
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

static lm_status share_feature(work *w, part which, const contribution *whole)
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
                             .standing    = predict_certainty(w->who, w->measured, which, whole) };
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

/* All-reduces: bytes are the layers' own, the rest is the step's. */
static lm_status share_sync(work *w)
{
    const allreduce  a = { w->load.load.bytes, w->asked->nodes, w->asked->devices };
    allreduce_answer answer;
    lm_status        status = calibration_ask(w->who->cal, &a, &answer, w->err);

    for (size_t k = 0; !status && k < answer.n; k++) {
        const allreduce_share *from = &answer.share[k];
        share                  s    = { .layer       = NO_LAYER,
                                        .part        = PART_SYNC,
                                        .kernels     = "step",
                                        .regressor   = from->name,
                                        .unit        = from->unit,
                                        .count       = from->count,
                                        .coefficient = from->price,
                                        .seconds     = from->seconds,
                                        .bound       = from->bound,
                                        .standing = predict_sync_certainty(w->who, w->measured, from) };

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

/* ---- terms: of each kernel its own --------------------------------------------------------------
 */

/* A term of a class of kernels of a layer. */
typedef struct cell {
    size_t     layer, class;
    term_phase when;
    uint32_t   term;
    double     value[2]; /* of each of the bound networks */
} cell;

typedef struct cells {
    const term_settings *settings;
    cell                *cell;
    size_t               n, room;
    size_t              *last; /* of each layer and phase, 1 + the one added last; 0: none */
    size_t              *next; /* behind each cell the one before it */
    size_t               which;
    bool                 failed;
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
    cells *c            = context;
    double sum[N_TERMS] = { 0 };
    const size_t class  = chain ? terms_add(k, c->settings, chain, sum) : terms_add_update(k, sum);

    for (size_t t = 0; t < N_TERMS; t++)
        if (sum[t] != 0)
            add_to_cell(c, layer, when, class, (uint32_t)t, sum[t]);
}

static const char *class_name(work *w, size_t slot)
{
    char text[64];

    if (!w->class[slot])
        w->class[slot] = keep(w->e, term_slot_class(slot, text, sizeof text));
    return w->class[slot];
}

/* Shares of one part, which counts the kernels of some passes. */
static lm_status share_cells(work *w, part which, const cells *c, const contribution *whole,
                             size_t n)
{
    const unsigned      passes      = forms[form_find(w->who->model, which)].passes;
    const contribution *of[N_TERMS] = { NULL };
    const char         *name[N_TERMS];
    lm_status           status = LM_OK;

    for (size_t i = 0; i < n; i++) {
        char text[64];

        of[whole[i].regressor]   = &whole[i];
        name[whole[i].regressor] = keep(w->e, term_name(whole[i].regressor, text, sizeof text));
        if (!name[whole[i].regressor])
            return no_memory(w->err);
    }
    for (size_t i = 0; i < c->n && !status; i++) {
        const cell         *x    = &c->cell[i];
        const contribution *from = of[x->term];
        share               s    = { .layer = x->layer, .part = which };

        s.count = x->value[0] + (w->bound[1] ? w->steps * (x->value[1] - x->value[0]) : 0);
        if (!(passes & 1u << x->when) || s.count == 0 || !from)
            continue;
        if (!(s.kernels = class_name(w, x->class)))
            return no_memory(w->err);
        s.regressor   = name[x->term];
        s.unit        = term_unit(x->term);
        s.coefficient = from->c->value;
        s.seconds     = s.coefficient * s.count;
        s.bound       = term_family_bound(term_family_of(x->term));
        s.standing    = predict_certainty(w->who, w->measured, which, from);
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

/* What a step takes as a whole, if anything. */
static lm_status share_of_step(work *w, part which, const char *name, double seconds)
{
    const share s = { .layer       = NO_LAYER,
                      .part        = which,
                      .kernels     = "step",
                      .regressor   = name,
                      .unit        = "s",
                      .count       = seconds,
                      .coefficient = 1,
                      .seconds     = seconds,
                      .bound       = BOUND_TRAFFIC,
                      .standing    = CERTAINTY_INTERPOLATED };

    if (!(seconds > 0))
        return LM_OK;
    return add_share(w, &s);
}

/* What a part takes longer beside other ranks of its host. */
static lm_status share_host(work *w, part which, const contribution *c, size_t n)
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
        const part   which = w->e->part[i];
        const size_t at    = form_find(w->who->model, which);
        contribution room[MAX_CONTRIBUTIONS];
        size_t       n;

        if (which == PART_SYNC && calibration_asks(w->who->cal, w->who->model)) {
            status = share_sync(w);
            continue;
        }
        n = calibration_contributions(w->who->cal, at, &w->load.load, room);

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

/* Seconds of a part so far. */
static double part_seconds(const explanation *e, part which)
{
    double sum = 0;

    for (size_t i = 0; i < e->n_shares; i++)
        sum += e->share[i].part == which ? e->share[i].seconds : 0;
    return sum;
}

/* Of all-reduces that the backward pass hides only what is exposed is the step's; messages slow it
 * down, and gradients are copied. */
static lm_status share_overlap(work *w)
{
    explanation      *e       = w->e;
    const prediction *p       = &e->step;
    const double      factor  = p->exposed / part_seconds(e, PART_SYNC);
    const bool        assumed = !w->who->cal->overlapping.rows;
    const double      slowed  = p->backward - part_seconds(e, PART_BACKWARD);
    lm_status         status;

    for (size_t i = 0; i < e->n_shares; i++) {
        share *s = &e->share[i];

        if (s->part != PART_SYNC)
            continue;
        s->count *= factor;
        s->seconds *= factor;
        s->standing = assumed ? CERTAINTY_ASSUMED : s->standing;
    }
    if ((status = share_of_step(w, PART_SYNC, "slowdown", slowed)) ||
        (status = share_of_step(w, PART_SYNC, "copies", p->copy)))
        return status;
    return share_of_step(w, PART_SYNC, "stragglers", p->straggler);
}

static lm_status take_apart(work *w)
{
    const int64_t    batch = w->asked->batch, ranks = step_setup_ranks(w->asked);
    const predictor *who = w->who;
    lm_status        status;

    if (predict_by_layers(who))
        return lm_error_set(w->err, LM_E_UNSUPPORTED,
                            "%s: a step that is a sum of single layers is not taken apart: "
                            "calibrate whole networks",
                            who->machine ? who->machine : "the machine file");
    w->steps      = (double)(batch - 1);
    w->e->n_parts = predict_parts(who, ranks > 1, w->e->part);
    if ((status = predict_load(who, batch, w->asked->optimizer, &w->load, w->err)) ||
        (status = workloads_bind(who->loads, who->network, who->input, who->dtype, batch, w->bound,
                                 w->err)))
        return status;
    w->load.load.nodes = (double)ranks;
    w->load.load.bytes = step_setup_bytes(w->asked, &w->load.load);
    w->sent            = w->load.load.counts.param_bytes
                             ? w->load.load.bytes / (double)w->load.load.counts.param_bytes
                             : 1;
    w->measured        = predict_measured(who, w->asked);
    if (!(status = name_layers(w->e, w->bound[0], w->err)))
        status = share_forms(w);
    if (!status && !step_setup_in_turn(w->asked))
        status = share_overlap(w);
    bound_network_free(w->bound[0]);
    bound_network_free(w->bound[1]);
    return status;
}

/* ---- PALEO: arithmetic and traffic of each layer ------------------------------------------------
 */

/* Its times are linear in its counts: those of a layer by its FLOPs alone, and by its bytes. */
static lm_status share_paleo(work *w, size_t layer, const paleo_counts *c, bool arithmetic)
{
    paleo_counts      mine = *c;
    paleo_times       t;
    double            count[4] = { 0 }, seconds[4];
    const paleo_work  backward = paleo_backward(c), update = paleo_update(c);
    const paleo_work *done[] = { &c->pass[LM_FORWARD], &backward, &update };
    lm_status         status = LM_OK;

    for (int pass = 0; pass < LM_N_PASSES; pass++)
        *(arithmetic ? &mine.pass[pass].bytes : &mine.pass[pass].flops) = 0;
    *(arithmetic ? &mine.param_bytes : &mine.params) = 0;
    t          = paleo_step(&mine, &w->who->paleo->platform, step_setup_ranks(w->asked));
    seconds[0] = t.forward;
    seconds[1] = t.backward;
    seconds[2] = t.update;
    seconds[3] = t.sync;
    for (int i = 0; i < 3; i++)
        count[i] = arithmetic ? done[i]->flops : done[i]->bytes;
    count[3] = arithmetic ? 0 : c->param_bytes;
    for (size_t i = 0; i < 4 && !status; i++) {
        const share s = { .layer       = layer,
                          .part        = w->e->part[i],
                          .kernels     = w->e->layer[layer].type,
                          .regressor   = arithmetic ? "flops" : "bytes",
                          .unit        = arithmetic ? "FLOP" : "byte",
                          .count       = count[i],
                          .coefficient = seconds[i] / count[i],
                          .seconds     = seconds[i],
                          .bound       = arithmetic ? BOUND_ARITHMETIC : BOUND_TRAFFIC,
                          .standing    = CERTAINTY_ASSUMED };

        if (count[i] > 0 && seconds[i] > 0)
            status = add_share(w, &s);
    }
    return status;
}

static lm_status take_paleo_apart(work *w)
{
    static const part      parts[] = { PART_FORWARD, PART_BACKWARD, PART_UPDATE, PART_SYNC };
    const paleo_predictor *p       = w->who->paleo;
    const bind_options with   = { .batch = w->asked->batch, .dtype = p->dtype, .input = p->input };
    bound_network     *net    = NULL;
    lm_status          status = bind_network(p->net, p->reg, &with, &net, w->err);

    if (status)
        return status;
    w->e->n_parts = sizeof parts / sizeof parts[0];
    memcpy(w->e->part, parts, sizeof parts);
    status = name_layers(w->e, net, w->err);
    for (size_t l = 0; l < net->n_layers && !status; l++) {
        const paleo_counts c = paleo_of_layer(net, l);

        if (!(status = share_paleo(w, l, &c, true)))
            status = share_paleo(w, l, &c, false);
    }
    bound_network_free(net);
    return status;
}

/* ---- learned models: layers ---------------------------------------------------------------------
 */

static lm_status take_learned_apart(work *w)
{
    const predictor *who    = w->who;
    bound_network   *net    = NULL;
    lm_status        status = workloads_bind_at(who->loads, who->network, who->input, who->dtype,
                                                w->asked->batch, &net, w->err);

    if (status)
        return status;
    if (!(status = name_layers(w->e, net, w->err)))
        status = layerwise_explain(who, w->asked, net, w->e, w->err);
    bound_network_free(net);
    return status;
}

lm_status explain_step(const predictor *who, const step_setup *s, explanation **out, lm_error *err)
{
    explanation *e = calloc(1, sizeof *e);
    work        *w = calloc(1, sizeof *w);
    lm_status    status;

    if (!e || !w || !(e->arena = arena_new())) {
        free(w);
        free(e);
        return no_memory(err);
    }
    *w     = (work){ .who = who, .e = e, .asked = s, .err = err };
    status = predict_step(who, s, &e->step, err);
    if (!status)
        status = who->paleo       ? take_paleo_apart(w)
                 : who->layerwise ? take_learned_apart(w)
                                  : take_apart(w);
    e->bounded = !who->layerwise;
    free(w);
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
