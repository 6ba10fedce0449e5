/* The order of a training step. */
#include "network/timeline.h"

#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "network/metrics.h"

#define SEGMENTS_MAX 256 /* of a list of segments */

const char *timeline_pass_name(timeline_pass pass)
{
    static const char *const pass_names[] = {
        [TIMELINE_FORWARD] = "forward",     [TIMELINE_TURN] = "turn",
        [TIMELINE_RECOMPUTE] = "recompute", [TIMELINE_BACKWARD] = "backward",
        [TIMELINE_UPDATE] = "update",
    };

    return pass_names[pass];
}

static bool runs_backward(const bound_layer *l)
{
    bool real = false;

    for (uint32_t i = 0; i < l->n_outputs; i++)
        real |= lm_dtype_is_real(l->output[i].dtype);
    return real && (l->trained || l->needs_grad_input);
}

/* ---- segments ---- */

static lm_status segment_by_block(const bound_network *net, size_t *segment, lm_error *err)
{
    const char *before = NULL;
    size_t      n      = 0;

    for (size_t i = 0; i < net->n_layers; i++) {
        const char *block = net->layer[i].decl->block;

        if (block && (!before || strcmp(block, before)))
            n++;
        if (block)
            segment[i] = n - 1;
        before = block;
    }
    return n ? LM_OK
             : lm_error_set(err, LM_E_NOTFOUND,
                            "%s: recompute: the network has no blocks: name layers instead",
                            net->net->path);
}

static lm_status segment_by_name(const bound_network *net, const char *list, arena *a,
                                 size_t *segment, lm_error *err)
{
    char  *text = arena_text(a, list, strlen(list));
    char  *part[SEGMENTS_MAX];
    size_t n;

    if (!text)
        return no_memory(err);
    n = text_split(text, ',', part, SEGMENTS_MAX);
    for (size_t s = 0; s < n; s++) {
        size_t last = TIMELINE_NEVER;

        for (size_t i = 0; i < net->n_layers; i++) {
            const char *name = net->layer[i].decl->name;

            if (!metrics_in_block(name, part[s]))
                continue;
            if (segment[i] != TIMELINE_NEVER)
                return lm_error_set(err, LM_E_ARG,
                                    "recompute: layer '%s' lies in both '%s' and '%s'", name,
                                    part[segment[i]], part[s]);
            if (last != TIMELINE_NEVER && last + 1 != i)
                return lm_error_set(err, LM_E_ARG,
                                    "recompute: the layers of '%s' do not run one after the other: "
                                    "'%s' runs between them",
                                    part[s], net->layer[last + 1].decl->name);
            segment[i] = s;
            last       = i;
        }
        if (last == TIMELINE_NEVER)
            return lm_error_set(err, LM_E_NOTFOUND,
                                "%s: recompute: no layer '%s' and none under it", net->net->path,
                                part[s]);
    }
    return LM_OK;
}

/* The cores of attention, each by itself: Korthikanti et al. 2022, section 5. */
static lm_status segment_by_core(const bound_network *net, size_t *segment, lm_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < net->n_layers; i++)
        if (net->layer[i].decl->way == LM_HEADS && net->layer[i].n_inputs > 1 &&
            !net->layer[i].n_weights)
            segment[i] = n++;
    return n ? LM_OK
             : lm_error_set(err, LM_E_NOTFOUND,
                            "%s: recompute: the network has no attention that is a layer of its "
                            "own (split = heads): name layers instead",
                            net->net->path);
}

/* Drops segments without a backward pass. Segments are runs of equal numbers. */
static void drop_idle_segments(const bound_network *net, size_t *segment)
{
    size_t end;

    for (size_t from = 0; from < net->n_layers; from = end) {
        bool busy = false;

        for (end = from; end < net->n_layers && segment[end] == segment[from]; end++)
            busy |= runs_backward(&net->layer[end]);
        for (size_t i = from; i < end && !busy; i++)
            segment[i] = TIMELINE_NEVER;
    }
}

/* ---- events ---- */

/* Adds backward passes from event k on; each segment is recomputed before its last layer's pass.
 * Returns the number of events. */
static size_t add_backward(const bound_network *net, timeline_event *event, size_t k,
                           const size_t *segment, size_t *again, size_t *backward)
{
    for (size_t l = net->n_layers; l-- > 0;) {
        size_t first = l;

        if (segment[l] != TIMELINE_NEVER && again[l] == TIMELINE_NEVER) { /* its last layer */
            while (first > 0 && segment[first - 1] == segment[l])
                first--;
            for (size_t i = first; i <= l; i++) {
                again[i]   = k;
                event[k++] = (timeline_event){ TIMELINE_RECOMPUTE, i };
            }
        }
        if (runs_backward(&net->layer[l])) {
            backward[l] = k;
            event[k++]  = (timeline_event){ TIMELINE_BACKWARD, l };
        }
    }
    return k;
}

lm_status timeline_make(const bound_network *net, const char *recompute, arena *a, timeline *out,
                        lm_error *err)
{
    const bool      train = !net->options.evaluation;
    const size_t    n     = net->n_layers;
    timeline_event *event = arena_array(a, 3 * n + 2, sizeof *event);
    size_t         *place[4]; /* forward, recomputation, backward, segment */
    size_t          k = 0;
    timeline        t;
    lm_status       status = LM_OK;

    for (int i = 0; i < 4; i++) {
        place[i] = arena_array(a, n + 1, sizeof *place[i]);
        if (!place[i] || !event)
            return no_memory(err);
        for (size_t l = 0; l <= n; l++)
            place[i][l] = TIMELINE_NEVER;
    }
    if (recompute && train) {
        if (!strcmp(recompute, "selective"))
            status = segment_by_core(net, place[3], err);
        else if (!strcmp(recompute, "blocks") || !strcmp(recompute, "full"))
            status = segment_by_block(net, place[3], err);
        else
            status = segment_by_name(net, recompute, a, place[3], err);
        if (status)
            return status;
        drop_idle_segments(net, place[3]);
    }
    t = (timeline){ .event    = event,
                    .forward  = place[0],
                    .again    = place[1],
                    .backward = place[2],
                    .segment  = place[3] };
    for (size_t l = 0; l < n; l++) {
        place[0][l] = k;
        event[k++]  = (timeline_event){ TIMELINE_FORWARD, l };
    }
    t.turn     = k;
    event[k++] = (timeline_event){ TIMELINE_TURN, 0 };
    t.update   = t.turn;
    if (train) {
        k          = add_backward(net, event, k, place[3], place[1], place[2]);
        t.update   = k;
        event[k++] = (timeline_event){ TIMELINE_UPDATE, 0 };
    }
    t.n_events = k;
    *out       = t;
    return LM_OK;
}
