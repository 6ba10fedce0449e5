/* Memory that a training step needs on one device: every tensor's life over the passes of a step.
 */
#include "network/memory.h"

#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "network/autocast.h"

#define NEVER TIMELINE_NEVER

/* Memory behind one or more tensors: views, and what is overwritten, share it. */
typedef struct storage {
    size_t   owner; /* layer */
    uint64_t bytes;
    bool     resident;                      /* there all the step: data, constants, weights */
    size_t   last_reader;                   /* layer, by order of forward */
    bool     kept;                          /* by some layer other than who overwrites it */
    size_t   first_dies, again, again_dies; /* events; `again` NEVER: not computed twice */
} storage;

/* Gradient of an activation; several tensors may share it. */
typedef struct gradient {
    size_t   born, dies; /* events */
    uint64_t bytes;
    bool     shared;
} gradient;

/* What users of a weight tensor have done with it. */
typedef struct weight_life {
    bool     has_gradient;
    size_t   copied, copy_dies; /* autocast's copy; NEVER: none */
    uint64_t copy_bytes;
} weight_life;

typedef struct walk {
    const bound_network  *full, *half; /* half: bound in 16 bit; NULL without mixed precision */
    const memory_options *o;
    timeline              t;
    arena                *arena;
    lm_error             *err;
    bool                 *is_half; /* by layer: its outputs are 16 bit */
    bool                 *used;    /* by layer: another reads what it makes */
    size_t               *first;   /* by layer: the number of its first output among all tensors */
    size_t               *base;    /* by tensor: the tensor whose storage it has */
    storage              *store;   /* by tensor, where base[i] == i */
    size_t               *grad;    /* by tensor: index of its gradient; NEVER: none yet */
    gradient             *gradient;
    size_t               *first_weight; /* by layer: the number of its first own weight */
    weight_life          *weight;
    size_t                n_layers, n_tensors, n_gradients, n_weights;
    uint64_t             *live[MEMORY_N_PARTS]; /* changes at each event */
    uint64_t              ever;                 /* all bytes of all lives: no sum is greater */
    memory_of_layer      *layer;
} walk;

static lm_status no_memory(lm_error *err)
{
    return lm_error_set(err, LM_E_NOMEM, "out of memory");
}

/* The first and the last event included. Differences may wrap; what they add up to does not. */
static void hold(walk *w, memory_part part, size_t born, size_t dies, uint64_t bytes)
{
    w->ever = lm_add(w->ever, bytes);
    w->live[part][born] += bytes;
    w->live[part][dies + 1] -= bytes;
}

static size_t last_event(const walk *w)
{
    return w->t.n_events - 1;
}

static void extend(size_t *dies, size_t event)
{
    if (*dies == NEVER || *dies < event)
        *dies = event;
}

/* ---- what the layers are ------------------------------------------------------------------------
 */

/* The layer in single precision: names, shapes, what follows what. */
static const bound_layer *plain(const walk *w, size_t l)
{
    return &w->full->layer[l];
}

/* A layer's output as it is in memory. */
static const lm_tensor *output_of(const walk *w, size_t l, uint32_t output)
{
    return &(w->is_half[l] ? w->half : w->full)->layer[l].output[output];
}

/* What feeds input i, by number; its layer is decl->input[i].layer. */
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

static size_t n_inputs(const walk *w, size_t l)
{
    return plain(w, l)->decl->n_inputs; /* a source's batch is no input */
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

/* Autocast makes a copy of this input in the layer's own element type. */
static bool casts_input(const walk *w, size_t l, size_t i)
{
    return w->half && autocast_rule_of(plain(w, l)) != AUTOCAST_WIDEST &&
           working(w, l)->input[i].dtype != input_of(w, l, i)->dtype;
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

/* An output's element type: 16 bit where autocast lowers the layer, or where all it takes is. */
static void choose_types(walk *w)
{
    for (size_t l = 0; w->half && l < w->n_layers; l++) {
        const autocast_rule rule = autocast_rule_of(plain(w, l));
        bool                full = false, any = false;

        for (size_t i = 0; i < n_inputs(w, l); i++)
            if (timeline_has_gradient(plain(w, l)->input[i].dtype)) {
                any = true;
                full |= !w->is_half[plain(w, l)->decl->input[i].layer];
            }
        w->is_half[l] = rule == AUTOCAST_LOWER || (rule == AUTOCAST_WIDEST && any && !full);
    }
}

/* ---- storage ------------------------------------------------------------------------------------
 */

static void lay_out(walk *w)
{
    for (size_t l = 0; l < w->n_layers; l++) {
        const bound_layer *b    = plain(w, l);
        const bool         view = b->entry->type.flags & LM_VIEW && n_inputs(w, l);

        for (size_t i = 0; i < n_inputs(w, l); i++) {
            storage *s = &w->store[w->base[input_tensor(w, l, i)]];

            s->last_reader = l;
            s->kept |= keeps_input(w, l, i) && !casts_input(w, l, i);
        }
        for (uint32_t o = 0; o < b->n_outputs; o++) {
            const size_t id = w->first[l] + o;

            w->base[id] = view && o == 0 ? w->base[input_tensor(w, l, 0)] : id;
            if (w->base[id] == id) /* a learned table is its weights, which are counted there */
                w->store[id] = (storage){
                    .owner       = l,
                    .bytes       = is_source(w, l) && b->n_weights + b->n_shared
                                       ? 0
                                       : lm_bytes(output_of(w, l, o)),
                    .resident    = is_source(w, l),
                    .last_reader = l,
                };
            w->store[w->base[id]].kept |= keeps_output(w, l);
        }
    }
}

/* Works element by element and backward does not read its input: it may write over it. */
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

/* Extends the life of tensor `id` to what layer l does with it in its passes. Within a segment the
 * first forward pass lets go of it and the second makes it anew. */
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
        for (size_t i = 0; i < n_inputs(w, l); i++)
            live_for(w, l, input_tensor(w, l, i), keeps_input(w, l, i) && !casts_input(w, l, i));
        for (uint32_t o = 0; o < plain(w, l)->n_outputs; o++)
            live_for(w, l, w->first[l] + o, keeps_output(w, l));
        if (!w->used[l]) /* the result */
            extend(&w->store[w->base[w->first[l]]].first_dies,
                   runs_backward(w, l) ? w->t.backward[l] : w->t.turn);
    }
    for (size_t id = 0; id < w->n_tensors; id++) {
        const storage *s = &w->store[id];

        if (w->base[id] != id)
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

/* What a layer has beside its tensors: in each of its passes, or from its last forward pass until
 * its backward. */
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

static void hold_saved(walk *w, size_t l)
{
    const lm_cost *c = &working(w, l)->cost;

    if (!w->o->forward_only)
        hold_beside(w, MEMORY_SAVED, l, true, c->saved_bytes);
    if (runs_backward(w, l) && w->t.again[l] == NEVER)
        w->layer[l].saved = c->saved_bytes;
    hold_beside(w, MEMORY_WORKSPACE, l, false, c->workspace_bytes);
    if (runs_backward(w, l))
        hold(w, MEMORY_WORKSPACE, w->t.backward[l], w->t.backward[l], c->workspace_bytes);
    for (size_t i = 0; i < n_inputs(w, l); i++)
        if (casts_input(w, l, i)) {
            const uint64_t bytes = lm_bytes(&working(w, l)->input[i]);
            const bool     kept  = keeps_input(w, l, i);

            hold_beside(w, MEMORY_ACTIVATIONS, l, kept, bytes);
            if (kept && w->t.again[l] == NEVER)
                w->layer[l].kept = lm_add(w->layer[l].kept, bytes);
        }
}

/* ---- gradients of activations -------------------------------------------------------------------
 */

static size_t new_gradient(walk *w, size_t event, uint64_t bytes)
{
    w->gradient[w->n_gradients] = (gradient){ event, event, bytes, false };
    return w->n_gradients++;
}

/* A tensor that several layers read gets the sum of what they send it. The sum takes the place of
 * one that nobody else looks at, if there is one. */
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

static bool wants_gradient(const walk *w, size_t l, size_t i)
{
    return runs_backward(w, plain(w, l)->decl->input[i].layer) &&
           timeline_has_gradient(input_of(w, l, i)->dtype);
}

/* Sums and views pass on the very gradient they get. */
static bool hands_on(const bound_layer *b)
{
    const lm_work *work = &b->cost.pass[LM_GRAD_INPUT];

    return !work->flops && !work->read_bytes && !work->written_bytes;
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
            if (casts_input(w, l, i)) /* first in the type the layer computes in */
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
        if (!w->used[l] && timeline_has_gradient(output_of(w, l, 0)->dtype))
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
        hold(w, MEMORY_BACKWARD, w->gradient[i].born, w->gradient[i].dies, w->gradient[i].bytes);
}

/* ---- weights ------------------------------------------------------------------------------------
 */

/* Tensor i of a layer's weights by number: its owner's, where it is shared. */
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

/* What is there all the step, once for each tensor. */
static void hold_own_weights(walk *w, size_t l)
{
    const memory_options *o     = w->o;
    const bound_layer    *b     = plain(w, l);
    const bool            train = !o->forward_only;

    for (size_t i = 0; i < b->n_weights; i++) {
        const lm_weight *weight = &b->weights[i];
        const uint64_t   bytes  = lm_bytes(&weight->tensor);
        const bool       frozen = weight->flags & LM_FROZEN;

        w->layer[l].weights = lm_add(w->layer[l].weights, bytes);
        hold(w, frozen ? MEMORY_FROZEN : MEMORY_WEIGHTS, 0, last_event(w), bytes);
        if (train && !frozen)
            hold(w, MEMORY_OPTIMIZER, 0, last_event(w),
                 optimizer_state_bytes(o->optimizer, &weight->tensor));
        if (train && !frozen && o->nodes > 1 && o->buckets == BUCKETS_COPY)
            hold(w, MEMORY_BUCKETS, 0, last_event(w), bytes);
    }
}

/* The gradient of a shared tensor is the sum of what each user sends it, one after the other. */
static void hold_weight_gradients(walk *w, size_t l)
{
    const bool resident =
        w->o->keep_gradients || (w->o->nodes > 1 && w->o->buckets == BUCKETS_VIEW);
    const size_t       event = w->t.backward[l];
    const bound_layer *b     = plain(w, l);

    for (size_t i = 0; i < b->n_weights + b->n_shared && event != NEVER; i++) {
        const uint64_t bytes = lm_bytes(&b->weights[i].tensor);
        bool          *begun = &w->weight[weight_number(w, l, i)].has_gradient;

        if (b->weights[i].flags & LM_FROZEN)
            continue;
        if (*begun)
            hold(w, MEMORY_GRADIENTS, event, event, bytes);
        else
            hold(w, MEMORY_GRADIENTS, resident ? 0 : event, w->t.update, bytes);
        *begun = true;
    }
}

/* Autocast's copy of a weight lives from its first use to the end of forward, and to its layer's
 * backward, whose gradient is 16 bit at first. */
static void hold_copies(walk *w, size_t l)
{
    const size_t       again = w->t.again[l], backward = w->t.backward[l];
    const bound_layer *b = plain(w, l);

    if (!w->half || autocast_rule_of(b) != AUTOCAST_LOWER)
        return;
    for (size_t i = 0; i < b->n_weights + b->n_shared; i++) {
        const uint64_t bytes = lm_bytes(&w->half->layer[l].weights[i].tensor);
        weight_life   *life  = &w->weight[weight_number(w, l, i)];

        if (life->copied == NEVER || life->copied > w->t.forward[l])
            life->copied = w->t.forward[l];
        life->copy_bytes = bytes;
        extend(&life->copy_dies, again == NEVER && backward != NEVER ? backward : w->t.turn);
        if (backward != NEVER)
            hold(w, MEMORY_COPIES, backward, backward, bytes);
        if (again != NEVER && backward != NEVER)
            hold(w, MEMORY_COPIES, again, backward, bytes);
    }
}

static void hold_weights(walk *w)
{
    for (size_t l = w->n_layers; l-- > 0;) {
        hold_own_weights(w, l);
        hold_weight_gradients(w, l);
        hold_copies(w, l);
    }
    for (size_t i = 0; i < w->n_weights; i++)
        if (w->weight[i].copied != NEVER)
            hold(w, MEMORY_COPIES, w->weight[i].copied, w->weight[i].copy_dies,
                 w->weight[i].copy_bytes);
    if (w->o->nodes > 1 && w->o->buckets == BUCKETS_FIXED && !w->o->forward_only)
        hold(w, MEMORY_BUCKETS, 0, last_event(w), w->o->bucket_bytes);
}

/* ---- the peak -----------------------------------------------------------------------------------
 */

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

static lm_status take_step(walk *w, memory_use *out)
{
    lm_status status;

    choose_types(w);
    lay_out(w);
    if (w->o->inplace && (status = share_overwritten(w)))
        return status;
    for (size_t id = 0; id < w->n_tensors; id++) {
        storage *s = &w->store[id];

        s->first_dies = w->t.forward[s->owner];
        s->again_dies = w->t.again[s->owner];
    }
    hold_activations(w);
    for (size_t l = 0; l < w->n_layers; l++)
        hold_saved(w, l);
    hold_gradients(w);
    hold_weights(w);
    hold(w, MEMORY_OVERHEAD, 0, last_event(w), w->o->overhead);
    if (w->ever == UINT64_MAX)
        return lm_error_set(w->err, LM_E_OVERFLOW, "%s: memory does not fit 64 bits",
                            w->full->net->path);
    find_peak(w, out);
    for (size_t l = 0; l < w->n_layers; l++)
        if (w->t.again[l] != NEVER)
            out->recompute_flops =
                lm_add(out->recompute_flops, plain(w, l)->cost.pass[LM_FORWARD].flops);
    return LM_OK;
}

/* Room for all that take_step() fills. */
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
    w->base     = arena_array(w->arena, w->n_tensors + 1, sizeof *w->base);
    w->store    = arena_array(w->arena, w->n_tensors + 1, sizeof *w->store);
    w->grad     = arena_array(w->arena, w->n_tensors + 1, sizeof *w->grad);
    w->gradient = arena_array(w->arena, 2 * n_edges + n + 1, sizeof *w->gradient);
    w->weight   = arena_array(w->arena, w->n_weights + 1, sizeof *w->weight);
    if (!w->is_half || !w->base || !w->store || !w->grad || !w->gradient || !w->weight)
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
    bind_options lower  = *b;
    lm_status    status = LM_OK;

    if (mixed && b->dtype != LM_F32)
        return lm_error_set(err, LM_E_ARG, "mixed precision: the weights are f32, not %s",
                            text_dtype_name(b->dtype));
    lower.dtype = mixed;
    status      = bind_network(net, reg, b, full, err);
    if (!status && mixed)
        status = bind_network(net, reg, &lower, half, err);
    return status;
}

lm_status memory_of_step(const network *net, const registry *reg, const bind_options *b,
                         const memory_options *o, memory_use *out, memory_of_layer *layer,
                         lm_error *err)
{
    bound_network *full = NULL, *half = NULL;
    memory_use     use = { 0 };
    walk           w   = { .o = o, .arena = arena_new(), .err = err };
    lm_status      status;

    status = w.arena ? bind_both(net, reg, b, o->mixed, &full, &half, err) : no_memory(err);
    if (status)
        goto out;
    w.full     = full;
    w.half     = half;
    w.n_layers = full->n_layers;
    w.layer    = arena_array(w.arena, w.n_layers + 1, sizeof *w.layer);
    status     = w.layer ? timeline_make(full, o->forward_only, o->recompute, w.arena, &w.t, err)
                         : no_memory(err);
    if (!status)
        status = walk_open(&w);
    if (!status)
        status = take_step(&w, &use);
    if (status)
        goto out;
    *out = use;
    for (size_t l = 0; layer && l < w.n_layers; l++)
        layer[l] = w.layer[l];
out:
    bound_network_free(full);
    bound_network_free(half);
    arena_free(w.arena);
    return status;
}

lm_status memory_largest_batch(const network *net, const registry *reg, const bind_options *b,
                               const memory_options *o, uint64_t room, int64_t *batch,
                               lm_error *err)
{
    bind_options at   = *b;
    int64_t      fits = 0, fails = 0; /* fails 0: not met yet */

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
