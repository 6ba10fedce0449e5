/* Memory of a training step on one device: weights, and all live tensors at the peak. */
#include "network/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "network/memory/walk.h"
#include "network/stages.h"

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

lm_status memory_bind(const network *net, const registry *reg, const bind_options *b,
                      lm_dtype mixed, memory_binding *out, lm_error *err)
{
    bind_options single = *b, lower = *b;
    lm_status    status;

    *out         = (memory_binding){ .net = net };
    single.mixed = mixed ? mixed : b->mixed;
    if (single.mixed && (status = autocast_check(&single, err)))
        return status;
    mixed         = single.mixed;
    lower.dtype   = autocast_half(mixed);
    lower.checked = true; /* by the binding in f32 */
    single.mixed = lower.mixed = 0;
    status                     = bind_network(net, reg, &single, &out->full, err);
    if (!status && mixed)
        status = bind_network(net, reg, &lower, &out->half, err);
    if (status)
        memory_unbind(out);
    else
        out->full->options.mixed = mixed; /* the walk needs both types, not the joined network */
    return status;
}

void memory_unbind(memory_binding *b)
{
    bound_network_free(b->full);
    bound_network_free(b->half);
    *b = (memory_binding){ .net = NULL };
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

static lm_status follow(const memory_binding *of, const memory_options *o, memory_use *out,
                        const wanted *also, lm_error *err)
{
    const network *net = of->net;
    memory_use     use = { 0 };
    walk      w = { .o = o, .full = of->full, .half = of->half, .arena = arena_new(), .err = err };
    lm_status status;

    w.n_layers = w.full->n_layers;
    w.layer    = w.arena ? arena_array(w.arena, w.n_layers + 1, sizeof *w.layer) : NULL;
    status     = w.layer ? timeline_make(w.full, o->recompute, w.arena, &w.t, err) : no_memory(err);
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
        at              = layer_named(net, w.full->layer[l].decl->name, at);
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

lm_status memory_follow(const memory_binding *of, const memory_options *o, memory_use *out,
                        memory_of_layer *layer, lm_error *err)
{
    return follow(of, o, out, &(wanted){ .layer = layer }, err);
}

static lm_status bind_and_follow(const network *net, const registry *reg, const bind_options *b,
                                 const memory_options *o, memory_use *out, const wanted *also,
                                 lm_error *err)
{
    memory_binding bound;
    lm_status      status = memory_bind(net, reg, b, o->mixed, &bound, err);

    if (status)
        return status;
    status = follow(&bound, o, out, also, err);
    memory_unbind(&bound);
    return status;
}

lm_status memory_of_step(const network *net, const registry *reg, const bind_options *b,
                         const memory_options *o, memory_use *out, memory_of_layer *layer,
                         lm_error *err)
{
    return bind_and_follow(net, reg, b, o, out, &(wanted){ .layer = layer }, err);
}

lm_status memory_over_step(const network *net, const registry *reg, const bind_options *b,
                           const memory_options *o, memory_use *out, memory_moment **moment,
                           size_t *n, lm_error *err)
{
    return bind_and_follow(net, reg, b, o, out, &(wanted){ .moment = moment, .n_moments = n }, err);
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
