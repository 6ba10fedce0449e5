/* The program of a rank under a layout. */
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "network/stages.h"
#include "network/timeline.h"
#include "program/program.h"

/* A rank's part of a network, with the work of its layers in each pass. */
typedef struct laid {
    const bound_network *part;
    const layer_passes  *work;
    double               travels;           /* factor on the bytes of activations in messages */
    double               forward, backward; /* of all layers */
    double               inputs, weights;   /* gradients of layers that gather inputs */
    double               ring[2];           /* by pass: chunks that hide messages of the next one */
    const size_t        *again;             /* as in timeline */
} laid;

static double backward_of(const layer_passes *w)
{
    return w->input + w->weight;
}

static laid add_up(const bound_network *part, const layer_passes *work, double travels)
{
    const net_sharing *s      = &part->sharing;
    laid               f      = { .part = part, .work = work, .travels = travels };
    size_t             before = part->n_layers;

    for (size_t i = 0; i < part->n_layers; i++) {
        f.forward += work[i].forward;
        f.backward += backward_of(&work[i]);
    }
    for (size_t i = 0; i < s->n; i++) {
        const size_t l      = s->message[i].layer;
        const double chunks = (double)s->message[i].count;

        if (s->message[i].hidden)
            f.ring[s->message[i].backward] +=
                (s->message[i].backward ? backward_of(&work[l]) : work[l].forward) * chunks /
                (chunks + 1);
        if (!s->message[i].again || l == before)
            continue;
        before = l;
        f.inputs += work[l].input;
        f.weights += work[l].weight;
    }
    return f;
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* ---- messages ---- */

/* Room for so many more. */
static lm_status make_room(rank_program *p, size_t more, lm_error *err)
{
    const size_t n = p->n + more + 1;
    message     *m = realloc(p->message, n * sizeof *m);
    void        *running, *paid;

    p->message = m ? m : p->message;
    running    = realloc(p->running, n * sizeof *p->running);
    p->running = running ? running : p->running;
    paid       = realloc(p->paid, n * sizeof *p->paid);
    p->paid    = paid ? paid : p->paid;
    return m && running && paid ? LM_OK : no_memory(err);
}

static void add(rank_program *p, message m)
{
    p->has[m.rule]     = true;
    p->message[p->n++] = m;
}

static bool alike(const message *a, const message *b)
{
    return a->kind == b->kind && a->bytes == b->bytes && a->pass == b->pass && a->rule == b->rule &&
           a->group == b->group && a->again == b->again && (a->behind > 0) == (b->behind > 0);
}

/* Share of the pass that runs beside such messages. */
static double share_behind(const shard_message *s, const laid *f)
{
    if (s->hidden)
        return share(f->ring[s->backward], s->backward ? f->backward : f->forward);
    if (s->backward && s->again)
        return share(f->inputs, f->backward);
    return s->backward && !s->waits && s->kind == SHARD_REDUCESCATTER
               ? share(f->weights, f->backward)
               : 0;
}

static message message_of_part(const shard_message *s, const laid *f)
{
    static const collective_kind kinds[] = { [SHARD_ALLREDUCE]     = COLLECTIVE_ALLREDUCE,
                                             [SHARD_ALLGATHER]     = COLLECTIVE_ALLGATHER,
                                             [SHARD_REDUCESCATTER] = COLLECTIVE_REDUCESCATTER,
                                             [SHARD_SENDRECV]      = COLLECTIVE_SENDRECV,
                                             [SHARD_ALLTOALL]      = COLLECTIVE_ALLTOALL };

    return (message){ .kind        = kinds[s->kind],
                      .bytes       = f->travels * (double)s->bytes,
                      .group       = layout_group_of(s->group),
                      .pass        = s->backward ? PHASE_BACKWARD : PHASE_FORWARD,
                      .rule        = MESSAGE_WAITED,
                      .again       = !s->backward && f->again[s->layer] != TIMELINE_NEVER,
                      .times       = s->count,
                      .behind      = share_behind(s, f),
                      .first_layer = s->layer,
                      .last_layer  = s->layer };
}

/* Joins equal messages of a pass: one message and a count. */
static void add_shared(rank_program *p, const laid *f)
{
    const net_sharing *s     = &f->part->sharing;
    const size_t       first = p->n;

    for (size_t i = 0; i < s->n; i++) {
        const message m = message_of_part(&s->message[i], f);
        size_t        k = first;

        while (k < p->n && !alike(&p->message[k], &m))
            k++;
        if (k == p->n) {
            add(p, m);
        } else {
            p->message[k].times += m.times;
            p->message[k].last_layer = m.last_layer;
        }
    }
}

static message behind(collective_kind kind, double bytes, rank_group group)
{
    return (message){
        .kind = kind, .bytes = bytes, .group = group, .pass = PHASE_BACKWARD, .rule = MESSAGE_BEHIND
    };
}

/* Turns an all-reduce into a reduce-scatter: each rank gets its share of the sum. `each`: in every
 * micro-step, so that passes wait for messages that would come behind them. */
static void scatter(rank_program *p, message *m, bool each)
{
    m->kind = COLLECTIVE_REDUCESCATTER;
    if (each && m->rule == MESSAGE_BEHIND)
        m->rule = MESSAGE_WAITED;
    p->has[m->rule] = true;
}

/* Bytes of a layer's weights that have all flags of `with` and none of `without`. */
static double bytes_of(const bound_layer *l, uint32_t with, uint32_t without)
{
    double bytes = 0;

    for (size_t k = 0; k < l->n_weights; k++)
        if ((l->weights[k].flags & with) == with && !(l->weights[k].flags & without))
            bytes += (double)lm_bytes(&l->weights[k].tensor);
    return bytes;
}

static double weight_bytes(const bound_layer *l)
{
    return bytes_of(l, 0, 0);
}

static double trained_of_layer(const bound_layer *l)
{
    return bytes_of(l, 0, LM_FROZEN);
}

static double trained_bytes(const bound_network *part)
{
    double bytes = 0;

    for (size_t i = 0; i < part->n_layers; i++)
        bytes += trained_of_layer(&part->layer[i]);
    return bytes;
}

/* ---- blocks ---- */

static void put_layer(gather_block *b, const laid *f, size_t i)
{
    b->bytes += weight_bytes(&f->part->layer[i]);
    b->trained += trained_of_layer(&f->part->layer[i]);
    if (f->part->options.shard.ep > 1) {
        b->experts[0] += bytes_of(&f->part->layer[i], LM_EXPERT, 0);
        b->experts[1] += bytes_of(&f->part->layer[i], LM_EXPERT, LM_FROZEN);
    }
    b->forward += share(f->work[i].forward, f->forward);
    b->backward += share(backward_of(&f->work[i]), f->backward);
}

/* Blocks to gather: those at the top level of the network's file, and the root, of one stage or of
 * all. */
static void gather_stage(rank_program *p, const laid *f, const int64_t *stage, int64_t v)
{
    const size_t root   = p->n_gather++;
    const char  *before = NULL;

    for (size_t i = 0; i < f->part->n_layers; i++) {
        const char *block = f->part->layer[i].decl->block;

        if (stage && stage[i] != v)
            continue;
        p->n_gather += block && (!before || strcmp(block, before) != 0);
        put_layer(&p->gather[block ? p->n_gather - 1 : root], f, i);
        before = block ? block : before;
    }
    if (stage) {
        p->stages.part[v].gather   = root;
        p->stages.part[v].n_gather = p->n_gather - root;
    }
}

/* `stage` NULL: there is no pipeline. */
static lm_status gather_blocks(rank_program *p, const laid *f, const int64_t *stage, lm_error *err)
{
    const int64_t stages = stage ? p->stages.ranks * p->stages.chunks : 1;

    p->gather = calloc(f->part->n_layers + (size_t)stages, sizeof *p->gather);
    if (!p->gather)
        return no_memory(err);
    for (int64_t v = 0; v < stages; v++)
        gather_stage(p, f, stage, v);
    return LM_OK;
}

/* ---- stages ---- */

/* Bytes of this layer's weights that another stage also holds: tied embeddings. */
static double tied_bytes(const bound_network *part, const int64_t *stage, size_t i)
{
    const bound_layer *l     = &part->layer[i];
    double             bytes = 0;

    for (size_t k = 0; k < l->n_shared; k++)
        if (stage[l->shares - part->layer] != stage[i])
            bytes += (double)lm_bytes(&l->weights[l->n_weights + k].tensor);
    return bytes;
}

static lm_status fill_stages(stage_list *s, const laid *f, const int64_t *stage, double weights,
                             lm_error *err)
{
    const bound_network *part = f->part;
    const size_t         n    = (size_t)(s->ranks * s->chunks);

    s->part  = calloc(n, sizeof *s->part);
    s->stage = calloc(n, sizeof *s->stage);
    s->wait  = calloc(n, sizeof *s->wait);
    s->rank  = calloc((size_t)s->ranks, sizeof *s->rank);
    if (!s->part || !s->stage || !s->wait || !s->rank)
        return no_memory(err);
    for (size_t i = 0; i < part->n_layers; i++) {
        stage_part *v = &s->part[stage[i]];

        v->forward += share(f->work[i].forward, f->forward);
        v->input += share(f->work[i].input, f->backward);
        v->weight += share(f->work[i].weight, f->backward);
        v->weights += share(weight_bytes(&part->layer[i]) + tied_bytes(part, stage, i), weights);
        s->tied += tied_bytes(part, stage, i);
    }
    for (size_t v = 0; v + 1 < n; v++)
        s->part[v].bytes = f->travels * (double)stages_boundary(part, stage, (int64_t)v);
    return LM_OK;
}

/* *stage: stage of each layer, to be freed. */
static lm_status add_stages(rank_program *p, const layout *l, const laid *f, double weights,
                            int64_t **stage, lm_error *err)
{
    const bound_network *part = f->part;
    lm_status            status;

    p->stages = (stage_list){
        .ranks = l->pp, .chunks = l->vp, .rule = l->schedule, .infers = part->options.evaluation
    };
    *stage = calloc(part->n_layers + 1, sizeof **stage);
    status =
        *stage ? stages_of_layers(part, l->pp * l->vp, l->stages, *stage, err) : no_memory(err);
    if (!status)
        status = pipeline_check(&(pipeline_question){ .rule          = p->stages.rule,
                                                      .ranks         = l->pp,
                                                      .chunks        = l->vp,
                                                      .micro_batches = l->accumulation },
                                err);
    return status ? status : fill_stages(&p->stages, f, *stage, weights, err);
}

/* ---- all of it ---- */

/* Reduce-scatters of gradients and all-gathers of weights: block by block, or behind the passes. */
static lm_status share_weights(rank_program *p, const layout *l, const laid *f,
                               const int64_t *stage, lm_error *err)
{
    const double trained = trained_bytes(f->part);

    if (l->fsdp || l->zero == 3) {
        p->n                   = 0; /* gradients are scattered with their blocks */
        p->has[MESSAGE_BESIDE] = p->has[MESSAGE_BEHIND] = false;
        return gather_blocks(p, f, stage, err);
    }
    for (size_t i = 0; i < p->n && l->zero; i++)
        scatter(p, &p->message[i], l->zero == 2);
    p->experts = trained > 0 ? (double)f->part->sharing.expert_bytes / trained : 0;
    p->each    = l->zero == 2;
    if (l->zero && p->n)
        add(p, behind(COLLECTIVE_ALLGATHER, trained, GROUP_DATA));
    return LM_OK;
}

/* Adds stages, weights and messages, in this order. */
static lm_status add_all(rank_program *p, const layout *l, const laid *f, lm_error *err)
{
    const bound_network *part    = f->part;
    double               weights = 0;
    int64_t             *stage   = NULL;
    lm_status            status  = make_room(p, part->sharing.n + 2, err);

    for (size_t i = 0; i < part->n_layers; i++)
        weights += weight_bytes(&part->layer[i]);
    if (!status && l->pp > 1)
        status = add_stages(p, l, f, weights, &stage, err);
    if (!status)
        status = share_weights(p, l, f, stage, err);
    free(stage);
    if (status)
        return status;
    if (part->sharing.step_bytes && !part->options.evaluation)
        add(p, behind(COLLECTIVE_ALLREDUCE, (double)part->sharing.step_bytes, GROUP_TENSOR));
    add_shared(p, f);
    return LM_OK;
}

lm_status rank_program_lay_out(rank_program *p, const layout *l, const bound_network *part,
                               const layer_passes *work, double travels, lm_error *err)
{
    const bool again = strcmp(l->recompute, "none") != 0;
    laid       f     = add_up(part, work, travels);
    arena     *room  = arena_new();
    timeline   t;
    lm_status  status =
        room ? timeline_make(part, again ? l->recompute : NULL, room, &t, err) : no_memory(err);

    if (!status) {
        f.again = t.again;
        status  = add_all(p, l, &f, err);
    }
    arena_free(room);
    return status;
}
