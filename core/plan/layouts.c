/* Search for the best layouts among those that divide network and devices. */
#include "plan/layouts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "network/stages.h"
#include "plan/layout_price.h"
#include "plan/layout_question.h"

#define SHAPES_MAX 1024 /* pairs of tp and pp */
#define SUMS_OVER  0.9  /* true bytes are at least this share of the sums over layers */
#define SHARINGS   5    /* ways to share weights: ZeRO's stages, or within a node */

/* Layouts that differ in how weights are shared. */
typedef struct candidate {
    double   least;          /* s: lower bound of their steps */
    double   step[SHARINGS]; /* s, or a lower bound */
    uint32_t number;         /* in the order of enumeration */
    int32_t  tp, cp, ep, pp, vp, micro_batch;
    uint8_t  schedule, fits, priced; /* fits, priced: a bit for each way of sharing */
    uint8_t  again;                  /* layout_repeat */
    bool     sp, ulysses, balanced;
} candidate;

/* A layout whose exact bytes are known. */
typedef struct weighed {
    layout layout;
    double bytes;
} weighed;

typedef struct hunt {
    const layout_question *q;
    layout_pricing         pricing;
    candidate             *try;
    size_t                 n_try, try_room, run; /* run: number of priced ones */
    layout_found          *shape;                /* the best of each tp and pp, the fastest first */
    uint64_t              *number;               /* number of each in the order of enumeration */
    weighed               *known;
    size_t                 n_known, room;
    layout_search         *out;
    bool                   probing; /* only checks whether an unpriced part may be among the best */
    bool                   hope;
    lm_error              *err;
} hunt;

/* ---- the best of each shape ---- */

static size_t find_shape(const hunt *h, int64_t tp, int64_t pp)
{
    size_t i = 0;

    while (i < h->out->n && (h->shape[i].layout.tp != tp || h->shape[i].layout.pp != pp))
        i++;
    return i;
}

/* Seconds above which a layout of this shape is not among the best: the smaller of the shape's best
 * and the last wanted one. */
static double bound_of(const hunt *h, int64_t tp, int64_t pp)
{
    const double bound = h->out->n >= h->q->best ? h->shape[h->q->best - 1].step : INFINITY;
    const size_t own   = find_shape(h, tp, pp);

    return own < h->out->n ? fmin(bound, h->shape[own].step) : bound;
}

/* Is a step shorter than that of shape i? Of equal ones the first in order wins. */
static bool beats(const hunt *h, double step, uint64_t number, size_t i)
{
    return step < h->shape[i].step || (step == h->shape[i].step && number < h->number[i]);
}

/* Inserts the layout in order; an older one of its shape is removed. */
static void keep(hunt *h, const layout_found *f, uint64_t number)
{
    size_t at = find_shape(h, f->layout.tp, f->layout.pp);

    if (at < h->out->n ? !beats(h, f->step, number, at) : h->out->n == SHAPES_MAX)
        return;
    h->out->n += at == h->out->n;
    for (; at > 0 && beats(h, f->step, number, at - 1); at--) {
        h->shape[at]  = h->shape[at - 1];
        h->number[at] = h->number[at - 1];
    }
    h->shape[at]  = *f;
    h->number[at] = number;
}

/* Are two layouts of one search equal? They have the same ranks and global batch. */
static bool same_layout(const layout *a, const layout *b)
{
    const net_shard x = layout_shard(a), y = layout_shard(b);

    return shard_equals(&x, &y) && a->pp == b->pp && a->vp == b->vp && a->zero == b->zero &&
           a->fsdp == b->fsdp && a->micro_batch == b->micro_batch && a->schedule == b->schedule &&
           !strcmp(a->recompute, b->recompute) && !strcmp(a->stages, b->stages);
}

/* The known bytes of a layout; NULL: unknown. */
static const weighed *find_known(const hunt *h, const layout *l)
{
    for (size_t i = 0; i < h->n_known; i++)
        if (same_layout(&h->known[i].layout, l))
            return &h->known[i];
    return NULL;
}

static void too_large(hunt *h, double bytes)
{
    h->out->too_large++;
    h->out->least_bytes = fmin(h->out->least_bytes, bytes);
}

/* Asks for the bytes of the best layouts. *again: some do not fit, so others move up. */
static lm_status weigh_best(hunt *h, bool *again)
{
    const layout_prices *p      = h->pricing.prices;
    lm_status            status = LM_OK;

    *again = false;
    for (size_t i = 0; i < h->out->n && i < h->q->best && !status; i++) {
        const layout *l = &h->shape[i].layout;
        double        bytes;

        if (!p->bytes || isinf(h->q->room) || find_known(h, l))
            continue;
        if (!array_grow(&h->known, h->n_known, &h->room, sizeof *h->known))
            return no_memory(h->err);
        if (!(status = p->bytes(p->by, l, &bytes, h->err))) {
            bytes += h->q->overhead;
            h->known[h->n_known++] = (weighed){ *l, bytes };
            h->shape[i].bytes      = bytes;
            if (bytes > h->q->room) {
                too_large(h, bytes);
                *again = true;
            }
        }
    }
    return status;
}

/* ---- how weights are shared ---- */

#define TOLD(property) LAYOUT_BIT(TOLD_##property)

/* Does it agree with what the user gave? zero3 is FSDP over all ranks of data. */
static bool shares_as_told(const hunt *h, const layout *l, int64_t data)
{
    const layout *t = h->q->told;

    if (t && l->zero == 3 && t->told & TOLD(FSDP) && !(t->told & TOLD(ZERO)))
        return t->fsdp == LAYOUT_ALL || t->fsdp == data;
    return layout_question_told(h->q, l, TOLD(ZERO) | TOLD(FSDP)) &&
           !(l->fsdp && t && t->told & TOLD(ZERO));
}

/* Sets a way of sharing. False: it is useless, equals another one, or contradicts the given
 * properties. */
static bool share_weights(const hunt *h, layout *l, int sharing)
{
    const int64_t data = l->dp * l->cp;
    const int64_t near = h->pricing.group[GROUP_DATA].devices; /* ranks of data on a node */

    if (sharing && h->q->whole_updates)
        return false;
    l->zero = sharing < SHARINGS - 1 ? sharing : 0;
    l->fsdp = sharing < SHARINGS - 1 ? 0 : near;
    if (!shares_as_told(h, l, data))
        return false;
    return l->fsdp ? near > 1 && near < data && near % l->ep == 0 : !l->zero || data > 1;
}

/* ---- those that may be the best ---- */

static void layout_of(const hunt *h, const candidate *c, layout *l)
{
    *l              = layout_plain();
    l->tp           = c->tp;
    l->cp           = c->cp;
    l->ep           = c->ep;
    l->pp           = c->pp;
    l->vp           = c->vp;
    l->sp           = c->sp;
    l->ulysses      = c->ulysses;
    l->schedule     = (pipeline_rule)c->schedule;
    l->dp           = h->q->ranks / (l->tp * l->cp * l->pp);
    l->global_batch = h->q->global_batch;
    l->micro_batch  = c->micro_batch;
    l->accumulation = l->global_batch / l->dp / l->micro_batch;
    strcpy(l->recompute, layout_repeat_names[c->again]);
    if (c->balanced)
        strcpy(l->stages, "balanced");
}

/* Prices one candidate. The step is kept, in case others turn out not to fit. */
static lm_status price_one(hunt *h, candidate *c, const layout *l, int sharing)
{
    const double   bound = bound_of(h, l->tp, l->pp);
    const uint8_t  bit   = (uint8_t)(1u << sharing);
    const weighed *known = find_known(h, l);
    layout_found   f;
    lm_status      status;

    if ((known && known->bytes > h->q->room) || c->step[sharing] > bound)
        return LM_OK;
    h->out->priced += !(c->priced & bit);
    c->priced |= bit;
    if ((status = layout_seconds(&h->pricing, l, bound, &f, h->err)))
        return status;
    if (isnan(f.step)) {
        c->fits &= (uint8_t)~bit;
        h->out->no_time++;
        return LM_OK;
    }
    c->step[sharing] = isinf(f.step) ? nextafter(bound, INFINITY) : f.step;
    if (f.step > bound)
        return LM_OK;
    f.bytes = known ? known->bytes : layout_bytes(&h->pricing, l);
    keep(h, &f, (uint64_t)c->number * SHARINGS + (uint64_t)sharing);
    return LM_OK;
}

static bool may_beat(const candidate *c, int sharing, double bound)
{
    return c->fits & 1u << sharing && fmax(c->least, c->step[sharing]) <= bound;
}

static lm_status price_candidate(hunt *h, candidate *c)
{
    lm_status status = LM_OK;
    bool      any    = false;
    layout    l;

    for (int s = 0; s < SHARINGS; s++)
        any |= may_beat(c, s, bound_of(h, c->tp, c->pp));
    if (!any)
        return LM_OK;
    layout_of(h, c, &l);
    if ((status = layout_take(&h->pricing, &l, h->err)))
        return status;
    for (int s = 0; s < SHARINGS && !status; s++)
        if (may_beat(c, s, bound_of(h, c->tp, c->pp))) {
            share_weights(h, &l, s);
            status = price_one(h, c, &l, s);
        }
    return status;
}

static int by_least(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    return x->least != y->least ? (x->least > y->least) - (x->least < y->least)
                                : (x->number > y->number) - (x->number < y->number);
}

/* Prices the candidates from `first` on. */
static lm_status price_from(hunt *h, size_t first)
{
    lm_status status = LM_OK;

    qsort(h->try + first, h->n_try - first, sizeof *h->try, by_least);
    for (size_t i = first; i < h->n_try && !status; i++)
        if (h->try[i].least <= bound_of(h, h->try[i].tp, h->try[i].pp))
            status = price_candidate(h, &h->try[i]);
    return status;
}

/* Prices the new candidates, and all again if one of the best does not fit. */
static lm_status price_new(hunt *h)
{
    bool      again  = h->run < h->n_try;
    lm_status status = LM_OK;

    while (again && !status) {
        if (!(status = price_from(h, h->run)))
            status = weigh_best(h, &again);
        h->run = h->n_try;
        if (again && !status) {
            h->run    = 0;
            h->out->n = 0;
        }
    }
    return status;
}

/* ---- enumeration ---- */

/* Lower bound of the bytes, if the exact bytes of the best are asked for later. */
static double least_bytes(const hunt *h, double bytes)
{
    return h->pricing.prices->bytes ? SUMS_OVER * bytes : bytes;
}

/* Could it be among the best? */
static lm_status probe(hunt *h, layout *l)
{
    lm_status status = LM_OK;

    for (int s = 0; s < SHARINGS && !status && !h->hope; s++)
        if (share_weights(h, l, s) && least_bytes(h, layout_bytes(&h->pricing, l)) <= h->q->room) {
            const double bound = bound_of(h, l->tp, l->pp);
            layout_found f;

            status  = layout_seconds(&h->pricing, l, bound, &f, h->err);
            h->hope = !(f.step > bound);
        }
    l->zero = l->fsdp = 0;
    return status;
}

static lm_status look_at(hunt *h, layout *l)
{
    candidate c = { .number      = (uint32_t)h->out->looked_at,
                    .tp          = (int32_t)l->tp,
                    .cp          = (int32_t)l->cp,
                    .ep          = (int32_t)l->ep,
                    .pp          = (int32_t)l->pp,
                    .vp          = (int32_t)l->vp,
                    .micro_batch = (int32_t)l->micro_batch,
                    .schedule    = (uint8_t)l->schedule,
                    .sp          = l->sp,
                    .ulysses     = l->ulysses,
                    .again       = (uint8_t)layout_again(l),
                    .balanced    = *l->stages != 0 };
    size_t    n = 0;
    lm_status status;

    if (h->probing)
        return h->hope ? LM_OK : probe(h, l);
    for (int s = 0; s < SHARINGS; s++)
        if (share_weights(h, l, s)) {
            const double bytes = layout_bytes(&h->pricing, l);

            h->out->looked_at++;
            if (least_bytes(h, bytes) > h->q->room) {
                too_large(h, bytes);
                continue;
            }
            c.fits |= (uint8_t)(1u << s);
            n++;
        }
    l->zero = l->fsdp = 0;
    if (!n || (status = layout_least(&h->pricing, l, &c.least, h->err)))
        return n ? status : LM_OK;
    if (isnan(c.least)) {
        h->out->no_time += n;
        return LM_OK;
    }
    c.least *= 1 - 1e-12; /* tolerance for rounding */
    if (!array_grow(&h->try, h->n_try, &h->try_room, sizeof *h->try))
        return no_memory(h->err);
    h->try[h->n_try++] = c;
    return LM_OK;
}

static lm_status with_recompute(hunt *h, layout *l)
{
    const layout_parts *parts  = h->pricing.now.parts;
    const bool          told   = h->q->told && h->q->told->told & TOLD(RECOMPUTE);
    lm_status           status = LM_OK;

    for (layout_repeat r = REPEAT_NONE; r < N_LAYOUT_REPEATS && !status; r++) {
        strcpy(l->recompute, layout_repeat_names[r]);
        if (r == REPEAT_CORE && !told && !(parts->before[h->q->facts.blocks].freed > 0))
            continue; /* it costs time and frees nothing */
        if (layout_question_told(h->q, l, TOLD(RECOMPUTE)))
            status = look_at(h, l);
    }
    strcpy(l->recompute, layout_repeat_names[REPEAT_NONE]);
    return status;
}

/* Do balanced stages differ from equal ones? True also if the user chose stages. */
static lm_status is_balanced(hunt *h, layout *l, bool *out)
{
    const layout_stages *s = &h->pricing.now;
    lm_status            status;

    strcpy(l->stages, "balanced");
    *out = h->q->told && h->q->told->told & TOLD(STAGES);
    if ((status = layout_take(&h->pricing, l, h->err)))
        return status;
    for (int64_t v = 0; v < l->pp * l->vp && !*out; v++)
        *out = s->begin[v] != stages_begin(h->q->facts.blocks, l->pp * l->vp, v);
    return LM_OK;
}

/* Stages of equal numbers of blocks, then balanced ones. */
static lm_status with_spread(hunt *h, layout *l)
{
    static const pipeline_rule plain[] = { PIPELINE_1F1B, PIPELINE_ZB_H1, PIPELINE_GPIPE };
    lm_status                  status  = LM_OK;
    bool                       differs = true;

    for (int spread = 0; spread < 1 + (l->pp > 1) && !status && differs; spread++) {
        status = spread ? is_balanced(h, l, &differs) : layout_take(&h->pricing, l, h->err);
        for (size_t i = 0; i < (l->pp > 1 && l->vp == 1 ? 3 : 1) && !status && differs; i++) {
            l->schedule = l->vp > 1 ? PIPELINE_INTERLEAVED : plain[i];
            if (layout_question_told(h->q, l, TOLD(STAGES) | TOLD(SCHEDULE)))
                status = with_recompute(h, l);
        }
    }
    *l->stages  = 0;
    l->schedule = PIPELINE_1F1B;
    return status;
}

static lm_status with_chunks(hunt *h, layout *l)
{
    const int64_t blocks = h->q->facts.blocks;
    lm_status     status = LM_OK;

    for (l->vp = 1; (l->vp == 1 || l->vp * l->pp <= blocks) && !status; l->vp++)
        if (layout_question_told(h->q, l, TOLD(VP)) &&
            (l->vp == 1 ||
             (l->pp > 1 && blocks % (l->vp * l->pp) == 0 && l->accumulation % l->pp == 0)))
            status = with_spread(h, l);
    l->vp = 1;
    return status;
}

/* The known part with the most ranks of cp that contains this one; NULL: none. */
static const known_parts *find_larger(const hunt *h, const layout *l)
{
    net_shard of = layout_shard(l);

    for (of.cp = l->cp - 1; of.cp > 0; of.cp--) {
        const known_parts *k;

        of.ulysses = l->ulysses && of.cp > 1;
        if (l->cp % of.cp == 0 && (k = layout_known(&h->pricing, &of, l->micro_batch)) && k->parts)
            return k;
    }
    return NULL;
}

/* Tries all numbers of stages of a part. */
static lm_status with_stages(hunt *h, layout *l)
{
    const int64_t left   = h->q->ranks / (l->tp * l->cp);
    lm_status     status = LM_OK;

    for (l->pp = 1; l->pp <= left && !status && !(h->probing && h->hope); l->pp++) {
        if (!layout_question_told(h->q, l, TOLD(PP)) || !layout_question_divides(h->q, l))
            continue;
        status = layout_take(&h->pricing, l, h->err);
        if (!status)
            status = with_chunks(h, l);
        else if (status == LM_E_ARG && h->pricing.uneven)
            status = LM_OK;
    }
    return status;
}

/* May any layout of this part be among the best? Decided with the part's share of a larger part's
 * seconds. */
static lm_status hope_for(hunt *h, layout *l)
{
    const known_parts *k = l->cp > 1 ? find_larger(h, l) : NULL;
    lm_status          status;

    h->hope = !k;
    if (!k)
        return LM_OK;
    if ((status = layout_pricing_suppose(&h->pricing, l, k, h->err)))
        return status;
    h->probing = true;
    status     = with_stages(h, l);
    h->probing = false;
    layout_pricing_forget(&h->pricing);
    h->out->bounded += !status && !h->hope;
    return status;
}

static lm_status with_part(hunt *h, layout *l)
{
    lm_status status = hope_for(h, l);

    if (status || !h->hope)
        return status;
    status = with_stages(h, l);
    if (status != LM_E_UNSUPPORTED || l->cp * l->ep == 1)
        return status;
    if (!*h->out->why)
        snprintf(h->out->why, sizeof h->out->why, "%.199s", h->err->text);
    return LM_OK;
}

static lm_status with_batches(hunt *h, layout *l)
{
    lm_status status = LM_OK;

    for (l->sp = false; !status; l->sp = true) {
        for (l->ep = 1; l->ep <= (h->q->facts.experts ? h->q->facts.experts : 1) && !status;
             l->ep++)
            for (l->micro_batch = 1; layout_question_splits(h->q, l) &&
                                     l->micro_batch <= h->q->most_micro_batch && !status;
                 l->micro_batch++)
                if (layout_question_told(h->q, l, TOLD(SP) | TOLD(EP) | TOLD(MICRO_BATCH)))
                    status = with_part(h, l);
        if (l->sp || l->tp == 1)
            break;
    }
    l->sp = false;
    return status;
}

/* Tries all layouts with so many ranks of cp. */
static lm_status with_context(hunt *h, int64_t cp, bool ulysses)
{
    const layout_question *q      = h->q;
    lm_status              status = LM_OK;

    for (int64_t tp = 1; tp <= q->devices && tp <= q->ranks && !status; tp++) {
        layout l = layout_plain();

        l.tp      = tp;
        l.cp      = cp;
        l.ulysses = ulysses;
        if (q->ranks % (tp * cp) || (tp > 1 && !q->splits) || (ulysses && !q->facts.heads) ||
            !layout_question_told(h->q, &l, TOLD(TP) | TOLD(CP) | TOLD(CP_KIND)))
            continue;
        status = with_batches(h, &l);
    }
    return status ? status : price_new(h);
}

static lm_status look_at_all(hunt *h)
{
    const int64_t most   = h->q->facts.tokens ? h->q->ranks : 1;
    lm_status     status = with_context(h, 1, false);

    for (int64_t cp = 2; cp <= most && !status; cp++) {
        if (h->q->ranks % cp == 0 && !(status = with_context(h, cp, false)))
            status = with_context(h, cp, true);
    }
    return status;
}

static void free_hunt(hunt *h)
{
    layout_pricing_end(&h->pricing);
    free_all(h->try, h->number, h->known);
}

lm_status layouts_find(const layout_question *q, const layout_prices *prices, layout_search *out,
                       lm_error *err)
{
    lm_error  passed = { LM_OK, "" }; /* errors of skipped parts and groups, too */
    hunt      h      = { .q = q, .out = out, .err = &passed };
    lm_status status = layout_question_check(q, err);

    *out = (layout_search){ .least_bytes = INFINITY };
    if (status)
        return status;
    h.number = calloc(SHAPES_MAX + 1, sizeof *h.number);
    h.shape = out->found = calloc(SHAPES_MAX + 1, sizeof *h.shape);
    layout_pricing_begin(&h.pricing, q, prices);
    status = h.shape && h.number ? look_at_all(&h) : no_memory(err);
    if (status && err)
        *err = passed;
    out->run = h.pricing.run;
    free_hunt(&h);
    if (!status && !out->looked_at)
        status = layout_question_unmet(q, err);
    if (status)
        layouts_free(out);
    else if (out->n > q->best)
        out->n = q->best;
    return status;
}

void layouts_free(layout_search *s)
{
    free(s->found);
    *s = (layout_search){ .found = NULL };
}
