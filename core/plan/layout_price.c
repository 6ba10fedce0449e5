/* One layout: bytes of its fullest rank, seconds of its step. */
#include "plan/layout_price.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "network/stages.h"
#include "program/gather.h"

void layout_pricing_begin(layout_pricing *p, const layout_question *q, const layout_prices *prices)
{
    memset(p, 0, sizeof *p);
    p->q      = q;
    p->prices = prices;
}

void layout_pricing_end(layout_pricing *p)
{
    free(p->stage);
    free(p->last.rank);
}

/* ---- what is asked once ---- */

static lm_status parts_of(layout_pricing *p, const layout *l, const layout_parts **out,
                          lm_error *err)
{
    for (size_t i = 0; i < LAYOUT_PARTS; i++) {
        struct known_parts *k = &p->parts[i];
        lm_status           status;

        if (!k->parts) {
            if ((status =
                     p->prices->parts(p->prices->by, l->tp, l->sp, l->micro_batch, &k->parts, err)))
                return status;
            k->tp          = l->tp;
            k->sp          = l->sp;
            k->micro_batch = l->micro_batch;
        }
        if (k->tp == l->tp && k->sp == l->sp && k->micro_batch == l->micro_batch) {
            *out = k->parts;
            return LM_OK;
        }
    }
    return lm_error_set(err, LM_E_ARG, "more than %d parts and micro-batches: give a smaller batch",
                        LAYOUT_PARTS);
}

static double message(layout_pricing *p, collective_kind kind, double bytes, const rank_span *group)
{
    struct known_message *k;
    uint64_t              h;

    if (group->nodes == 1 && group->devices == 1)
        return 0;
    memcpy(&h, &bytes, sizeof h);
    h += (uint64_t)kind * 31 + (uint64_t)group->nodes * 1009 + (uint64_t)group->devices * 9176 +
         (uint64_t)group->beside * 77;
    h *= UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing */
    k = &p->message[h >> 54];
    if (!k->used || k->bytes != bytes || k->kind != kind || k->group.nodes != group->nodes ||
        k->group.devices != group->devices || k->group.beside != group->beside)
        *k = (struct known_message){ bytes, p->prices->message(p->prices->by, kind, bytes, group),
                                     *group, kind, true };
    return k->seconds;
}

static lm_status group_of(const layout_pricing *p, const layout *l, unsigned dims, rank_span *out,
                          lm_error *err)
{
    return layout_span(l, dims, p->q->devices, out, err);
}

/* ---- stages ---- */

static bool again(const layout *l)
{
    return !strcmp(l->recompute, "full");
}

static pipeline_question pipeline_of(const layout *l)
{
    static const pipeline_rule rules[N_LAYOUT_SCHEDULES] = {
        [LAYOUT_1F1B]        = PIPELINE_1F1B,
        [LAYOUT_INTERLEAVED] = PIPELINE_INTERLEAVED,
        [LAYOUT_ZERO_BUBBLE] = PIPELINE_ZB_H1,
        [LAYOUT_GPIPE]       = PIPELINE_GPIPE,
    };

    return (pipeline_question){ .rule          = rules[l->schedule],
                                .ranks         = l->pp,
                                .chunks        = l->vp,
                                .micro_batches = l->accumulation,
                                /* Megatron-LM waits for each message but between chunks */
                                .exposed = l->schedule != LAYOUT_INTERLEAVED };
}

static void add(layer_cost *to, const layer_cost *a, double sign)
{
    to->forward += sign * a->forward;
    to->input += sign * a->input;
    to->weight += sign * a->weight;
    to->waited[0] += sign * a->waited[0];
    to->waited[1] += sign * a->waited[1];
    to->weights += sign * a->weights;
    to->kept += sign * a->kept;
}

/* The blocks of a virtual stage, with what lies in front of and behind all of them. */
static layer_cost stage_of(const layout_question *q, const layout_parts *parts, const layout *l,
                           int64_t v)
{
    const int64_t stages = l->pp * l->vp, n = q->facts.blocks;
    layer_cost    c = parts->before[stages_begin(n, stages, v + 1)];

    add(&c, &parts->before[stages_begin(n, stages, v)], -1);
    if (v == 0)
        add(&c, &parts->first, 1);
    if (v + 1 == stages)
        add(&c, &parts->last, 1);
    return c;
}

/* Number of blocks of a rank, as the mean over its chunks. */
static double blocks_of_chunk(const layout_question *q, const layout *l, int64_t rank)
{
    const int64_t stages = l->pp * l->vp;
    int64_t       n      = 0;

    for (int64_t v = rank; v < stages; v += l->pp)
        n +=
            stages_begin(q->facts.blocks, stages, v + 1) - stages_begin(q->facts.blocks, stages, v);
    return (double)n / (double)l->vp;
}

static layer_cost rank_of(const layout_question *q, const layout_parts *parts, const layout *l,
                          int64_t rank)
{
    layer_cost c = { 0 };

    for (int64_t v = rank; v < l->pp * l->vp; v += l->pp) {
        const layer_cost one = stage_of(q, parts, l, v);

        add(&c, &one, 1);
    }
    return c;
}

/* ---- bytes ---- */

/* A block that is recomputed keeps its inputs. */
static double kept(const layout_question *q, const layout_parts *parts, const layout *l,
                   int64_t rank, const layer_cost *c)
{
    const pipeline_question p      = pipeline_of(l);
    const double            flight = (double)pipeline_in_flight(&p, rank);
    const double            blocks = (double)q->facts.blocks;
    const double            one    = blocks > 0 ? parts->before[q->facts.blocks].kept / blocks : 0;
    const bool              first = rank == 0, last = rank + 1 == l->pp;
    double chunk = c->kept - first * parts->first.kept - last * parts->last.kept, bytes;

    chunk = again(l) ? parts->boundary * blocks_of_chunk(q, l, rank) : chunk / (double)l->vp;
    bytes = flight * chunk + (again(l) ? one : 0);
    if (first)
        bytes += parts->first.kept * fmin(flight, (double)l->accumulation);
    if (last) /* 1F1B goes back at once */
        bytes +=
            parts->last.kept * (p.rule == PIPELINE_GPIPE || p.rule == PIPELINE_ZB_H1 ? flight : 1);
    return bytes + (l->pp > 1 ? 2 * parts->boundary : 0);
}

/* Weights and states of a rank that has so many bytes of weights, by shards. Gathered blocks: the one
 * that runs, and the next; what lies in no block stays. */
static double held(const layout_question *q, const layout_parts *parts, const layout *l,
                   double weights)
{
    const double dp = (double)l->dp, blocks = (double)q->facts.blocks;
    const double block = blocks > 0 ? parts->before[q->facts.blocks].weights / blocks : 0;

    if (l->zero == 3)
        return weights * (1 + q->states) / dp + 2 * block + parts->first.weights +
               parts->last.weights;
    return weights * (1 + q->states / (l->zero ? dp : 1));
}

/* Gradients are there beside all that is kept, but for those of the only micro-batch of a step: it lets
 * go of what is kept as they come. */
static double bytes_of(const layout_question *q, const layout_parts *parts, const layout *l,
                       int64_t rank)
{
    const layer_cost c         = rank_of(q, parts, l, rank);
    const double     gradients = q->gradients * c.weights / (l->zero == 3 ? (double)l->dp : 1);
    const double     passing   = kept(q, parts, l, rank, &c) + parts->transient;

    return held(q, parts, l, c.weights) +
           (l->accumulation == 1 ? fmax(gradients, passing) : gradients + passing);
}

lm_status layout_bytes(layout_pricing *p, const layout *l, double *out, lm_error *err)
{
    const layout_parts *parts;
    double              most   = 0;
    const lm_status     status = parts_of(p, l, &parts, err);

    for (int64_t r = 0; r < l->pp && !status; r++)
        most = fmax(most, bytes_of(p->q, parts, l, r));
    if (!status)
        *out = most + p->q->overhead;
    return status;
}

/* ---- seconds ---- */

/* Equal buckets, one a block, each sent when it is ready: overlap_sums()'s recurrence for n buckets of
 * C / n seconds, ready at b / n, 2 b / n, ...: the first that waits for none decides. */
static double behind(double pass, double seconds, double buckets)
{
    return fmax(pass / buckets + seconds - pass, seconds / buckets);
}

typedef struct gathering {
    layout_pricing  *p;
    const rank_span *group;
} gathering;

static gather_price price_gather(void *context, double bytes, double trained)
{
    const gathering *g = context;

    return (gather_price){ message(g->p, COLLECTIVE_ALLGATHER, bytes, g->group),
                           message(g->p, COLLECTIVE_REDUCESCATTER, trained, g->group) };
}

/* Of all layers of a network an equal part is trained. */
static gather_block block_of(const layout_question *q, double weights, double forward,
                             double backward)
{
    return (gather_block){ .bytes    = weights,
                           .trained  = q->gradients * weights,
                           .forward  = forward,
                           .backward = backward };
}

/* Extra seconds of a micro-batch if weights are gathered block by block. */
static lm_status gathered(layout_pricing *p, const layout_parts *parts, const layer_cost *all,
                          const rank_span *data, double *out, lm_error *err)
{
    const int64_t n       = p->q->facts.blocks;
    const double  forward = all->forward + all->waited[0];
    const double  back    = all->input + all->weight + all->waited[1];
    gathering     g       = { p, data };
    gather_block *block   = calloc((size_t)n + 1, sizeof *block);
    gather_times  t;

    if (!block)
        return no_memory(err);
    block[0] = block_of(p->q, parts->first.weights + parts->last.weights, 1, 1);
    for (int64_t i = 0; i < n; i++) {
        layer_cost c = parts->before[i + 1];

        add(&c, &parts->before[i], -1);
        block[i + 1] = block_of(p->q, c.weights, (c.forward + c.waited[0]) / forward,
                                (c.input + c.weight + c.waited[1]) / back);
        block[0].forward -= block[i + 1].forward;
        block[0].backward -= block[i + 1].backward;
    }
    t    = gather_run(block, (size_t)n + 1, forward, back, price_gather, &g);
    *out = t.forward - forward + t.backward - back;
    free(block);
    return LM_OK;
}

/* Of a rank: exposed messages of gradients and weights, behind a last backward pass of `pass` seconds. */
static double data_seconds(layout_pricing *p, const layout *l, int64_t rank, const layer_cost *c,
                           double pass, const rank_span *data)
{
    const double blocks  = blocks_of_chunk(p->q, l, rank);
    const double trained = p->q->gradients * c->weights;

    if (l->dp == 1)
        return 0;
    return behind(
               pass,
               message(p, l->zero ? COLLECTIVE_REDUCESCATTER : COLLECTIVE_ALLREDUCE, trained, data),
               blocks > 1 ? blocks : 1) +
           (l->zero ? message(p, COLLECTIVE_ALLGATHER, trained, data) : 0);
}

/* Neighbours of a pipeline: on two nodes, or beside each other on one. */
static lm_status hop_of(const layout_pricing *p, const layout *l, rank_span *out, lm_error *err)
{
    rank_span       all;
    const lm_status status = group_of(p, l, LAYOUT_BIT(LAYOUT_PP), &all, err);

    if (!status && all.nodes > 1)
        *out = (rank_span){ .nodes = 2, .devices = 1, .beside = all.beside * all.devices };
    else if (!status)
        *out = (rank_span){ .nodes = 1, .devices = all.devices > 1 ? 2 : 1 };
    return status;
}

static lm_status make_room(layout_pricing *p, const layout *l, lm_error *err)
{
    const size_t    need = (size_t)(l->pp * l->vp);
    pipeline_stage *stage;
    pipeline_rank  *rank;

    if (need <= p->room)
        return LM_OK;
    p->last.used = false;
    stage        = realloc(p->stage, 2 * need * sizeof *stage);
    if (stage)
        p->stage = stage;
    rank = realloc(p->last.rank, 2 * need * sizeof *rank);
    if (rank)
        p->last.rank = rank;
    if (!stage || !rank)
        return no_memory(err);
    p->room = 2 * need;
    return LM_OK;
}

static lm_status fill_stages(layout_pricing *p, const layout *l, const layout_parts *parts,
                             pipeline_question *out, lm_error *err)
{
    rank_span hop;
    double    sent;
    lm_status status = make_room(p, l, err);

    if (status || (status = hop_of(p, l, &hop, err)))
        return status;
    *out       = pipeline_of(l);
    out->stage = p->stage;
    sent       = message(p, COLLECTIVE_SENDRECV, parts->boundary, &hop);
    for (int64_t v = 0; v < l->pp * l->vp; v++) {
        const layer_cost c    = stage_of(p->q, parts, l, v);
        const double     pass = c.forward + c.waited[0];

        p->stage[v] = (pipeline_stage){ .forward = pass,
                                        .input   = c.input + c.waited[1] + (again(l) ? pass : 0),
                                        .weight  = c.weight,
                                        .send    = sent,
                                        .back    = sent };
    }
    return LM_OK;
}

lm_status layout_run(layout_pricing *p, const layout *l, pipeline_take take, void *by,
                     lm_error *err)
{
    const layout_parts *parts;
    pipeline_question   q;
    double              step;
    lm_status           status = parts_of(p, l, &parts, err);

    if (status || (status = fill_stages(p, l, parts, &q, err)))
        return status;
    return pipeline_run(&q, &step, NULL, take, by, err);
}

static bool same_pipeline(const layout *a, const layout *b)
{
    return a->tp == b->tp && a->pp == b->pp && a->vp == b->vp && a->sp == b->sp &&
           a->micro_batch == b->micro_batch && a->accumulation == b->accumulation &&
           a->schedule == b->schedule && !strcmp(a->recompute, b->recompute);
}

/* A step on one rank. */
typedef struct rank_step {
    double seconds, share[N_LAYOUT_SHARES];
} rank_step;

/* Gradients of weights that the first and the last stage both have, exposed. */
static double tied_seconds(layout_pricing *p, const layout *l, const layout_parts *parts,
                           int64_t rank)
{
    rank_span hop;

    if (l->pp == 1 || !(parts->tied > 0) || (rank && rank + 1 < l->pp))
        return 0;
    return hop_of(p, l, &hop, NULL) ? NAN : message(p, COLLECTIVE_ALLREDUCE, parts->tied, &hop);
}

static rank_step step_on(layout_pricing *p, const layout *l, const layout_parts *parts,
                         int64_t rank, double end, double longer, const rank_span *data)
{
    const layer_cost c = rank_of(p->q, parts, l, rank), *all = parts->before + p->q->facts.blocks;
    const double     micro = (double)l->accumulation, more = again(l) ? 1 : 0;
    const double     pass =
        (c.input + c.weight + c.waited[1] + more * (c.forward + c.waited[0])) / (double)l->vp;
    const double whole = all->weights + parts->first.weights + parts->last.weights;
    rank_step    out   = { .share = {
                               [SHARE_COMPUTE] = micro * ((1 + more) * c.forward + c.input + c.weight),
                               [SHARE_TENSOR]  = micro * ((1 + more) * c.waited[0] + c.waited[1]),
                               [SHARE_DATA]    = l->zero == 3 ? micro * longer
                                                              : data_seconds(p, l, rank, &c, pass, data),
                               [SHARE_UPDATE] =
                                   parts->update * c.weights / whole / (l->zero ? (double)l->dp : 1),
                      } };

    out.share[SHARE_DATA] += tied_seconds(p, l, parts, rank);
    out.share[SHARE_PIPELINE] = end - out.share[SHARE_COMPUTE] - out.share[SHARE_TENSOR];
    out.seconds               = end + out.share[SHARE_DATA] + out.share[SHARE_UPDATE];
    return out;
}

/* No step is shorter: a rank waits for the first micro-batch and does its work; then it has messages and
 * an update of its own, and those before it have the last micro-batch's gradient to hand on. Where
 * gradients of weights are apart, that may happen sooner. */
static double least_step(layout_pricing *p, const layout *l, const layout_parts *parts,
                         int64_t rank, double work, const rank_span *data)
{
    double before = 0, after = 0, own;

    for (int64_t v = 0; v < rank; v++) {
        before += p->stage[v].forward;
        after += l->schedule == LAYOUT_ZERO_BUBBLE ? 0 : p->stage[v].input + p->stage[v].weight;
    }
    own = step_on(p, l, parts, rank, before + work, 0, data).seconds;
    return fmax(own, before + work + after);
}

static void put_bounds(const layout_question *q, const layout_parts *parts, layout_found *out)
{
    out->pass[0]    = parts->low;
    out->pass[1]    = parts->high;
    out->message[0] = q->low;
    out->message[1] = q->high;
    out->low        = layouts_at(out, parts->low, q->low);
    out->high       = layouts_at(out, parts->high, q->high);
}

/* Seconds at which ranks end, into p->last; `bound` reached: INFINITY. */
static lm_status run_pipeline(layout_pricing *p, const layout *l, const layout_parts *parts,
                              double bound, const rank_span *data, bool *worse, lm_error *err)
{
    pipeline_question q;
    lm_status         status;

    *worse = false;
    if (p->last.used && same_pipeline(&p->last.layout, l))
        return LM_OK;
    if ((status = fill_stages(p, l, parts, &q, err)))
        return status;
    for (int64_t r = 0; r < l->pp && !*worse; r++) {
        double work = 0;

        for (int64_t v = r; v < l->pp * l->vp; v += l->pp)
            work += p->stage[v].forward + p->stage[v].input + p->stage[v].weight;
        work *= (double)l->accumulation;
        if (isnan(work + p->stage[r].send))
            return LM_OK; /* the caller sees it */
        *worse = least_step(p, l, parts, r, work, data) >= bound;
    }
    if (*worse)
        return LM_OK;
    p->last.used   = true;
    p->last.layout = *l;
    p->run++;
    return pipeline_run(&q, &p->last.step, p->last.rank, NULL, NULL, err);
}

static bool unknown(const layout_parts *parts, const layout_question *q)
{
    const layer_cost *c = &parts->before[q->facts.blocks], *f = &parts->first, *l = &parts->last;

    return isnan(c->forward + c->input + c->weight + c->waited[0] + c->waited[1] + f->forward +
                 f->input + f->weight + l->forward + l->input + l->weight + parts->update);
}

/* Ranks without a pipeline: parts follow each other, nothing waits. */
static lm_status alone(layout_pricing *p, const layout *l, const layout_parts *parts,
                       const rank_span *data, rank_step *out, lm_error *err)
{
    const layer_cost c      = rank_of(p->q, parts, l, 0);
    const double     more   = again(l) ? 1 : 0;
    double           longer = 0;
    lm_status        status = LM_OK;

    if (l->zero == 3)
        status = gathered(p, parts, &c, data, &longer, err);
    if (!status)
        *out = step_on(p, l, parts, 0,
                       (double)l->accumulation * ((1 + more) * (c.forward + c.waited[0]) + c.input +
                                                  c.weight + c.waited[1]),
                       longer, data);
    return status;
}

lm_status layout_seconds(layout_pricing *p, const layout *l, double bound, layout_found *out,
                         lm_error *err)
{
    const layout_parts *parts;
    rank_span           data;
    rank_step           slowest = { .seconds = -1 };
    bool                worse   = false;
    lm_status           status  = parts_of(p, l, &parts, err);

    if (status || (status = group_of(p, l, LAYOUT_BIT(LAYOUT_DP), &data, err)))
        return status;
    *out = (layout_found){ .layout = *l, .step = NAN };
    if (unknown(parts, p->q))
        return LM_OK;
    if (l->pp == 1) {
        if ((status = alone(p, l, parts, &data, &slowest, err)))
            return status;
    } else {
        if ((status = run_pipeline(p, l, parts, bound, &data, &worse, err)))
            return status;
        if (isnan(p->stage[0].send))
            return LM_OK;
        for (int64_t r = 0; r < l->pp && !worse; r++) {
            const rank_step s = step_on(p, l, parts, r, p->last.rank[r].end, 0, &data);

            if (!(s.seconds <= slowest.seconds)) /* an unknown one stays */
                slowest = s;
        }
    }
    out->step = worse ? INFINITY : slowest.seconds;
    memcpy(out->share, slowest.share, sizeof out->share);
    if (!worse)
        put_bounds(p->q, parts, out);
    return LM_OK;
}

/* ---- one alone ---- */

#define SEARCHED (LAYOUT_BIT(LAYOUT_TP) | LAYOUT_BIT(LAYOUT_DP) | LAYOUT_BIT(LAYOUT_PP))

static lm_status priced(const layout *l, lm_error *err)
{
    if (l->pp > 1 && (l->zero > 1 || l->fsdp))
        return lm_error_set(err, LM_E_UNSUPPORTED, "layouts with pp %lld and %s are not searched",
                            (long long)l->pp,
                            l->fsdp       ? "fsdp"
                            : l->zero > 2 ? "zero 3"
                                          : "zero 2");
    for (layout_dim d = 0; d < N_LAYOUT_DIMS; d++)
        if (!(SEARCHED & LAYOUT_BIT(d)) && layout_ranks(l, d) > 1)
            return lm_error_set(err, LM_E_UNSUPPORTED, "layouts with %s %lld are not searched",
                                layout_dim_name(d), (long long)layout_ranks(l, d));
    return LM_OK;
}

lm_status layouts_price(const layout_question *q, const layout_prices *prices, const layout *l,
                        layout_found *out, lm_error *err)
{
    layout_pricing p;
    double         bytes;
    lm_status      status = priced(l, err);

    if (status)
        return status;
    layout_pricing_begin(&p, q, prices);
    if (!(status = layout_bytes(&p, l, &bytes, err)) &&
        !(status = layout_seconds(&p, l, INFINITY, out, err)))
        out->bytes = bytes;
    layout_pricing_end(&p);
    return status;
}

lm_status layouts_tasks(const layout_question *q, const layout_prices *prices, const layout *l,
                        pipeline_take take, void *by, lm_error *err)
{
    layout_pricing p;
    lm_status      status = priced(l, err);

    if (status)
        return status;
    layout_pricing_begin(&p, q, prices);
    status = layout_run(&p, l, take, by, err);
    layout_pricing_end(&p);
    return status;
}
