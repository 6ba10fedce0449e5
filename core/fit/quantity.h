/** What is asked of a model, and compared with measurements: parts of a step, and the whole. */
#ifndef FIT_QUANTITY_H
#define FIT_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fit/interval.h"

typedef enum quantity {
    QUANTITY_FORWARD,
    QUANTITY_BACKWARD,
    QUANTITY_UPDATE,        /**< optimizer */
    QUANTITY_SYNC,          /**< all-reduce of the gradients, or one by itself */
    QUANTITY_GRAD,          /**< sync and update; on one node the update */
    QUANTITY_BACKWARD_GRAD, /**< backward and grad; the joint fit where a model has one and N > 1 */
    QUANTITY_STEP,          /**< forward, backward and grad; as a whole where they are not known */
    QUANTITY_INFERENCE,     /**< forward pass when nothing is trained: no part of a step */
    QUANTITY_GRAD_INPUT,
    QUANTITY_GRAD_WEIGHT, /**< halves of a single layer's backward pass */
    QUANTITY_EXPOSED,     /**< of all-reduces in buckets, what is left behind the backward pass */
    QUANTITY_OVERLAPPED,  /**< a step that hides its all-reduces in buckets */
    N_QUANTITIES
} quantity;

const char *quantity_name(quantity q);

/** Intervals of a model. Steps on several nodes have one of their own: all-reduces differ more.
 * QUANTITY_GRAD's is of several nodes, too. */
typedef enum { INTERVAL_STEP_MANY = N_QUANTITIES, N_INTERVALS } interval_slot;

typedef struct intervals {
    interval of[N_INTERVALS]; /**< by quantity, or INTERVAL_STEP_MANY */
} intervals;

/** Which of them is about a quantity on one or on several nodes. */
size_t interval_slot_of(quantity q, bool many);
/** As in machine files: "forward", "step", "step_many". */
const char *interval_slot_name(size_t slot);

/** How far a batch, or a number of ranks, lies outside of what each interval was measured with:
 * what many points share. */
typedef struct interval_reach {
    widening of[N_INTERVALS];
} interval_reach;

/** Of SCOPE_BATCH or SCOPE_NODES. */
void intervals_reach(const intervals *all, scope s, int64_t value, interval_reach *out);

/** Where a prediction lies. A reach may be NULL: nobody has asked. */
typedef struct interval_place {
    int64_t               batch, ranks; /**< batch 0: of none */
    const interval_reach *of_batch, *of_ranks;
} interval_place;

/**
 * Bounds of a predicted time. Where its own interval is unknown, those of its parts added up: a
 * step of forward, backward, all-reduce and update.
 *
 * @param seconds predicted, of each quantity there is at this point
 */
void intervals_at(const intervals *all, quantity q, const double seconds[N_QUANTITIES],
                  const interval_place *place, double *low, double *high);

/** The same of a step and all of its parts; of other quantities NAN. */
void intervals_of_step(const intervals *all, const double seconds[N_QUANTITIES],
                       const interval_place *place, double low[N_QUANTITIES],
                       double high[N_QUANTITIES]);

#endif
