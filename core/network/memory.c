/* Memory of a training step on one device: weights, and all live tensors at the peak. */
#include "network/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "network/memory_walk.h"
#include "network/stages.h"

/* ---- weights ---- */

/* Number of weight i of a layer; a shared weight has its owner's number. */
static size_t weight_number(const walk *w, size_t l, size_t i)
{
    const bound_layer *b = plain(w, l);
    size_t             owned;

    if (i < b->n_weights)
        return w->first_weight[l] + i;
    for (owned = 0; strcmp(b->shares->weights[owned].role, b->weights[i].role);)
        owned++;
    return w->first_weight[b->shares - w->full->layer] + owned;
}

/* Largest share of a rank, in bytes. */
static uint64_t share_of(uint64_t bytes, int64_t ranks)
{
    return ranks > 1 ? bytes / (uint64_t)ranks + (bytes % (uint64_t)ranks != 0) : bytes;
}

/* Number of ranks, of `ranks`, that share weights of the same experts. */
static int64_t expert_sharers(const walk *w, int64_t ranks)
{
    const int64_t ep = w->o->shares.experts;

    return ep > 1 ? ranks / ep : ranks;
}

static int64_t sharers(const walk *w, const lm_weight *weight, int64_t ranks)
{
    return weight->flags & LM_EXPERT ? expert_sharers(w, ranks) : ranks;
}

/* The tensor that the optimizer updates; its states have the same type. */
static lm_tensor updated(const walk *w, const lm_tensor *weight)
{
    lm_tensor t = *weight;

    if (w->o->masters && lm_dtype_bytes(t.dtype) < 4)
        t.dtype = LM_F32;
    return t;
}

/* Number of a layer's weights on this rank: its own, and those shared with another stage. */
static size_t weights_here(const walk *w, size_t l)
{
    const bound_layer *b = plain(w, l);

    if (!is_mine(w, l))
        return 0;
    return b->n_weights +
           (b->shares && !is_mine(w, (size_t)(b->shares - w->full->layer)) ? b->n_shared : 0);
}

/* Holds a layer's own weights for the whole step, once per tensor. */
static void hold_own_weights(walk *w, size_t l)
{
    const memory_options *o     = w->o;
    const bound_layer    *b     = plain(w, l);
    const bool            train = !w->full->options.evaluation;

    for (size_t i = 0, n = weights_here(w, l); i < n; i++) {
        const lm_weight *weight = &b->weights[i];
        const uint64_t   bytes  = lm_bytes(&weight->tensor);
        const bool       frozen = weight->flags & LM_FROZEN;
        const lm_tensor  master = updated(w, &weight->tensor);
        const int64_t    states = sharers(w, weight, o->shares.states);

        w->layer[l].weights = lm_add(w->layer[l].weights, bytes);
        hold(w, frozen ? MEMORY_FROZEN : MEMORY_WEIGHTS, 0, last_event(w),
             share_of(bytes, sharers(w, weight, o->shares.weights)));
        if (train && !frozen)
            hold(w, MEMORY_OPTIMIZER, 0, last_event(w),
                 share_of(optimizer_state_bytes(optimizer_of_layer(o->optimizer, b), &master),
                          states));
        if (train && !frozen && master.dtype != weight->tensor.dtype)
            hold(w, MEMORY_MASTERS, 0, last_event(w), share_of(lm_bytes(&master), states));
        if (train && !frozen && o->nodes > 1 && o->buckets == BUCKETS_COPY && !o->sums)
            hold(w, MEMORY_BUCKETS, 0, last_event(w), bytes);
    }
}

/* ---- blocks ---- */

static bool same_block(const walk *w, size_t a, size_t b)
{
    const char *x = plain(w, a)->decl->block, *y = plain(w, b)->decl->block;

    return x && y && !strcmp(x, y);
}

/* First and last layer of the block around `l`; not for the root. */
static void block_around(const walk *w, size_t l, size_t *first, size_t *last)
{
    for (*first = l; *first > 0 && same_block(w, *first - 1, l);)
        --*first;
    for (*last = l; *last + 1 < w->n_layers && same_block(w, *last + 1, l);)
        ++*last;
}

/* Begin and end of a block's backward pass, with recomputation. The root's is the whole pass.
 * NEVER: none. */
static void backward_of(const walk *w, size_t first, size_t last, size_t *begin, size_t *end)
{
    *begin = *end = NEVER;
    for (size_t l = first; l <= last; l++)
        for (int again = 0; again < 2; again++) {
            const size_t at = again ? w->t.again[l] : w->t.backward[l];

            if (at == NEVER)
                continue;
            extend(end, at);
            *begin = *begin == NEVER || at < *begin ? at : *begin;
        }
}

/* Holds a sharded gradient: the whole tensor until its block's backward pass ends, then one rank's
 * share. */
static void hold_shared_gradient(walk *w, size_t l, bool resident, uint64_t bytes, int64_t ranks)
{
    const uint64_t mine  = share_of(bytes, ranks);
    size_t         first = 0, last = w->n_layers - 1, begin, end;

    if (plain(w, l)->decl->block)
        block_around(w, l, &first, &last);
    backward_of(w, first, last, &begin, &end);
    hold(w, MEMORY_GRADIENTS, w->t.backward[l], end, bytes);
    if (resident)
        hold(w, MEMORY_GRADIENTS, 0, w->t.update, mine);
    else if (end < w->t.update)
        hold(w, MEMORY_GRADIENTS, end + 1, w->t.update, mine);
}

/* Bytes of weights that other ranks hold. */
static uint64_t others_bytes(const walk *w, size_t first, size_t last, bool root)
{
    uint64_t bytes = 0, own[2] = { 0, 0 }; /* own[1]: experts, which fewer ranks share */

    for (size_t l = first; l <= last; l++)
        for (size_t i = 0, n = weights_here(w, l); i < n; i++) {
            const lm_weight *weight = &plain(w, l)->weights[i];
            const bool       fewer  = weight->flags & LM_EXPERT && w->o->shares.experts > 1;
            uint64_t        *to     = &own[fewer];

            if (!root || !plain(w, l)->decl->block)
                *to = lm_add(*to, lm_bytes(&weight->tensor));
        }
    for (int k = 0; k < 2; k++)
        bytes = lm_add(bytes, own[k] - share_of(own[k], k ? expert_sharers(w, w->o->shares.weights)
                                                          : w->o->shares.weights));
    return bytes;
}

/* Event at which a block is gathered: the next block begins its backward pass. */
static size_t begin_behind(const walk *w, size_t last, size_t begin)
{
    size_t next = last + 1, first, end, at;

    while (next < w->n_layers && !plain(w, next)->decl->block)
        next++;
    if (next == w->n_layers)
        return w->t.turn + 1 < begin ? w->t.turn + 1 : begin;
    if (!is_mine(w, next)) /* a layer of the next stage */
        return begin;
    block_around(w, next, &first, &end);
    backward_of(w, first, end, &at, &next);
    return at != NEVER && at < begin ? at : begin;
}

/* Holds gathered weights. Those of a block are whole while it runs and while its predecessor in
 * this pass runs; those of the root during the whole step. */
static void hold_gathered(walk *w)
{
    size_t before = 0; /* event at which the block before begins */

    if (w->o->shares.weights <= 1)
        return;
    hold(w, MEMORY_GATHERED, 0, w->t.update - 1, others_bytes(w, 0, w->n_layers - 1, true));
    for (size_t l = 0, last; l < w->n_layers; l = last + 1) {
        size_t   first, begin, end;
        uint64_t bytes;

        last = l;
        if (!plain(w, l)->decl->block || !is_mine(w, l))
            continue;
        block_around(w, l, &first, &last);
        bytes = others_bytes(w, first, last, false);
        hold(w, MEMORY_GATHERED, before, w->t.forward[last], bytes);
        before = w->t.forward[first];
        backward_of(w, first, last, &begin, &end);
        if (begin != NEVER)
            hold(w, MEMORY_GATHERED, begin_behind(w, last, begin), end, bytes);
    }
}

/* Holds sums of gradients in a wider type, from the first micro-batch to the update. False if there
 * are none. */
static bool hold_sums(walk *w, const lm_weight *weight)
{
    lm_tensor sum = weight->tensor;

    sum.dtype = w->o->sums;
    if (!sum.dtype || lm_bytes(&sum) <= lm_bytes(&weight->tensor))
        return false;
    hold(w, MEMORY_GRADIENTS, 0, w->t.update,
         share_of(lm_bytes(&sum), sharers(w, weight, w->o->shares.gradients)));
    return true;
}

/* Is it a matrix of a block, whose gradient a product adds to the sums? */
static bool adds_to_sums(const walk *w, size_t l, size_t i)
{
    const bound_layer *b = plain(w, l);

    return w->o->fused_gradients && b->decl->block && i < b->n_weights && is_mine(w, l) &&
           w->t.backward[l] != NEVER && b->weights[i].tensor.rank == 2 &&
           !(b->weights[i].flags & LM_FROZEN) && b->n_kernels[LM_GRAD_WEIGHT];
}

/* Rows of the matrix of all layers that read the tensor of layer l; 0: an earlier one stands for
 * them. */
static uint64_t rows_together(const walk *w, size_t l)
{
    const net_edge from = plain(w, l)->decl->input[0];
    uint64_t       rows = 0;

    for (size_t k = from.layer; k < w->n_layers && same_block(w, l, k < l ? l : k); k++) {
        const bound_layer *b = plain(w, k);

        if (!b->decl->n_inputs || b->decl->input[0].layer != from.layer ||
            b->decl->input[0].output != from.output || !adds_to_sums(w, k, 0))
            continue;
        if (k < l)
            return 0;
        rows += (uint64_t)b->weights[0].tensor.dim[0];
    }
    return rows;
}

/* Holds one tensor for each shape of the matrices whose gradients products add to the sums. */
static void hold_unused_gradients(walk *w)
{
    for (size_t l = 0; l < w->n_layers; l++) {
        const uint64_t rows  = adds_to_sums(w, l, 0) ? rows_together(w, l) : 0;
        bool           known = false;

        for (size_t k = 0; k < l && rows && !known; k++)
            known = adds_to_sums(w, k, 0) && rows_together(w, k) == rows &&
                    plain(w, k)->weights[0].tensor.dim[1] == plain(w, l)->weights[0].tensor.dim[1];
        if (rows && !known)
            hold(w, MEMORY_GRADIENTS, 0, last_event(w),
                 lm_bytes(&plain(w, l)->weights[0].tensor) /
                     (uint64_t)plain(w, l)->weights[0].tensor.dim[0] * rows);
    }
}

/* Holds gradients of weights. The users of a shared tensor add to its gradient, one after the
 * other. */
static void hold_weight_gradients(walk *w, size_t l)
{
    const bool resident =
        w->o->keep_gradients || (w->o->nodes > 1 && w->o->buckets == BUCKETS_VIEW);
    const size_t       event = w->t.backward[l];
    const bound_layer *b     = plain(w, l);

    for (size_t i = 0; i < b->n_weights + b->n_shared && event != NEVER && is_mine(w, l); i++) {
        const uint64_t bytes = lm_bytes(&b->weights[i].tensor);
        bool          *begun = &w->weight[weight_number(w, l, i)].has_gradient;

        if (b->weights[i].flags & LM_FROZEN)
            continue;
        if (*begun || (hold_sums(w, &b->weights[i]) && !resident))
            hold(w, MEMORY_GRADIENTS, event, event, adds_to_sums(w, l, i) ? 0 : bytes);
        else if (w->o->shares.gradients > 1)
            hold_shared_gradient(w, l, resident, bytes,
                                 sharers(w, &b->weights[i], w->o->shares.gradients));
        else
            hold(w, MEMORY_GRADIENTS, resident ? 0 : event, w->t.update, bytes);
        *begun = true;
    }
}

/* Bytes of a weight's copies. A matrix in FP8 has one byte per element, for the forward product,
 * and a transposed copy for the input gradient. */
static uint64_t copy_bytes(const walk *w, size_t l, const lm_tensor *half)
{
    const bool back = w->half->layer[l].n_kernels[LM_GRAD_INPUT] > 0;

    return w->fp8[l] && half->rank > 1 ? lm_mul(back ? 2 : 1, lm_elements(half)) : lm_bytes(half);
}

/* Autocast's copy of a weight lives from its first use to the end of the forward pass, or to the
 * layer's backward pass. That pass first makes a 16-bit gradient. */
static void hold_copies(walk *w, size_t l)
{
    const size_t       again = w->t.again[l], backward = w->t.backward[l];
    const bound_layer *b = plain(w, l);

    if (!w->half || b->idle || !is_mine(w, l) ||
        autocast_rule_of(b, w->full->options.on) != AUTOCAST_LOWER)
        return;
    for (size_t i = 0; i < b->n_weights + b->n_shared; i++) {
        const uint64_t bytes = lm_bytes(&w->half->layer[l].weights[i].tensor);
        const uint64_t copy  = copy_bytes(w, l, &w->half->layer[l].weights[i].tensor);
        weight_life   *life  = &w->weight[weight_number(w, l, i)];

        if (life->copied == NEVER || life->copied > w->t.forward[l])
            life->copied = w->t.forward[l];
        life->copy_bytes = life->copy_bytes > copy ? life->copy_bytes : copy;
        extend(&life->copy_dies, again == NEVER && backward != NEVER ? backward : w->t.turn);
        if (backward != NEVER)
            hold(w, MEMORY_COPIES, backward, backward, bytes);
        if (again != NEVER && backward != NEVER)
            hold(w, MEMORY_COPIES, again, backward, copy);
    }
    hold(w, MEMORY_COPIES, 0, last_event(w), lm_mul(w->fp8[l], fp8_record_bytes()));
}

static void hold_weights(walk *w)
{
    for (size_t l = w->n_layers; l-- > 0;) {
        hold_own_weights(w, l);
        hold_weight_gradients(w, l);
        hold_copies(w, l);
    }
    if (w->o->sums && w->o->fused_gradients && !w->full->options.evaluation)
        hold_unused_gradients(w);
    for (size_t i = 0; i < w->n_weights; i++)
        if (w->weight[i].copied != NEVER)
            hold(w, MEMORY_COPIES, w->weight[i].copied, w->weight[i].copy_dies,
                 w->weight[i].copy_bytes);
    if (!w->full->options.evaluation)
        hold_gathered(w);
    if (w->o->nodes > 1 && w->o->buckets == BUCKETS_FIXED && !w->full->options.evaluation)
        hold(w, MEMORY_BUCKETS, 0, last_event(w), w->o->bucket_bytes);
}

/* ---- the peak ---- */

static void find_peak(walk *w, memory_use *out)
{
    uint64_t now[MEMORY_N_PARTS] = { 0 };

    for (size_t e = 0; e < w->t.n_events; e++) {
        const timeline_event *event = &w->t.event[e];
        uint64_t              sum   = 0;

        for (int p = 0; p < MEMORY_N_PARTS; p++) {
            now[p] += w->live[p][e];
            sum += now[p];
        }
        if (w->moment) {
            w->moment[e] = (memory_moment){ .pass = event->pass, .layer = event->layer };
            if (event->pass == TIMELINE_UPDATE || event->pass == TIMELINE_TURN)
                w->moment[e].layer = TIMELINE_NEVER;
            memcpy(w->moment[e].part, now, sizeof now);
        }
        if (event->pass == TIMELINE_FORWARD)
            w->layer[event->layer].live_forward = sum;
        if (event->pass == TIMELINE_BACKWARD)
            w->layer[event->layer].live_backward = sum;
        if (event->pass == TIMELINE_TURN)
            out->kept = now[MEMORY_ACTIVATIONS] + now[MEMORY_SAVED];
        if (sum <= out->peak)
            continue;
        out->peak  = sum;
        out->pass  = event->pass;
        out->layer = event->pass == TIMELINE_UPDATE || event->pass == TIMELINE_TURN
                         ? NULL
                         : plain(w, event->layer)->decl->name;
        for (int p = 0; p < MEMORY_N_PARTS; p++)
            out->part[p] = now[p];
    }
}

static lm_status find_stages(walk *w)
{
    if (w->o->stage.ranks <= 1)
        return LM_OK;
    w->stage = arena_array(w->arena, w->n_layers + 1, sizeof *w->stage);
    return w->stage ? stages_of_layers(w->full, w->o->stage.ranks * w->o->stage.chunks,
                                       w->o->stage.spread, w->stage, w->err)
                    : no_memory(w->err);
}

static lm_status take_step(walk *w, memory_use *out)
{
    lm_status status = find_stages(w);

    if (status || (status = hold_tensors(w)))
        return status;
    hold_in_flight(w);
    hold_weights(w);
    hold(w, MEMORY_OVERHEAD, 0, last_event(w), w->o->overhead);
    if (w->ever == UINT64_MAX)
        return lm_error_set(w->err, LM_E_OVERFLOW, "%s: memory does not fit 64 bits",
                            w->full->net->path);
    find_peak(w, out);
    for (size_t l = 0; l < w->n_layers; l++)
        if (w->t.again[l] != NEVER && is_mine(w, l))
            out->recompute_flops =
                lm_add(out->recompute_flops, plain(w, l)->cost.pass[LM_FORWARD].flops);
    return LM_OK;
}

/* Allocates the arrays of take_step(). */
static lm_status walk_open(walk *w)
{
    const size_t n       = w->n_layers;
    size_t       n_edges = 0;

    w->first        = arena_array(w->arena, n + 1, sizeof *w->first);
    w->first_weight = arena_array(w->arena, n + 1, sizeof *w->first_weight);
    w->used         = arena_array(w->arena, n + 1, sizeof *w->used);
    if (!w->first || !w->first_weight || !w->used)
        return no_memory(w->err);
    for (size_t l = 0; l < n; l++) {
        w->first[l]        = w->n_tensors;
        w->first_weight[l] = w->n_weights;
        w->n_tensors += plain(w, l)->n_outputs;
        w->n_weights += plain(w, l)->n_weights;
        n_edges += n_inputs(w, l);
        for (size_t i = 0; i < n_inputs(w, l); i++)
            w->used[plain(w, l)->decl->input[i].layer] = true;
    }
    w->is_half  = arena_array(w->arena, n + 1, sizeof *w->is_half);
    w->fp8      = arena_array(w->arena, n + 1, sizeof *w->fp8);
    w->base     = arena_array(w->arena, w->n_tensors + 1, sizeof *w->base);
    w->store    = arena_array(w->arena, w->n_tensors + 1, sizeof *w->store);
    w->grad     = arena_array(w->arena, w->n_tensors + 1, sizeof *w->grad);
    w->gradient = arena_array(w->arena, 2 * n_edges + n + 1, sizeof *w->gradient);
    w->weight   = arena_array(w->arena, w->n_weights + 1, sizeof *w->weight);
    if (!w->is_half || !w->fp8 || !w->base || !w->store || !w->grad || !w->gradient || !w->weight)
        return no_memory(w->err);
    for (size_t i = 0; i < w->n_weights; i++)
        w->weight[i].copied = w->weight[i].copy_dies = NEVER;
    for (size_t id = 0; id < w->n_tensors; id++)
        w->grad[id] = NEVER;
    for (int p = 0; p < MEMORY_N_PARTS; p++) {
        w->live[p] = arena_array(w->arena, w->t.n_events + 1, sizeof *w->live[p]);
        if (!w->live[p])
            return no_memory(w->err);
    }
    return LM_OK;
}

static lm_status bind_both(const network *net, const registry *reg, const bind_options *b,
                           lm_dtype mixed, bound_network **full, bound_network **half,
                           lm_error *err)
{
    bind_options single = *b, lower = *b;
    lm_status    status = LM_OK;

    single.mixed = mixed ? mixed : b->mixed;
    if (single.mixed && (status = autocast_check(&single, err)))
        return status;
    mixed        = single.mixed;
    lower.dtype  = autocast_half(mixed);
    single.mixed = lower.mixed = 0;
    status                     = bind_network(net, reg, &single, full, err);
    if (!status && mixed)
        status = bind_network(net, reg, &lower, half, err);
    if (!status)
        (*full)->options.mixed = mixed; /* the walk needs both types, not the joined network */
    return status;
}

/* Further results that the caller wants; NULL: not wanted. */
typedef struct wanted {
    memory_of_layer *layer;
    memory_moment  **moment;
    size_t          *n_moments;
} wanted;

/* Allocates one moment per event, if wanted. */
static lm_status want_moments(walk *w, const wanted *also)
{
    if (!also->moment)
        return LM_OK;
    w->moment = calloc(w->t.n_events + 1, sizeof *w->moment);
    return w->moment ? LM_OK : no_memory(w->err);
}

/* Finds a layer by name, from `l` on. It exists, because both bindings have the same network. */
static size_t layer_named(const network *net, const char *name, size_t l)
{
    while (l >= net->n_layers || strcmp(net->layer[l].name, name) != 0)
        l = l < net->n_layers ? l + 1 : 0;
    return l;
}

static lm_status follow_bound(const network *net, const bound_network *full,
                              const bound_network *half, const memory_options *o, memory_use *out,
                              const wanted *also, lm_error *err)
{
    memory_use use = { 0 };
    walk       w   = { .o = o, .full = full, .half = half, .arena = arena_new(), .err = err };
    lm_status  status;

    w.n_layers = full->n_layers;
    w.layer    = w.arena ? arena_array(w.arena, w.n_layers + 1, sizeof *w.layer) : NULL;
    status     = w.layer ? timeline_make(full, o->recompute, w.arena, &w.t, err) : no_memory(err);
    if (!status)
        status = walk_open(&w);
    if (!status)
        status = want_moments(&w, also);
    if (!status)
        status = take_step(&w, &use);
    if (status)
        goto out;
    *out       = use;
    out->layer = use.layer ? net->layer[layer_named(net, use.layer, 0)].name : NULL;
    for (size_t l = 0; also->layer && l < net->n_layers; l++)
        also->layer[l] = (memory_of_layer){ 0 }; /* for layers that only training has */
    for (size_t l = 0, at = 0; also->layer && l < w.n_layers; l++, at++) {
        at              = layer_named(net, full->layer[l].decl->name, at);
        also->layer[at] = w.layer[l];
    }
    if (also->moment) {
        *also->moment    = w.moment;
        *also->n_moments = w.t.n_events;
        w.moment         = NULL;
    }
out:
    free(w.moment);
    arena_free(w.arena);
    return status;
}

static lm_status follow_step(const network *net, const registry *reg, const bind_options *b,
                             const memory_options *o, memory_use *out, const wanted *also,
                             lm_error *err)
{
    bound_network *full = NULL, *half = NULL;
    lm_status      status = bind_both(net, reg, b, o->mixed, &full, &half, err);

    if (!status)
        status = follow_bound(net, full, half, o, out, also, err);
    bound_network_free(full);
    bound_network_free(half);
    return status;
}

lm_status memory_of_stages(const network *net, const registry *reg, const bind_options *b,
                           const memory_options *o, size_t n, memory_use *out, lm_error *err)
{
    const wanted   nothing = { .layer = NULL };
    bound_network *full = NULL, *half = NULL;
    lm_status      status = n ? bind_both(net, reg, b, o->mixed, &full, &half, err) : LM_OK;

    for (size_t i = 0; i < n && !status; i++)
        status = follow_bound(net, full, half, &o[i], &out[i], &nothing, err);
    bound_network_free(full);
    bound_network_free(half);
    return status;
}

lm_status memory_of_step(const network *net, const registry *reg, const bind_options *b,
                         const memory_options *o, memory_use *out, memory_of_layer *layer,
                         lm_error *err)
{
    const wanted also = { .layer = layer };

    return follow_step(net, reg, b, o, out, &also, err);
}

lm_status memory_of_bound(const network *net, const bound_network *bound, const memory_options *o,
                          memory_use *out, memory_of_layer *layer, lm_error *err)
{
    const wanted also = { .layer = layer };

    return follow_bound(net, bound, NULL, o, out, &also, err);
}

lm_status memory_over_step(const network *net, const registry *reg, const bind_options *b,
                           const memory_options *o, memory_use *out, memory_moment **moment,
                           size_t *n, lm_error *err)
{
    const wanted also = { .moment = moment, .n_moments = n };

    return follow_step(net, reg, b, o, out, &also, err);
}

lm_status memory_largest_batch(const network *net, const registry *reg, const bind_options *b,
                               const memory_options *o, uint64_t room, int64_t *batch,
                               lm_error *err)
{
    bind_options at   = *b;
    int64_t      fits = 0, fails = 0; /* fails 0: not found yet */

    while (!fails || fits + 1 < fails) {
        memory_use use;
        lm_status  status;

        at.batch = fails ? fits + (fails - fits) / 2 : fits ? 2 * fits : 1;
        if (at.batch > MEMORY_BATCH_MAX)
            break;
        status = memory_of_step(net, reg, &at, o, &use, NULL, err);
        if (status && (status != LM_E_OVERFLOW || at.batch == 1))
            return status;
        if (!status && use.peak <= room)
            fits = at.batch;
        else
            fails = at.batch;
    }
    *batch = fits;
    return LM_OK;
}
