/* Memory of a training step on one device: weights, and all live tensors at the peak. */
#include "network/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "network/memory_walk.h"

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

/* Memory that lives for the whole step, once per tensor. */
static void hold_own_weights(walk *w, size_t l)
{
    const memory_options *o     = w->o;
    const bound_layer    *b     = plain(w, l);
    const bool            train = !w->full->options.evaluation;

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

/* The users of a shared tensor add to its gradient, one after the other. */
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

/* Autocast's copy of a weight lives from its first use to the end of the forward pass, or to the
 * layer's backward pass. That pass first makes a 16-bit gradient. */
static void hold_copies(walk *w, size_t l)
{
    const size_t       again = w->t.again[l], backward = w->t.backward[l];
    const bound_layer *b = plain(w, l);

    if (!w->half || b->idle || autocast_rule_of(b) != AUTOCAST_LOWER)
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

static lm_status take_step(walk *w, memory_use *out)
{
    lm_status status = hold_tensors(w);

    if (status)
        return status;
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

/* The layer of that name, which is there: a binding may be of the same network in another use. */
static size_t layer_named(const network *net, const char *name)
{
    size_t l = 0;

    while (strcmp(net->layer[l].name, name) != 0)
        l++;
    return l;
}

static lm_status follow_step(const network *net, const registry *reg, const bind_options *b,
                             const memory_options *o, memory_use *out, const wanted *also,
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
    out->layer = use.layer ? net->layer[layer_named(net, use.layer)].name : NULL;
    for (size_t l = 0; also->layer && l < net->n_layers; l++)
        also->layer[l] = (memory_of_layer){ 0 }; /* of auxiliary classifiers, in evaluation */
    for (size_t l = 0; also->layer && l < w.n_layers; l++)
        also->layer[layer_named(net, full->layer[l].decl->name)] = w.layer[l];
    if (also->moment) {
        *also->moment    = w.moment;
        *also->n_moments = w.t.n_events;
        w.moment         = NULL;
    }
out:
    free(w.moment);
    bound_network_free(full);
    bound_network_free(half);
    arena_free(w.arena);
    return status;
}

lm_status memory_of_step(const network *net, const registry *reg, const bind_options *b,
                         const memory_options *o, memory_use *out, memory_of_layer *layer,
                         lm_error *err)
{
    const wanted also = { .layer = layer };

    return follow_step(net, reg, b, o, out, &also, err);
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
