/* The program of a rank under a layout. */
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "network/stages.h"
#include "program/program.h"

/* Seconds are not known here: FLOPs stand for shares of a pass. */
typedef struct pass_flops {
    double forward, backward;
    double inputs, weights; /* gradients of layers that gather their inputs */
} pass_flops;

static double flops_of(const bound_layer *l, lm_pass pass)
{
    return (double)l->cost.pass[pass].flops;
}

static pass_flops count_flops(const bound_network *part)
{
    const net_sharing *s      = &part->sharing;
    pass_flops         f      = { 0 };
    size_t             before = part->n_layers;

    for (size_t i = 0; i < part->n_layers; i++) {
        const bound_layer *l = &part->layer[i];

        f.forward += flops_of(l, LM_FORWARD);
        f.backward += flops_of(l, LM_GRAD_INPUT) + flops_of(l, LM_GRAD_WEIGHT);
    }
    for (size_t i = 0; i < s->n; i++) {
        const bound_layer *l = &part->layer[s->message[i].layer];

        if (!s->message[i].again || s->message[i].layer == before)
            continue;
        before = s->message[i].layer;
        f.inputs += flops_of(l, LM_GRAD_INPUT);
        f.weights += flops_of(l, LM_GRAD_WEIGHT);
    }
    return f;
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
           a->group == b->group && (a->behind > 0) == (b->behind > 0);
}

static message message_of_part(const shard_message *s, const pass_flops *f)
{
    static const collective_kind kinds[] = { [SHARD_ALLREDUCE]     = COLLECTIVE_ALLREDUCE,
                                             [SHARD_ALLGATHER]     = COLLECTIVE_ALLGATHER,
                                             [SHARD_REDUCESCATTER] = COLLECTIVE_REDUCESCATTER };
    const bool hides = s->backward && (s->again || s->kind == SHARD_REDUCESCATTER);

    return (message){ .kind        = kinds[s->kind],
                      .bytes       = (double)s->bytes,
                      .group       = GROUP_TENSOR,
                      .pass        = s->backward ? PHASE_BACKWARD : PHASE_FORWARD,
                      .rule        = MESSAGE_WAITED,
                      .times       = s->count,
                      .behind      = !hides             ? 0
                                     : f->backward <= 0 ? 0
                                     : s->again         ? f->inputs / f->backward
                                                        : f->weights / f->backward,
                      .first_layer = s->layer,
                      .last_layer  = s->layer };
}

/* Equal messages of one pass are one with so many times. */
static void add_shared(rank_program *p, const bound_network *part)
{
    const net_sharing *s     = &part->sharing;
    const pass_flops   f     = count_flops(part);
    const size_t       first = p->n;

    for (size_t i = 0; i < s->n; i++) {
        const message m = message_of_part(&s->message[i], &f);
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

/* Each rank gets its share of a sum; in each micro-step, passes wait for what would be behind them. */
static void scatter(rank_program *p, message *m, bool each)
{
    m->kind = COLLECTIVE_REDUCESCATTER;
    if (each && m->rule == MESSAGE_BEHIND)
        m->rule = MESSAGE_WAITED;
    p->has[m->rule] = true;
}

static double weight_bytes(const bound_layer *l)
{
    double bytes = 0;

    for (size_t i = 0; i < l->n_weights; i++)
        bytes += (double)lm_bytes(&l->weights[i].tensor);
    return bytes;
}

/* ---- blocks ---- */

static void put_layer(gather_block *b, const bound_layer *l, const pass_flops *f)
{
    b->bytes += weight_bytes(l);
    b->forward += f->forward > 0 ? flops_of(l, LM_FORWARD) / f->forward : 0;
    b->backward += f->backward > 0
                       ? (flops_of(l, LM_GRAD_INPUT) + flops_of(l, LM_GRAD_WEIGHT)) / f->backward
                       : 0;
}

/* Uses of blocks at the top of the network's file, and the root. */
static lm_status gather_blocks(rank_program *p, const bound_network *part, lm_error *err)
{
    const pass_flops f      = count_flops(part);
    const char      *before = NULL;

    p->gather = calloc(part->n_layers + 1, sizeof *p->gather);
    if (!p->gather)
        return no_memory(err);
    p->n_gather = 1;
    for (size_t i = 0; i < part->n_layers; i++) {
        const bound_layer *l     = &part->layer[i];
        const char        *block = l->decl->block;

        p->n_gather += block && (!before || strcmp(block, before) != 0);
        put_layer(&p->gather[block ? p->n_gather - 1 : 0], l, &f);
        before = block ? block : before;
    }
    return LM_OK;
}

/* ---- stages ---- */

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* Weights of this layer that another stage has, too: the table's, as scores take them. */
static double tied_bytes(const bound_network *part, const int64_t *stage, size_t i)
{
    const bound_layer *l     = &part->layer[i];
    double             bytes = 0;

    for (size_t k = 0; k < l->n_shared; k++)
        if (stage[l->shares - part->layer] != stage[i])
            bytes += (double)lm_bytes(&l->weights[l->n_weights + k].tensor);
    return bytes;
}

static lm_status fill_stages(stage_list *s, const bound_network *part, const int64_t *stage,
                             double weights, lm_error *err)
{
    const pass_flops f = count_flops(part);
    const size_t     n = (size_t)(s->ranks * s->chunks);

    s->part  = calloc(n, sizeof *s->part);
    s->stage = calloc(n, sizeof *s->stage);
    s->rank  = calloc((size_t)s->ranks, sizeof *s->rank);
    if (!s->part || !s->stage || !s->rank)
        return no_memory(err);
    for (size_t i = 0; i < part->n_layers; i++) {
        const bound_layer *l = &part->layer[i];
        stage_part        *v = &s->part[stage[i]];

        v->forward += share(flops_of(l, LM_FORWARD), f.forward);
        v->input += share(flops_of(l, LM_GRAD_INPUT), f.backward);
        v->weight += share(flops_of(l, LM_GRAD_WEIGHT), f.backward);
        v->weights += share(weight_bytes(l) + tied_bytes(part, stage, i), weights);
        s->tied += tied_bytes(part, stage, i);
    }
    for (size_t v = 0; v + 1 < n; v++)
        s->part[v].bytes = (double)stages_boundary(part, stage, (int64_t)v);
    return LM_OK;
}

static lm_status add_stages(rank_program *p, const layout *l, const bound_network *part,
                            double weights, lm_error *err)
{
    int64_t  *stage = calloc(part->n_layers + 1, sizeof *stage);
    lm_status status;

    p->stages = (stage_list){ .ranks = l->pp, .chunks = l->vp, .rule = l->schedule };
    status    = stage ? stages_of_layers(part, l->pp * l->vp, stage, err) : no_memory(err);
    if (!status)
        status = pipeline_check(&(pipeline_question){ .rule          = p->stages.rule,
                                                      .ranks         = l->pp,
                                                      .chunks        = l->vp,
                                                      .micro_batches = l->accumulation },
                                err);
    if (!status)
        status = fill_stages(&p->stages, part, stage, weights, err);
    free(stage);
    return status;
}

lm_status rank_program_lay_out(rank_program *p, const layout *l, const bound_network *part,
                               lm_error *err)
{
    double    weights = 0;
    lm_status status  = make_room(p, part->sharing.n + 2, err);

    for (size_t i = 0; i < part->n_layers; i++)
        weights += weight_bytes(&part->layer[i]);
    if (!status && (l->fsdp || l->zero == 3)) {
        p->n                   = 0; /* gradients are scattered with their blocks */
        p->has[MESSAGE_BESIDE] = p->has[MESSAGE_BEHIND] = false;
        status                                          = gather_blocks(p, part, err);
    }
    if (status)
        return status;
    for (size_t i = 0; i < p->n && l->zero; i++)
        scatter(p, &p->message[i], l->zero == 2);
    p->each = l->zero == 2;
    if (l->zero && p->n)
        add(p, behind(COLLECTIVE_ALLGATHER, weights, GROUP_DATA));
    if (part->sharing.step_bytes && !part->options.evaluation)
        add(p, behind(COLLECTIVE_ALLREDUCE, (double)part->sharing.step_bytes, GROUP_TENSOR));
    add_shared(p, part);
    return l->pp > 1 ? add_stages(p, l, part, weights, err) : LM_OK;
}
