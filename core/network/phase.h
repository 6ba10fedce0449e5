/** Times of a training step: those in rows of observations, and those composed of them. */
#ifndef NETWORK_PHASE_H
#define NETWORK_PHASE_H

#include <layermeter/error.h>

typedef enum phase {
    /* Times that a row of observations may hold. A single layer has all but PHASE_SYNC. */
    PHASE_FORWARD,
    PHASE_BACKWARD,
    PHASE_SYNC,      /**< all-reduce of the gradients */
    PHASE_UPDATE,    /**< optimizer */
    PHASE_STEP,      /**< forward, backward, sync and update */
    PHASE_INFERENCE, /**< forward pass in evaluation mode; no part of a step */
    PHASE_GRAD_INPUT,
    PHASE_GRAD_WEIGHT, /**< of a single layer: the two halves of its backward pass */
    N_PHASES,

    /* Times composed of these. */
    PHASE_GRAD = N_PHASES, /**< sync and update; on one rank the update */
    PHASE_BACKWARD_GRAD,   /**< backward and grad, by one formula where a model has one */
    PHASE_GRAD_ONE,        /**< grad on one rank, by a formula of its own */
    PHASE_STEP_MANY,       /**< a step on several ranks, whose interval is its own */
    PHASE_EXPOSED,         /**< of all-reduces in buckets: the part after the backward pass */
    PHASE_OVERLAPPED,      /**< a step that hides its all-reduces in buckets */
    N_TIMES
} phase;

/** All times, in the order in which tables show them. Users may ask for the first N_PHASES_SHOWN.
 */
#define N_PHASES_SHOWN (N_TIMES - 2)
extern const phase phases_shown[N_TIMES];

/** "forward", "backward+grad": in rows of observations, options and tables. */
const char *phase_name(phase p);
/** Of a time that observations hold. LM_E_NOTFOUND for any other name. */
lm_status phase_parse(const char *text, phase *out);

/** "forward", "grad_many": of a formula in machine files. */
const char *phase_formula(phase p);

#endif
