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
    size_t        layer; /**< none for TURN and UPDATE */
} timeline_event;

/**
 * Events by place and, for each layer, the place of its own.
 *
 * A segment is a group of layers without kept activations. The backward pass first recomputes the
 * forward pass of the whole segment (Chen et al. 2016, "Training deep nets with sublinear
 * memory cost", section 4).
 */
typedef struct timeline {
    const timeline_event *event;
    size_t                n_events;
    size_t                turn, update;
    const size_t *forward, *again, *backward; /**< TIMELINE_NEVER where it does not happen */
    const size_t *segment;                    /**< by layer; TIMELINE_NEVER: kept as usual */
} timeline;

/**
 * Of a network bound for evaluation there is no backward pass and no update.
 *
 * @param recompute    NULL, or segments: "blocks" (each use of a block at the top of the network's
 *                     file) or "full", "selective" (cores of attention), or layers by name with those under them, separated
 *                    by commas
 * @param arena        owns what *out points to
 * @return LM_E_NOTFOUND for a name nobody has or "blocks" where there are none, LM_E_ARG for
 * segments that overlap or are interrupted
 */
lm_status timeline_make(const bound_network *net, const char *recompute, arena *a, timeline *out,
                        lm_error *err);

#endif
