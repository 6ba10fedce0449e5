/** Times of a training step: times in observations, and sums of these. */
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
    /** Halves of the backward pass of a single layer: PHASE_GRAD_INPUT and PHASE_GRAD_WEIGHT. */
    PHASE_GRAD_WEIGHT,
    N_PHASES,

    /* Times composed of these. */
    PHASE_GRAD = N_PHASES, /**< sync and update; on one rank only the update */
    PHASE_BACKWARD_GRAD,   /**< backward and grad, by one formula if the model has one */
    PHASE_GRAD_ONE,        /**< grad on one rank, with its own formula */
    PHASE_STEP_MANY,       /**< a step on several ranks, with its own interval */
    PHASE_EXPOSED,         /**< all-reduces in buckets: the part after the backward pass */
    PHASE_OVERLAPPED,      /**< a step whose all-reduces in buckets overlap the backward pass */
    PHASE_P95,             /**< 95th percentile of the repetitions of PHASE_INFERENCE */
    N_TIMES
} phase;

/** All times in the order of tables. Users may ask for the first N_PHASES_SHOWN. */
#define N_PHASES_SHOWN (N_TIMES - 2)
extern const phase phases_shown[N_TIMES];

/** Name in observations, options and tables: "forward", "backward+grad". */
const char *phase_name(phase p);
/** Reads the name of a time that observations hold. LM_E_NOTFOUND for another name. */
lm_status phase_parse(const char *text, phase *out);

/** Name of its formula in machine files: "forward", "grad_many". */
const char *phase_formula(phase p);

#endif
