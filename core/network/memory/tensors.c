/* Lifetimes of tensors in a step: activations, saved data, gradients of activations. */
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "network/memory/walk.h"

/* ---- what the layers are ---- */

/* A layer's output in the element type it has in memory. */
static const lm_tensor *output_of(const walk *w, size_t l, uint32_t output)
{
    return &(w->is_half[l] ? w->half : w->full)->layer[l].output[output];
}

/* Number of the tensor that feeds input i; its layer is decl->input[i].layer. */
static size_t input_tensor(const walk *w, size_t l, size_t i)
{
    const net_edge e = plain(w, l)->decl->input[i];

    return w->first[e.layer] + e.output;
}

static const lm_tensor *input_of(const walk *w, size_t l, size_t i)
{
    const net_edge e = plain(w, l)->decl->input[i];

    return output_of(w, e.layer, e.output);
}

/* The layer in the element type it computes in. */
static const bound_layer *working(const walk *w, size_t l)
{
    return &(w->is_half[l] ? w->half : w->full)->layer[l];
}

static bool is_source(const walk *w, size_t l)
{
    return (plain(w, l)->entry->type.flags & LM_SOURCE) != 0;
}

static bool casts_input(const walk *w, size_t l, size_t i)
{
    return w->half && autocast_casts(w->full, w->half, w->is_half, l, i);
}

/* A layer with products in FP8 keeps their factors in FP8, not the originals. */
static bool keeps_copies(const walk *w, size_t l)
{
    return w->fp8[l] > 0;
}

static bool runs_backward(const walk *w, size_t l)
{
    return w->t.backward[l] != NEVER;
}

static bool keeps_output(const walk *w, size_t l)
{
    return runs_backward(w, l) && plain(w, l)->cost.keeps & LM_KEEPS_OUTPUT;
}

static bool keeps_input(const walk *w, size_t l, size_t i)
{
    return runs_backward(w, l) && lm_keeps_input(plain(w, l)->cost.keeps, (uint32_t)i);
}

static bool wants_gradient(const walk *w, size_t l, size_t i)
{
    return runs_backward(w, plain(w, l)->decl->input[i].layer) &&
           lm_dtype_is_real(input_of(w, l, i)->dtype);
}

/* Does a layer gather input `i` from the ranks that share its tokens? It then reads more than its
 * rank has. */
static bool gathers(const walk *w, size_t l, size_t i)
{
    return !plain(w, l)->idle &&
           lm_elements(&plain(w, l)->input[i]) > lm_elements(input_of(w, l, i));
}

/* Does a layer keep input `i` itself, not a copy in another type or with other ranks' tokens? */
static bool keeps_as_is(const walk *w, size_t l, size_t i)
{
    return keeps_input(w, l, i) && !casts_input(w, l, i) && !keeps_copies(w, l) &&
           !(w->o->keep_gathered && gathers(w, l, i));
}

/* ---- storage ---- */

static void lay_out(walk *w)
{
    for (size_t l = 0; l < w->n_layers; l++) {
        const bound_layer *b    = plain(w, l);
        const bool         view = (b->entry->type.flags & LM_VIEW && n_inputs(w, l)) || b->passes;

        for (size_t i = 0; i < n_inputs(w, l) && !b->idle; i++) {
            storage *s = &w->store[w->base[input_tensor(w, l, i)]];

            s->last_reader = l;
            s->here |= is_mine(w, l);
            s->kept |= keeps_as_is(w, l, i);
        }
        for (uint32_t o = 0; o < b->n_outputs; o++) {
            const size_t id = w->first[l] + o;

            w->base[id] = view && o == 0 ? w->base[input_tensor(w, l, 0)] : id;
            if (w->base[id] == id) /* a learned table's output is its weights */
                w->store[id] = (storage){
                    .owner       = l,
                    .bytes       = b->idle || (is_source(w, l) && b->n_weights + b->n_shared)
                                       ? 0
                                       : lm_bytes(output_of(w, l, o)),
                    .resident    = is_source(w, l),
                    .here        = is_mine(w, l) && !is_source(w, l),
                    .last_reader = l,
                };
            w->store[w->base[id]].kept |= keeps_output(w, l);
        }
    }
}

/* Is it elementwise, with a backward pass that does not read the input? Then it may overwrite the
 * input. */
static bool is_elementwise(const bound_layer *b)
{
    for (size_t i = 0; i < b->n_kernels[LM_FORWARD]; i++)
        if (b->kernels[LM_FORWARD][i].op != LM_OP_MAP)
            return false;
    return b->n_kernels[LM_FORWARD] && b->n_outputs == 1 && !lm_keeps_input(b->cost.keeps, 0);
}

/* May layer l write its output over its first input? `s` is that input's storage. */
static bool overwrites(const walk *w, size_t l, const storage *s)
{
    return is_elementwise(plain(w, l)) && !casts_input(w, l, 0) && !s->resident && !s->kept &&
           s->last_reader == l && w->t.segment[s->owner] == w->t.segment[l] &&
           s->bytes == lm_bytes(output_of(w, l, 0));
}

static lm_status share_overwritten(walk *w)
{
    size_t *root = arena_array(w->arena, w->n_tensors + 1, sizeof *root);

    if (!root)
        return no_memory(w->err);
    for (size_t l = 0; l < w->n_layers; l++)
        for (uint32_t o = 0; o < plain(w, l)->n_outputs; o++) {
            const size_t id = w->first[l] + o;
            const size_t in = n_inputs(w, l) ? w->base[input_tensor(w, l, 0)] : id;

            if (w->base[id] != id)
                root[id] = root[w->base[id]];
            else
                root[id] = in != id && overwrites(w, l, &w->store[in]) ? root[in] : id;
        }
    w->base = root;
    return LM_OK;
}

/* Extends the life of tensor `id` to its uses in the passes of layer l of this rank. Within a segment the first
 * forward pass drops the tensor, and the second one computes it again. */
static void live_for(walk *w, size_t l, size_t id, bool kept)
{
    storage     *s      = &w->store[w->base[id]];
    const size_t mine   = w->t.segment[l];
    const bool   inside = mine != NEVER && mine == w->t.segment[s->owner];
    size_t      *later  = inside ? &s->again_dies : &s->first_dies;

    extend(&s->first_dies, w->t.forward[l]);
    if (mine != NEVER)
        extend(later, w->t.again[l]);
    if (kept)
        extend(later, w->t.backward[l]);
}

static void hold_activations(walk *w)
{
    for (size_t l = 0; l < w->n_layers; l++) {
        for (size_t i = 0; i < n_inputs(w, l) && is_mine(w, l); i++)
            live_for(w, l, input_tensor(w, l, i), keeps_as_is(w, l, i));
        for (uint32_t o = 0; o < plain(w, l)->n_outputs && is_mine(w, l); o++)
            live_for(w, l, w->first[l] + o, keeps_output(w, l));
        if (!w->used[l]) /* the result */
            extend(&w->store[w->base[w->first[l]]].first_dies,
                   runs_backward(w, l) ? w->t.backward[l] : w->t.turn);
    }
    for (size_t id = 0; id < w->n_tensors; id++) {
        const storage *s = &w->store[id];

        if (w->base[id] != id || (w->stage && !s->here))
            continue;
        if (s->resident) {
            hold(w, MEMORY_INPUTS, 0, last_event(w), s->bytes);
            continue;
        }
        hold(w, MEMORY_ACTIVATIONS, w->t.forward[s->owner], s->first_dies, s->bytes);
        if (w->t.again[s->owner] != NEVER)
            hold(w, MEMORY_ACTIVATIONS, w->t.again[s->owner], s->again_dies, s->bytes);
        if (s->first_dies >= w->t.turn)
            w->layer[s->owner].kept = lm_add(w->layer[s->owner].kept, s->bytes);
    }
}

/* Further memory of a layer: live in each of its passes, or from its last forward pass to its
 * backward pass. */
static void hold_beside(walk *w, memory_part part, size_t l, bool kept, uint64_t bytes)
{
    const size_t again = w->t.again[l], backward = w->t.backward[l];
    const size_t born = again != NEVER ? again : w->t.forward[l];

    if (!bytes)
        return;
    if (again != NEVER)
        hold(w, part, w->t.forward[l], w->t.forward[l], bytes);
    hold(w, part, born, kept && runs_backward(w, l) ? backward : born, bytes);
}

/* Bytes that a layer saves. With f32 master weights, losses of 16-bit networks read their scores in
 * f32: Megatron-LM's vocab_parallel_cross_entropy, transformers' ForCausalLMLoss. */
static uint64_t saved_bytes(const walk *w, size_t l)
{
    const bound_layer *b     = plain(w, l);
    const uint64_t     bytes = working(w, l)->cost.saved_bytes;
    const uint64_t     each  = b->n_inputs ? lm_dtype_bytes(b->input[0].dtype) : 4;

    /* Ulysses: attention keeps the output of its heads, the next layer that of its tokens */
    if (b->context && w->full->options.shard.ulysses && keeps_output(w, l))
        return lm_add(bytes, lm_bytes(output_of(w, l, 0)));
    return w->o->masters && each < 4 && !strcmp(b->decl->type, "cross_entropy")
               ? lm_mul(bytes, 4 / each)
               : bytes;
}

/* Batches or micro-batches, each in one chunk, that the rank works at. */
static uint64_t in_flight(const walk *w)
{
    const uint64_t chunks = w->o->stage.chunks > 1 ? (uint64_t)w->o->stage.chunks : 1;

    return w->o->shares.in_flight > 0 ? (uint64_t)w->o->shares.in_flight : chunks;
}

static void hold_saved(walk *w, size_t l)
{
    const lm_cost *c = &working(w, l)->cost;
    uint64_t       saved;

    if (!is_mine(w, l))
        return;
    saved = saved_bytes(w, l);
    if (w->full->options.evaluation) /* each batch in flight has its own keys and values */
        hold(w, MEMORY_CACHE, 0, last_event(w), lm_mul(c->cached_bytes, in_flight(w)));
    else
        hold_beside(w, MEMORY_SAVED, l, true, saved);
    if (runs_backward(w, l) && w->t.again[l] == NEVER)
        w->layer[l].saved = saved;
    hold_beside(w, MEMORY_WORKSPACE, l, false, c->workspace_bytes);
    if (runs_backward(w, l))
        hold(w, MEMORY_WORKSPACE, w->t.backward[l], w->t.backward[l], c->workspace_bytes);
    for (size_t i = 0; i < n_inputs(w, l) && !plain(w, l)->idle; i++)
        if (casts_input(w, l, i)) {
            const uint64_t bytes = lm_bytes(&working(w, l)->input[i]);
            const bool     kept  = keeps_input(w, l, i) && !keeps_copies(w, l);

            hold_beside(w, MEMORY_ACTIVATIONS, l, kept, bytes);
            if (kept && w->t.again[l] == NEVER)
                w->layer[l].kept = lm_add(w->layer[l].kept, bytes);
        }
}

/* Number of elements of the factors that are not weights, over all products with weights in one
 * pass of a layer. *most: the largest of one product. */
static uint64_t factors(const walk *w, size_t l, lm_pass pass, uint64_t *most)
{
    const bound_layer *half = &w->half->layer[l];
    uint64_t           all  = 0;

    *most = 0;
    for (size_t i = 0; i < half->n_kernels[pass]; i++) {
        const lm_kernel *k = &half->kernels[pass][i];
        const uint64_t   n = lm_mul((uint64_t)k->u.gemm.k, (uint64_t)k->u.gemm.m);

        if (!fp8_is_weighed(k))
            continue;
        *most = n > *most ? n : *most;
        all   = lm_add(all, n);
    }
    return all;
}

/* Holds copies in FP8, one byte per element. Activations: one for the product, and a transposed
 * one, kept for the weight gradient. Gradients: two while the layer runs. */
static void hold_fp8(walk *w, size_t l)
{
    const bool inputs  = w->half && w->half->layer[l].n_kernels[LM_GRAD_INPUT] > 0;
    const bool trained = w->half && w->half->layer[l].n_kernels[LM_GRAD_WEIGHT] > 0;
    uint64_t   all, most;

    if (!w->fp8[l] || !is_mine(w, l))
        return;
    all = factors(w, l, LM_FORWARD, &most);
    hold_beside(w, MEMORY_ACTIVATIONS, l, false, most);
    if (trained && runs_backward(w, l))
        hold_beside(w, MEMORY_ACTIVATIONS, l, true, all);
    if (trained && runs_backward(w, l) && w->t.again[l] == NEVER)
        w->layer[l].kept = lm_add(w->layer[l].kept, all);
    (void)factors(w, l, inputs ? LM_GRAD_INPUT : LM_GRAD_WEIGHT, &most);
    if (runs_backward(w, l))
        hold(w, MEMORY_BACKWARD, w->t.backward[l], w->t.backward[l],
             lm_mul(inputs && trained ? 2 : 1, most));
}

/* ---- tokens of other ranks ---- */

/* The first (or last) layer of this rank that gathers the tensor which input i of layer l is. */
static size_t gatherer(const walk *w, size_t l, size_t i, bool first)
{
    const size_t id = input_tensor(w, l, i), end = w->store[w->base[id]].last_reader;
    size_t       found = l;

    for (size_t k = plain(w, l)->decl->input[i].layer + 1; k <= end && k < w->n_layers; k++)
        for (size_t n = 0; n < n_inputs(w, k); n++)
            if (input_tensor(w, k, n) == id && is_mine(w, k) && gathers(w, k, n)) {
                if (first)
                    return k;
                found = k;
            }
    return found;
}

/* Holds a whole input while the layers run that gather it, and in their backward passes, with its
 * whole gradient until that is scattered: Korthikanti et al. 2022, section 4.2.2. */
static void hold_whole_input(walk *w, size_t l, size_t i)
{
    const uint64_t bytes = lm_bytes(&working(w, l)->input[i]);
    const size_t   last  = gatherer(w, l, i, false);
    const size_t   begin = w->t.backward[runs_backward(w, last) ? last : l];
    const bool     kept  = w->o->keep_gathered && keeps_input(w, l, i);

    if (kept) {
        hold_beside(w, MEMORY_ACTIVATIONS, l, true, bytes);
        if (w->t.again[l] == NEVER)
            w->layer[l].kept = lm_add(w->layer[l].kept, bytes);
    } else {
        hold(w, MEMORY_WORKSPACE, w->t.forward[l], w->t.forward[last], bytes);
        if (w->t.again[l] != NEVER)
            hold(w, MEMORY_WORKSPACE, w->t.again[l], w->t.again[last], bytes);
    }
    if (!runs_backward(w, l))
        return;
    if (!kept && keeps_input(w, l, i))
        hold(w, MEMORY_WORKSPACE, begin, w->t.backward[l], bytes);
    if (wants_gradient(w, l, i))
        hold(w, MEMORY_WORKSPACE, begin, w->t.backward[l], bytes);
}

static void hold_whole_inputs(walk *w)
{
    for (size_t l = 0; l < w->n_layers; l++)
        for (size_t i = 0; i < n_inputs(w, l); i++)
            if (is_mine(w, l) && gathers(w, l, i) && gatherer(w, l, i, true) == l)
                hold_whole_input(w, l, i);
}

/* ---- gradients of activations ---- */

static size_t new_gradient(walk *w, size_t event, uint64_t bytes)
{
    const bool here = is_mine(w, w->t.event[event].layer);

    w->gradient[w->n_gradients] = (gradient){ event, event, bytes, false, here };
    return w->n_gradients++;
}

/* The gradient of a tensor with several readers is a sum. The sum replaces one of its summands, if
 * no other layer reads that one. */
static void add_gradient(walk *w, size_t id, size_t sent, size_t event)
{
    const size_t before = w->grad[id];

    extend(&w->gradient[sent].dies, event);
    if (before == NEVER) {
        w->grad[id] = sent;
        return;
    }
    extend(&w->gradient[before].dies, event);
    if (!w->gradient[sent].shared)
        w->grad[id] = sent;
    else if (w->gradient[before].shared)
        w->grad[id] = new_gradient(w, event, w->gradient[sent].bytes);
}

/* Does the layer pass on its output's gradient unchanged, as sums and views do? */
static bool hands_on(const bound_layer *b)
{
    const lm_work *work = &b->cost.pass[LM_GRAD_INPUT];

    return !work->flops && !work->read_bytes && !work->written_bytes;
}

/* Is the gradient of an input in place of it since the forward pass? So fused losses do: they keep
 * their scores' storage, and their backward pass does nothing. */
static bool is_written_over(const walk *w, size_t l, size_t i)
{
    return hands_on(plain(w, l)) && keeps_as_is(w, l, i);
}

static void send_gradients(walk *w, size_t l)
{
    const size_t event = w->t.backward[l], mine = w->grad[w->first[l]];
    size_t       n_receivers = 0;

    for (size_t i = 0; i < n_inputs(w, l); i++)
        n_receivers += wants_gradient(w, l, i);
    for (size_t i = 0; i < n_inputs(w, l); i++) {
        const uint64_t bytes = lm_bytes(input_of(w, l, i));
        size_t         sent;

        if (!wants_gradient(w, l, i))
            continue;
        if (mine != NEVER && hands_on(plain(w, l)) && w->gradient[mine].bytes == bytes) {
            sent = mine;
            w->gradient[sent].shared |= n_receivers > 1;
        } else {
            sent = new_gradient(w, event, bytes);
            w->gradient[sent].born += is_written_over(w, l, i); /* the input is held until then */
            if (casts_input(w, l, i) && is_mine(w, l)) /* first in the type the layer computes in */
                hold(w, MEMORY_BACKWARD, event, event, lm_bytes(&working(w, l)->input[i]));
        }
        add_gradient(w, input_tensor(w, l, i), sent, event);
    }
}

static void hold_gradients(walk *w)
{
    for (size_t l = w->n_layers; l-- > 0;) {
        const size_t event = w->t.backward[l];

        if (event == NEVER)
            continue;
        if (!w->used[l] && lm_dtype_is_real(output_of(w, l, 0)->dtype))
            w->grad[w->first[l]] = new_gradient(w, event, lm_bytes(output_of(w, l, 0)));
        for (uint32_t o = 0; o < plain(w, l)->n_outputs; o++) {
            const size_t mine = w->grad[w->first[l] + o];

            /* a learned table's gradient becomes the weight's own */
            if (mine != NEVER)
                extend(&w->gradient[mine].dies,
                       is_source(w, l) && hands_on(plain(w, l)) ? event - 1 : event);
        }
        send_gradients(w, l);
    }
    for (size_t i = 0; i < w->n_gradients; i++)
        if (w->gradient[i].here)
            hold(w, MEMORY_BACKWARD, w->gradient[i].born, w->gradient[i].dies,
                 w->gradient[i].bytes);
}

lm_status hold_tensors(walk *w)
{
    lm_status status;

    if (w->half)
        autocast_halves(w->full, w->is_half);
    for (size_t l = 0; l < w->n_layers && w->full->options.mixed == LM_F8; l++)
        w->fp8[l] = autocast_fp8(w->full, w->half, l);
    lay_out(w);
    if (w->o->inplace && (status = share_overwritten(w)))
        return status;
    for (size_t id = 0; id < w->n_tensors; id++) {
        storage *s = &w->store[id];

        s->first_dies = w->t.forward[s->owner];
        s->again_dies = w->t.again[s->owner];
    }
    hold_activations(w);
    for (size_t l = 0; l < w->n_layers; l++) {
        hold_saved(w, l);
        hold_fp8(w, l);
    }
    hold_whole_inputs(w);
    hold_gradients(w);
    return LM_OK;
}

/* ---- other micro-batches ---- */

/* Does an event belong to the last chunk of a pipeline? Its backward pass follows its forward pass
 * at once, so its last layer frees memory at the turn. */
static bool of_last_chunk(const walk *w, size_t event)
{
    const memory_stage *s = &w->o->stage;

    return s->chunks > 1 && w->stage &&
           (w->t.event[event].pass != TIMELINE_FORWARD ||
            w->stage[w->t.event[event].layer] == s->ranks * s->chunks - 1);
}

void hold_in_flight(walk *w)
{
    static const memory_part kept[] = { MEMORY_ACTIVATIONS, MEMORY_SAVED };
    const uint64_t           chunks = w->o->stage.chunks > 1 ? (uint64_t)w->o->stage.chunks : 1;
    const uint64_t           flight = in_flight(w);

    if (w->full->options.evaluation) /* nothing is kept for a backward pass */
        return;
    for (size_t k = 0; k < sizeof kept / sizeof *kept && flight > chunks; k++) {
        uint64_t now = 0, last = 0;
        bool     ends;

        for (size_t e = 0; e <= w->t.turn; e++) {
            now += w->live[kept[k]][e];
            last += of_last_chunk(w, e) ? w->live[kept[k]][e] : 0;
        }
        /* the last chunk holds one micro-batch, the chunks before it hold the others */
        ends = last > 0 && last <= now; /* frees are subtracted: a negative sum wraps */
        hold(w, kept[k], 0, last_event(w),
             lm_mul(ends ? now - last : now, flight - chunks) / (ends ? chunks - 1 : chunks));
    }
}
