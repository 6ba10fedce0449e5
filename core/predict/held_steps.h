/** Time and power of one step at several clocks of its device, or under several power limits. */
#ifndef PREDICT_HELD_STEPS_H
#define PREDICT_HELD_STEPS_H

#include "predict/power_choice.h"
#include "predict/scaling.h"

/** A step, and the clocks or limits to try. */
typedef struct held_question {
    scale_question step;
    int64_t        nodes;
    const int64_t *mhz; /**< clocks to hold; NULL: a default list */
    size_t         n;
    const int64_t *watts; /**< power limits instead of clocks; NULL: none */
    size_t         n_watts;
    power_choice   power; /**< completed */
} held_question;

typedef struct held_steps {
    scale_point point;   /**< the step at the device's own clock */
    power_state usual;   /**< clock and power of that step; stretch 1 */
    bool        learned; /**< the model that predicts the step also predicts the power */
    double     *mhz;     /**< the clocks, in MHz, or the limits, in W */
    /** measured steps under limits, which give the bounds; NULL: the power model is used */
    const limit_curves *limits;
    power_state        *at;    /**< the state at each clock or limit */
    grounds            *on;    /**< evidence for each; its texts live as long as this struct */
    size_t              n;     /**< 0: no other clock can be predicted */
    lm_error            alone; /**< the reason; code LM_OK if clocks can be predicted */
    /** "carried from 600 MHz", for the lowest and the highest clock that was learned */
    char from[2][40];
} held_steps;

/**
 * Predicts the step at its own clock and at other clocks. A model that learned several clocks is
 * asked at each clock within its range. Beyond the range, and for other models, the power model
 * converts a step from one clock to another.
 *
 * Power limits use steps that were measured under limits (device/limits.h). For other steps the
 * power model gives the clock that a limit allows, and the time at that clock.
 *
 * @param out freed by held_steps_free() in any case
 * @return LM_E_NOTFOUND for an unknown power or clock; LM_E_ARG for a power limit that the model
 *         cannot keep; errors of scale_at()
 */
lm_status held_steps_of(const predictor *who, const held_question *q, held_steps *out,
                        lm_error *err);
void      held_steps_free(held_steps *h);

#endif
