/* Memory of weights, optimizer states, gradients and their copies in a training step. */
#include <string.h>

#include "network/memory/walk.h"

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
        if (train && !frozen && o->nodes > 1 && o->buckets == BUCKETS_COPY &&
            (!o->sums || o->late_sums))
            hold(w, MEMORY_BUCKETS, 0, last_event(w), bytes);
        if (train && !frozen && o->late_sums && states > 1 && o->shares.weights <= 1)
            hold(w, MEMORY_GATHERED, w->t.update, w->t.update,
                 lm_add(bytes, share_of(bytes, states))); /* all, and this rank's */
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
        if (*begun || (hold_sums(w, &b->weights[i]) && !resident && !w->o->late_sums))
            hold(w, MEMORY_GRADIENTS, event, event, adds_to_sums(w, l, i) ? 0 : bytes);
        else if (w->o->late_sums && !resident)
            hold(w, MEMORY_GRADIENTS, event, w->t.update - 1, bytes);
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

void hold_weights(walk *w)
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
