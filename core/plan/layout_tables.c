/* Layers, messages and memory of layouts, by a predictor. */
#include "plan/layout_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "network/memory.h"
#include "network/stages.h"
#include "plan/layout_predict.h"
#include "plan/limits.h"
#include "predict/laid_out.h"
#include "predict/layer_passes.h"
#include "program/facts.h"
#include "program/program.h"

/* Least share of the kept bytes that selective recomputation frees, to be searched. Fused attention
 * keeps the statistics of its softmax alone, below a thousandth. */
#define FREED_LEAST 0.01

#define SELECTIVE "selective" /* word of layout.recompute */

/* A part of the network at a micro-batch. */
typedef struct kept_parts {
    layout_parts       parts;
    struct kept_parts *next;
    double            *flops;    /* one for each block; stored behind this struct */
    layer_cost         before[]; /* blocks + 1 */
} kept_parts;

/* A part of the network at a micro-batch, bound for its memory. */
typedef struct bound_part {
    net_shard      shard;
    int64_t        micro_batch;
    memory_binding bound; /* net NULL: none */
} bound_part;

#define PARTS_KEPT 4 /* the layouts of a search that are weighed one after the other have few */

struct layout_tables {
    const predictor *who;
    const network   *net;
    const registry  *reg;
    step_setup       setup;
    layout_facts     facts;
    bool             splits;
    bool             selective; /* selective recomputation frees FREED_LEAST or more */
    double           gradients, held, summed, states, copies; /* as in layout_question */
    const intervals *known; /* intervals of the machine; NULL: none */
    kept_parts      *made;
    bound_part       bound[PARTS_KEPT]; /* the latest first */
};

/* ---- a part while it is made ---- */

typedef struct making {
    layout_tables *t;
    step_setup     setup;
    predictor      part;
    step_price     price;
    bound_network *bound;
    /* without recomputation, and with SELECTIVE; the latter NULL: it is not searched */
    memory_of_layer *memory, *selective;
    memory_use       use, use_selective;
    arena           *room;
    const size_t    *again; /* as in timeline, of SELECTIVE; NULL: the network has none */
    layer_passes    *work;  /* of its layers */
    layer_passes     all;
    double    sent[N_SHARD_GROUPS][2]; /* by shard_group: bytes of messages, forward and backward */
    double    waited[N_SHARD_GROUPS][2]; /* s of these */
    lm_error *err;
} making;

static bool holds(const bound_part *b, const net_shard *shard, int64_t micro_batch)
{
    return b->bound.net && b->micro_batch == micro_batch && shard_equals(&b->shard, shard);
}

/* Binds a part, or finds it among the latest ones; the oldest goes. */
static lm_status bind_part(layout_tables *t, const net_shard *shard, int64_t micro_batch,
                           const memory_binding **out, lm_error *err)
{
    const bind_options b  = { .batch   = micro_batch,
                              .dtype   = limits_types(t->who, true).dtype,
                              .on      = t->who->on,
                              .input   = t->who->input,
                              .shard   = *shard,
                              .checked = true }; /* by the binding for its price */
    bound_part         at = { .shard = *shard, .micro_batch = micro_batch };
    size_t             i  = 0;

    while (i + 1 < PARTS_KEPT && t->bound[i].bound.net && !holds(&t->bound[i], shard, micro_batch))
        i++;
    if (holds(&t->bound[i], shard, micro_batch)) {
        at = t->bound[i];
    } else {
        const lm_dtype  mixed  = layout_memory_options(t->who, &t->setup).mixed;
        const lm_status status = memory_bind(t->net, t->reg, &b, mixed, &at.bound, err);

        if (status)
            return status;
        memory_unbind(&t->bound[i].bound);
    }
    memmove(t->bound + 1, t->bound, i * sizeof *t->bound);
    t->bound[0] = at;
    *out        = &t->bound[0].bound;
    return LM_OK;
}

static lm_status ask_memory(making *m, const char *recompute, memory_use *use,
                            memory_of_layer **out)
{
    layout_tables        *t = m->t;
    memory_options        o = layout_memory_options(t->who, &t->setup);
    const memory_binding *bound;
    lm_status             status = bind_part(t, &m->part.shard, m->setup.batch, &bound, m->err);

    o.recompute = recompute;
    if (status)
        return status;
    if (!(*out = calloc(t->net->n_layers + 1, sizeof **out)))
        return no_memory(m->err);
    return memory_follow(bound, &o, use, *out, m->err);
}

/* The layers that SELECTIVE computes again. */
static lm_status find_core(making *m)
{
    lm_error  none = { LM_OK, "" };
    timeline  t;
    lm_status status;

    if (!(m->room = arena_new()))
        return no_memory(m->err);
    status   = timeline_make(m->bound, SELECTIVE, m->room, &t, &none);
    m->again = status ? NULL : t.again;
    return status == LM_E_NOMEM ? no_memory(m->err) : LM_OK;
}

static lm_status find_memory(making *m)
{
    lm_status status = find_core(m);

    if (!status)
        status = ask_memory(m, NULL, &m->use, &m->memory);
    if (!status && m->t->selective)
        status = ask_memory(m, SELECTIVE, &m->use_selective, &m->selective);
    return status;
}

static lm_status find_price(making *m)
{
    const workload_name of = predictor_workload(&m->part, PROGRAM_TRAINING);
    lm_status           status;

    if ((status = workloads_bind_at(m->part.loads, &of, m->setup.batch, &m->bound, m->err)) ||
        (status = predictor_price(&m->part, &m->setup, &m->price, m->err)))
        return status;
    if (isnan(m->price.forward.value + m->price.backward.value + m->price.update.value))
        return lm_error_set(
            m->err, LM_E_UNSUPPORTED,
            "layouts need separate forward and backward passes and updates, and %s has only whole steps",
            m->part.machine ? m->part.machine : "the machine file");
    if ((status = layer_passes_of(&m->part, &m->setup, m->bound, &m->work, m->err)))
        return status;
    for (size_t i = 0; i < m->bound->n_layers; i++) {
        m->all.forward += m->work[i].forward;
        m->all.input += m->work[i].input;
        m->all.weight += m->work[i].weight;
    }
    return LM_OK;
}

static double message_seconds(void *by, collective_kind kind, double bytes, const rank_span *group)
{
    const layout_tables  *t = by;
    const collective_call a = { .kind    = kind,
                                .bytes   = bytes,
                                .nodes   = group->nodes,
                                .devices = group->devices,
                                .groups  = group->beside };

    return group->nodes == 1 && group->devices == 1
               ? 0
               : calibration_collective(t->who->cal, predictor_sync_model(t->who), &t->who->link,
                                        &a);
}

/* Group of a message. Messages of no layer count as those of tp. */
static shard_group shared_by(rank_group group)
{
    for (shard_group g = 0; g < N_SHARD_GROUPS; g++)
        if (layout_group_of(g) == group)
            return g;
    return SHARD_TP;
}

/* Seconds for which passes wait for messages, without the overlapped part, as in
 * schedule_step(). */
static lm_status find_waits(making *m)
{
    const layout *l      = &m->setup.layout;
    const double  pass[] = { m->price.forward.value, m->price.backward.value };
    rank_program *p      = calloc(1, sizeof *p);
    layout        places = *l;
    rank_span     group[N_RANK_GROUPS];
    lm_status     status = p ? LM_OK : no_memory(m->err);

    places.dp = l->ep * m->setup.devices; /* groups within a replica do not depend on dp */
    if (!status && !(status = layout_groups(&places, m->setup.devices, group, m->err)))
        status = rank_program_lay_out(p, l, m->bound, m->work,
                                      calibration_travels(m->part.cal, m->part.dtype), m->err);
    for (size_t i = 0; i < (p ? p->n : 0) && !status; i++) {
        const message *e       = &p->message[i];
        const int      back    = e->pass != PHASE_FORWARD;
        double        *to      = &m->waited[shared_by(e->group)][back];
        const double   seconds = message_seconds(m->t, e->kind, e->bytes, &group[e->group]) *
                               (e->times > 0 ? e->times : 1);

        if (e->rule == MESSAGE_WAITED)
            *to += fmax(0, seconds - e->behind * pass[back]);
        else /* once a step */
            m->price.update.value += seconds;
        if (isnan(seconds))
            *to = NAN; /* fmax() ignores NAN */
    }
    rank_program_free(p);
    for (size_t i = 0; i < m->bound->sharing.n; i++) {
        const shard_message *e = &m->bound->sharing.message[i];

        m->sent[e->group][e->backward] += (double)e->bytes * e->count;
    }
    return status;
}

/* Lengthens the passes of a micro-batch evenly by the host's time, if that was fitted to steps
 * under layouts. */
static void add_host(making *m)
{
    const host_time *h     = &m->t->who->cal->host;
    host_clock       clock = { 0, 0 };
    host_operations  n;
    double           pass[2] = { m->price.forward.value, m->price.backward.value };

    if (!h->rows || !h->laid)
        return;
    n = host_operations_of(m->bound, m->setup.optimizer, h);
    for (int back = 0; back < 2; back++) {
        for (size_t g = 0; g < N_SHARD_GROUPS; g++)
            pass[back] += m->waited[g][back];
        *(back ? &m->price.backward.value : &m->price.forward.value) +=
            host_pass(&clock, h->queue, host_work_of(h, &n, back ? HOST_BACKWARD : HOST_FORWARD),
                      pass[back]) -
            pass[back];
    }
}

static double kept_of(const memory_of_layer *l)
{
    return (double)l->kept + (double)l->saved;
}

/* Adds a layer's share of the passes, by its own seconds. */
static void put_layer(const making *m, size_t i, layer_cost *to)
{
    const double back = m->all.input + m->all.weight;

    if (m->all.forward > 0) {
        const double forward = m->price.forward.value * m->work[i].forward / m->all.forward;

        to->forward += forward;
        to->again[0] += m->again && m->again[i] != TIMELINE_NEVER ? forward : 0;
    }
    if (back > 0) {
        to->input += m->price.backward.value * m->work[i].input / back;
        to->weight += m->price.backward.value * m->work[i].weight / back;
    }
    to->weights += (double)m->memory[i].weights / m->t->held;
    for (size_t k = 0; k < m->bound->layer[i].n_weights && m->part.shard.ep > 1; k++)
        if (m->bound->layer[i].weights[k].flags & LM_EXPERT)
            to->experts += (double)lm_bytes(&m->bound->layer[i].weights[k].tensor);
    to->kept += kept_of(&m->memory[i]);
    if (m->selective)
        to->freed += kept_of(&m->memory[i]) - kept_of(&m->selective[i]);
}

/* Adds layer i's share of the waits, by the bytes of its messages. */
static void put_waits(const making *m, size_t *next, size_t i, layer_cost *to)
{
    const net_sharing *s = &m->bound->sharing;

    for (; *next < s->n && s->message[*next].layer == i; ++*next) {
        const shard_message *e     = &s->message[*next];
        const int            back  = e->backward;
        const double         bytes = (double)e->bytes * e->count, all = m->sent[e->group][back];

        const double wait = all > 0 ? m->waited[e->group][back] * bytes / all : 0;

        to->waited[back] += wait;
        to->again[1] += !back && m->again && m->again[i] != TIMELINE_NEVER ? wait : 0;
    }
}

static void add_cost(layer_cost *to, const layer_cost *a)
{
    to->forward += a->forward;
    to->input += a->input;
    to->weight += a->weight;
    to->waited[0] += a->waited[0];
    to->waited[1] += a->waited[1];
    to->weights += a->weights;
    to->experts += a->experts;
    to->kept += a->kept;
    to->again[0] += a->again[0];
    to->again[1] += a->again[1];
    to->freed += a->freed;
}

/* Bytes of weights that a layer behind the blocks shares with one in front of them. */
static double tied_bytes(const bound_layer *l)
{
    double bytes = 0;

    for (size_t k = 0; k < l->n_shared; k++)
        bytes += (double)lm_bytes(&l->weights[l->n_weights + k].tensor);
    return bytes;
}

/* Sums over blocks in the order of execution. Layers between two blocks belong to the first one. */
static void fill(const making *m, kept_parts *out)
{
    const bound_layer *layer = m->bound->layer, *first = NULL; /* first layer of the blocks */
    const char        *before = NULL;
    size_t             n = 0, next = 0;
    int64_t            last = -1;

    for (size_t i = 0; i < m->bound->n_layers; i++)
        if (layer[i].decl->block) {
            first = first ? first : &layer[i];
            last  = (int64_t)i;
        }
    for (size_t i = 0; i < m->bound->n_layers; i++) {
        const char *block = m->bound->layer[i].decl->block;
        layer_cost *to;

        n += block && (!before || strcmp(block, before) != 0);
        before = block ? block : before;
        to     = !n ? &out->parts.first : (int64_t)i > last ? &out->parts.last : &out->before[n];
        put_layer(m, i, to);
        if (to == &out->parts.last && layer[i].n_shared && layer[i].shares < first)
            out->parts.tied += tied_bytes(&layer[i]);
        put_waits(m, &next, i, to);
        if (block && n == 1)
            out->parts.boundary = calibration_travels(m->part.cal, m->part.dtype) *
                                  (double)lm_bytes(&m->bound->layer[i].output[0]);
    }
    for (size_t i = 0; i + 1 < m->bound->n_layers && !(out->parts.input > 0); i++)
        if (layer[i].decl->block && layer[i + 1].decl->block &&
            strcmp(layer[i].decl->block, layer[i + 1].decl->block) != 0)
            out->parts.input = (double)m->memory[i].kept;
    for (size_t i = 1; i <= n; i++)
        add_cost(&out->before[i], &out->before[i - 1]);
    out->parts.before = out->before;
    stages_flops(m->bound, out->flops);
    out->parts.flops = out->flops;
}

static double ratio(const making *m, const double at[N_TIMES], double *high)
{
    const interval_place place = { .batch = m->setup.batch, .ranks = 1 };
    const double         sum   = at[PHASE_FORWARD] + at[PHASE_BACKWARD];
    double               low[N_TIMES], top[N_TIMES];

    *high = NAN;
    if (!m->price.known || m->price.unbounded)
        return NAN;
    laid_pass_bounds(&m->part, m->price.known, at, &place, low, top);
    *high = (top[PHASE_FORWARD] + top[PHASE_BACKWARD]) / sum;
    return (low[PHASE_FORWARD] + low[PHASE_BACKWARD]) / sum;
}

static void put_bounds(const making *m, layout_parts *out)
{
    double at[N_TIMES];

    for (phase q = 0; q < N_TIMES; q++)
        at[q] = NAN;
    at[PHASE_FORWARD]  = m->price.forward.value;
    at[PHASE_BACKWARD] = m->price.backward.value;
    out->low           = ratio(m, at, &out->high);
}

/* Largest memory of a pass beside weights, states and kept tensors. */
static double transient_of(const memory_use *use)
{
    const memory_part still[] = { MEMORY_WEIGHTS, MEMORY_FROZEN,    MEMORY_COPIES, MEMORY_GRADIENTS,
                                  MEMORY_BUCKETS, MEMORY_OPTIMIZER, MEMORY_MASTERS };
    double            held    = (double)use->kept;

    for (size_t i = 0; i < sizeof still / sizeof still[0]; i++)
        held += (double)use->part[still[i]];
    return fmax(0, (double)use->peak - held);
}

static lm_status keep(making *m, const layout_parts **out)
{
    const size_t n = (size_t)m->t->facts.blocks;
    kept_parts  *k = calloc(1, sizeof *k + (n + 1) * (sizeof *k->before + sizeof *k->flops));

    if (!k)
        return no_memory(m->err);
    k->flops = (double *)(void *)&k->before[n + 1];
    fill(m, k);
    k->parts.transient = transient_of(&m->use);
    k->parts.regained  = m->selective ? transient_of(&m->use_selective) : 0;
    k->parts.update    = m->price.update.value;
    put_bounds(m, &k->parts);
    k->next    = m->t->made;
    m->t->made = k;
    *out       = &k->parts;
    return LM_OK;
}

static lm_status parts(void *by, const net_shard *shard, int64_t micro_batch,
                       const layout_parts **out, lm_error *err)
{
    layout_tables *t = by;
    making         m = { .t = t, .setup = t->setup, .err = err };
    lm_status      status;

    m.setup.batch             = micro_batch;
    m.setup.nodes             = 1;
    m.setup.sync.accumulation = 1;
    m.setup.laid_out          = true;
    m.setup.layout            = layout_plain();
    m.setup.layout.tp         = shard->tp;
    m.setup.layout.cp         = shard->cp;
    m.setup.layout.ep         = shard->ep;
    m.setup.layout.sp         = shard->sp;
    m.setup.layout.ulysses    = shard->ulysses;
    m.setup.layout.dp         = 1;
    m.part                    = predictor_part(t->who, &m.setup);
    status                    = find_price(&m);
    if (!status)
        status = find_memory(&m);
    if (!status)
        status = find_waits(&m);
    if (!status) {
        add_host(&m);
        status = keep(&m, out);
    }
    bound_network_free(m.bound);
    arena_free(m.room);
    free_all(m.memory, m.selective, m.work);
    return status;
}

/* ---- the network and the machine ---- */

/* Does selective recomputation free memory? Networks without a core of attention have none. */
static bool frees_by_core(const layout_tables *t, const bind_options *b, const memory_options *o,
                          uint64_t kept)
{
    memory_options with = *o;
    memory_use     use;

    with.recompute = SELECTIVE;
    return !memory_of_step(t->net, t->reg, b, &with, &use, NULL, NULL) &&
           (double)kept - (double)use.kept >= FREED_LEAST * (double)kept;
}

static lm_status find_facts(layout_tables *t, lm_error *err)
{
    const workload_name  of = predictor_workload(t->who, PROGRAM_TRAINING);
    const bind_options   b  = { .batch = 1,
                                .dtype = limits_types(t->who, true).dtype,
                                .on    = t->who->on,
                                .input = t->who->input };
    const memory_options o  = layout_memory_options(t->who, &t->setup);
    bound_network       *whole;
    memory_use           use;
    uint64_t             weights;
    lm_status            status = workloads_bind_at(t->who->loads, &of, 1, &whole, err);

    if (status)
        return status;
    t->facts = layout_facts_of(whole);
    for (size_t i = 0; i < whole->n_layers; i++)
        t->splits |= whole->layer[i].decl->way != LM_WHOLE;
    bound_network_free(whole);
    if ((status = memory_of_step(t->net, t->reg, &b, &o, &use, NULL, err)))
        return status;
    t->selective = frees_by_core(t, &b, &o, use.kept);
    weights      = use.part[MEMORY_WEIGHTS] + use.part[MEMORY_FROZEN];
    t->held      = (double)lm_dtype_bytes(b.dtype) / (double)lm_dtype_bytes(t->who->dtype);
    if (weights) {
        const double each = t->held / (double)weights; /* of a byte that is held, of weights */

        t->gradients = (double)use.part[MEMORY_WEIGHTS] / (double)weights;
        t->summed    = t->gradients *
                    (o.sums ? (double)lm_dtype_bytes(o.sums) : (double)lm_dtype_bytes(b.dtype)) /
                    (double)lm_dtype_bytes(t->who->dtype);
        t->states = each * (double)(use.part[MEMORY_OPTIMIZER] + use.part[MEMORY_MASTERS]);
        t->copies = each * (double)use.part[MEMORY_COPIES];
    }
    return LM_OK;
}

lm_status layout_tables_new(const predictor *who, const network *net, const registry *reg,
                            const step_setup *setup, layout_tables **out, lm_error *err)
{
    layout_tables *t;
    lm_status      status;

    if (who->by->from_layers || !who->cal)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "layouts need the default model and a machine file, not %s",
                            who->model);
    if (!(t = calloc(1, sizeof *t)))
        return no_memory(err);
    *t     = (layout_tables){ .who = who, .net = net, .reg = reg, .setup = *setup };
    status = find_facts(t, err);
    if (status)
        layout_tables_free(t);
    else
        *out = t;
    return status;
}

void layout_tables_free(layout_tables *t)
{
    if (!t)
        return;
    while (t->made) {
        kept_parts *next = t->made->next;

        free(t->made);
        t->made = next;
    }
    for (size_t i = 0; i < PARTS_KEPT; i++)
        memory_unbind(&t->bound[i].bound);
    free(t);
}

static lm_status rank_bytes(void *by, const layout *l, double *out, lm_error *err)
{
    layout_tables        *t     = by;
    const net_shard       shard = layout_shard(l);
    const memory_binding *bound;
    const lm_status       status = bind_part(t, &shard, l->micro_batch, &bound, err);

    return status ? status
                  : layout_memory(&(layout_asked){ t->who, t->net, t->reg, &t->setup, 0 }, l, bound,
                                  out, err);
}

layout_prices layout_tables_prices(layout_tables *t)
{
    return (
        layout_prices){ .by = t, .parts = parts, .message = message_seconds, .bytes = rank_bytes };
}

void layout_tables_ask(const layout_tables *t, int64_t ranks, layout_question *q)
{
    const interval_place place = { .batch = 1, .ranks = ranks };
    const intervals     *known = calibration_intervals(t->who->cal, predictor_sync_model(t->who));
    double               at[N_TIMES];

    q->facts         = t->facts;
    q->splits        = t->splits && t->setup.optimizer != OPTIMIZER_MUON;
    q->whole_updates = t->setup.optimizer == OPTIMIZER_MUON;
    q->gradients     = t->gradients;
    q->held          = t->held;
    q->summed        = t->summed;
    q->states        = t->states;
    q->copies        = t->copies;
    q->low = q->high = NAN;
    for (phase p = 0; p < N_TIMES; p++)
        at[p] = NAN;
    at[PHASE_SYNC] = 1;
    if (known)
        intervals_at(known, PHASE_SYNC, at, &place, &q->low, &q->high);
}

lm_status layout_tables_unknown(const layout_tables *t, int64_t nodes, lm_error *err)
{
    const collective_call a = { .kind    = COLLECTIVE_ALLREDUCE,
                                .bytes   = 1 << 20,
                                .nodes   = nodes,
                                .devices = t->setup.devices,
                                .groups  = 1 };
    collective_answer     answer;
    const lm_status       status = calibration_ask(t->who->cal, &t->who->link, &a, &answer, err);

    if (status)
        return status;
    return lm_error_set(err, LM_E_NOTFOUND, "the messages have no coefficients in any layout");
}
