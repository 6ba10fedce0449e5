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

/**
 * Bounds of a predicted time. Where its own interval is unknown, those of its parts added up: a
 * step of forward, backward, all-reduce and update.
 *
 * @param seconds predicted, of each quantity there is at this point
 */
void intervals_at(const intervals *all, quantity q, const double seconds[N_QUANTITIES],
                  int64_t batch, int64_t nodes, double *low, double *high);

#endif
