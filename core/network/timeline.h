/** The order of a training step: forward, backward in reverse order, update. */
#ifndef NETWORK_TIMELINE_H
#define NETWORK_TIMELINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "network/bind.h"

typedef enum timeline_pass {
    TIMELINE_FORWARD,
    TIMELINE_TURN, /**< no work; live memory is what the backward pass will read */
    TIMELINE_RECOMPUTE,
    TIMELINE_BACKWARD,
    TIMELINE_UPDATE
} timeline_pass;

/** "forward", "turn", ... */
const char *timeline_pass_name(timeline_pass pass);

#define TIMELINE_NEVER ((size_t)-1)

typedef struct timeline_event {
    timeline_pass pass;
    size_t        layer; /**< unused for TURN and UPDATE */
} timeline_event;

/**
 * Events in order and, for each layer, the positions of its own events.
 *
 * A segment is a group of layers whose activations are not kept. The backward pass first recomputes
 * the forward pass of the whole segment (Chen et al. 2016, "Training deep nets with sublinear
 * memory cost", section 4).
 */
typedef struct timeline {
    const timeline_event *event;
    size_t                n_events;
    size_t                turn, update;
    /** positions per layer; TIMELINE_NEVER: no such event */
    const size_t *forward, *again, *backward;
    const size_t *segment; /**< segment per layer; TIMELINE_NEVER: activations are kept */
} timeline;

/**
 * Makes the events of a step. A network bound for evaluation has no backward pass and no update.
 *
 * @param recompute NULL: none. Else segments, separated by commas: "blocks" (each use of a block at
 *                  the top of the network's file), "full", "selective" (cores of attention), or
 *                  names of layers, which include the layers below them
 * @param arena     owns what *out points to
 * @return LM_E_NOTFOUND for an unknown name, or "blocks" in a network without blocks; LM_E_ARG for
 *         segments that overlap or are interrupted
 */
lm_status timeline_make(const bound_network *net, const char *recompute, arena *a, timeline *out,
                        lm_error *err);

#endif
