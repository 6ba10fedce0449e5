/* Values that a search for layouts computes once, and the stages of the present layout. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "network/stages.h"
#include "plan/layout_price.h"

void layout_pricing_begin(layout_pricing *p, const layout_question *q, const layout_prices *prices)
{
    memset(p, 0, sizeof *p);
    p->q      = q;
    p->prices = prices;
}

void layout_pricing_end(layout_pricing *p)
{
    free(p->parts);
    free(p->before);
    for (size_t i = 0; i < LAYOUT_SPREADS; i++)
        free(p->spread[i].begin);
    free(p->now.stage);
    free(p->now.rank);
    free(p->now.blocks);
    free(p->now.begin);
    free(p->stage);
    free(p->wait);
    free(p->kept);
    free(p->rank);
    free(p->block);
}

/* ---- what is asked once ---- */

const known_parts *layout_known(const layout_pricing *p, const net_shard *shard,
                                int64_t micro_batch)
{
    for (size_t i = p->n_parts; i-- > 0;) /* the last one is the most frequent */
        if (p->parts[i].micro_batch == micro_batch && shard_equals(&p->parts[i].shard, shard))
            return &p->parts[i];
    return NULL;
}

static lm_status parts_of(layout_pricing *p, const layout *l, const layout_parts **out,
                          lm_error *err)
{
    const net_shard    shard  = layout_shard(l);
    const known_parts *known  = layout_known(p, &shard, l->micro_batch);
    known_parts        asked  = { shard, l->micro_batch, NULL };
    lm_status          status = LM_OK;

    if (!known) {
        if (!array_grow(&p->parts, p->n_parts, &p->parts_room, sizeof *p->parts))
            return no_memory(err);
        status = p->prices->parts(p->prices->by, &shard, l->micro_batch, &asked.parts, err);
        if ((status == LM_E_ARG || status == LM_E_SHAPE) && l->cp * l->ep > 1)
            status = LM_E_UNSUPPORTED;
        if (status && (status != LM_E_UNSUPPORTED || l->cp * l->ep == 1))
            return status;
        known                  = &p->parts[p->n_parts];
        p->parts[p->n_parts++] = asked;
    }
    *out = known->parts;
    if (!status && !known->parts)
        status = lm_error_set(err, LM_E_UNSUPPORTED, "the network does not divide so");
    return status;
}

static layer_cost share_of(const layer_cost *c, double share)
{
    return (layer_cost){ .forward = share * c->forward,
                         .input   = share * c->input,
                         .weight  = share * c->weight,
                         .waited  = { share * c->waited[0], share * c->waited[1] },
                         .weights = c->weights,
                         .experts = c->experts,
                         .kept    = share * c->kept,
                         .again   = { share * c->again[0], share * c->again[1] },
                         .freed   = share * c->freed };
}

lm_status layout_pricing_suppose(layout_pricing *p, const layout *l, const known_parts *larger,
                                 lm_error *err)
{
    const layout_parts *of    = larger->parts;
    const double        share = (1 - 1e-12) * (double)larger->shard.cp / (double)l->cp;
    const size_t        n     = (size_t)p->q->facts.blocks + 1;

    if (!p->before && !(p->before = calloc(n, sizeof *p->before)))
        return no_memory(err);
    if (!array_grow(&p->parts, p->n_parts, &p->parts_room, sizeof *p->parts))
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        p->before[i] = share_of(&of->before[i], share);
    p->supposed        = *of; /* a lower bound of the update */
    p->supposed.before = p->before;
    p->supposed.first  = share_of(&of->first, share);
    p->supposed.last   = share_of(&of->last, share);
    p->supposed.boundary *= share;
    p->supposed.input *= share;
    p->supposed.transient *= share;
    p->supposed.regained *= share;
    p->parts[p->n_parts++] = (known_parts){ layout_shard(l), l->micro_batch, &p->supposed };
    p->now.parts           = NULL;
    return LM_OK;
}

void layout_pricing_forget(layout_pricing *p)
{
    p->n_parts--;
    p->now.parts = NULL;
}

double layout_message(layout_pricing *p, collective_kind kind, double bytes, rank_group group)
{
    const rank_span      *g = &p->group[group];
    struct known_message *k;
    uint64_t              h;

    if (g->nodes == 1 && g->devices == 1)
        return 0;
    memcpy(&h, &bytes, sizeof h);
    h += (uint64_t)kind * 31 + (uint64_t)g->nodes * 1009 + (uint64_t)g->devices * 9176 +
         (uint64_t)g->beside * 77;
    h *= UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing */
    k = &p->message[(h >> 40) % LAYOUT_MESSAGES];
    if (!k->used || k->bytes != bytes || k->kind != kind || k->group.nodes != g->nodes ||
        k->group.devices != g->devices || k->group.beside != g->beside)
        *k = (struct known_message){ bytes, p->prices->message(p->prices->by, kind, bytes, g), *g,
                                     kind, true };
    return k->seconds;
}

static lm_status groups_of(layout_pricing *p, const layout *l, lm_error *err)
{
    const layout *k = &p->groups_of;
    lm_status     status;

    p->uneven = false;
    if (k->tp == l->tp && k->cp == l->cp && k->ep == l->ep && k->dp == l->dp && k->pp == l->pp &&
        k->fsdp == l->fsdp && !memcmp(k->order, l->order, sizeof k->order))
        return LM_OK;
    p->groups_of.tp = 0;
    if ((status = layout_groups(l, p->q->devices, p->group, err))) {
        p->uneven = true;
        return status;
    }
    p->groups_of = *l;
    return LM_OK;
}

/* ---- stages ---- */

const char *const layout_repeat_names[N_LAYOUT_REPEATS] = {
    [REPEAT_NONE] = "none", [REPEAT_CORE] = "selective", [REPEAT_ALL] = "full"
};

layout_repeat layout_again(const layout *l)
{
    layout_repeat r = REPEAT_NONE;

    while (r < N_LAYOUT_REPEATS && strcmp(l->recompute, layout_repeat_names[r]) != 0)
        r++;
    return r;
}

pipeline_question layout_pipeline(const layout *l)
{
    return (pipeline_question){ .rule          = l->schedule,
                                .ranks         = l->pp,
                                .chunks        = l->vp,
                                .micro_batches = l->accumulation,
                                /* Megatron-LM waits for each message, except between chunks */
                                .exposed = l->schedule != PIPELINE_INTERLEAVED };
}

static void add(layer_cost *to, const layer_cost *a, double sign)
{
    to->forward += sign * a->forward;
    to->input += sign * a->input;
    to->weight += sign * a->weight;
    to->waited[0] += sign * a->waited[0];
    to->waited[1] += sign * a->waited[1];
    to->weights += sign * a->weights;
    to->experts += sign * a->experts;
    to->kept += sign * a->kept;
    to->again[0] += sign * a->again[0];
    to->again[1] += sign * a->again[1];
    to->freed += sign * a->freed;
}

/* Resizes an array; the old content is lost. */
static bool renew(void *array, size_t n, size_t size)
{
    void *fresh = malloc(n * size);

    if (fresh) {
        free(*(void **)array);
        *(void **)array = fresh;
    }
    return fresh;
}

static lm_status make_room(layout_pricing *p, size_t stages, lm_error *err)
{
    const size_t n = 2 * stages;

    if (!p->block && !renew(&p->block, (size_t)p->q->facts.blocks + 1, sizeof *p->block))
        return no_memory(err);
    if (stages <= p->room)
        return LM_OK;
    p->now.parts = NULL;
    p->has_run   = false;
    if (!renew(&p->now.stage, n, sizeof *p->now.stage) ||
        !renew(&p->now.rank, n, sizeof *p->now.rank) ||
        !renew(&p->now.blocks, n, sizeof *p->now.blocks) ||
        !renew(&p->now.begin, n + 1, sizeof *p->now.begin) ||
        !renew(&p->stage, n, sizeof *p->stage) || !renew(&p->wait, n, sizeof *p->wait) ||
        !renew(&p->kept, n, sizeof *p->kept) || !renew(&p->rank, n, sizeof *p->rank))
        return no_memory(err);
    p->room = n;
    return LM_OK;
}

/* Sums of virtual stage v: its blocks, and the layers in front of or behind all blocks. */
static void fill_stage(layout_stages *s, int64_t v)
{
    layer_cost *c = &s->stage[v];

    *c = s->parts->before[s->begin[v + 1]];
    add(c, &s->parts->before[s->begin[v]], -1);
    if (v == 0)
        add(c, &s->parts->first, 1);
    if (v + 1 == s->pp * s->vp)
        add(c, &s->parts->last, 1);
    add(&s->rank[v % s->pp], c, 1);
    s->blocks[v % s->pp] += (double)(s->begin[v + 1] - s->begin[v]) / (double)s->vp;
}

/* Balances stages. Supposed parts use the FLOPs of the larger part. */
static lm_status balance(layout_pricing *p, int64_t stages, lm_error *err)
{
    const double        *flops = p->now.parts->flops;
    const size_t         bytes = (size_t)stages * sizeof *p->now.begin;
    struct known_spread *k =
        &p->spread[((uintptr_t)flops / 64 + 31 * (uintptr_t)stages) % LAYOUT_SPREADS];
    lm_status status = LM_OK;

    if (k->flops != flops || k->stages != stages) {
        free(k->begin);
        *k = (struct known_spread){ NULL, stages, malloc(bytes) };
        if (!k->begin)
            return no_memory(err);
        status   = stages_balance(flops, p->q->facts.blocks, stages, k->begin, err);
        k->flops = status ? NULL : flops;
    }
    memcpy(p->now.begin, k->begin, bytes);
    return status;
}

static lm_status fill(layout_pricing *p, lm_error *err)
{
    layout_stages *s = &p->now;
    const int64_t  n = s->pp * s->vp, blocks = p->q->facts.blocks;
    lm_status      status;

    s->begin[n] = blocks;
    for (int64_t v = 0; v < n && !s->balanced; v++)
        s->begin[v] = stages_begin(blocks, n, v);
    if (s->balanced && (status = balance(p, n, err)))
        return status;
    for (int64_t r = 0; r < s->pp; r++) {
        s->rank[r]   = (layer_cost){ 0 };
        s->blocks[r] = 0;
    }
    for (int64_t v = 0; v < n; v++)
        fill_stage(s, v);
    return LM_OK;
}

lm_status layout_take(layout_pricing *p, const layout *l, lm_error *err)
{
    const bool          balanced = *l->stages != 0;
    const layout_parts *parts;
    lm_status           status = groups_of(p, l, err);

    if (status || (status = parts_of(p, l, &parts, err)) ||
        (status = make_room(p, (size_t)(l->pp * l->vp), err)))
        return status;
    if (p->now.parts == parts && p->now.pp == l->pp && p->now.vp == l->vp &&
        p->now.balanced == balanced)
        return LM_OK;
    p->now.parts    = parts;
    p->now.pp       = l->pp;
    p->now.vp       = l->vp;
    p->now.balanced = balanced;
    p->is_filled = p->is_kept = p->has_run = false;
    if ((status = fill(p, err)))
        p->now.parts = NULL;
    return status;
}
