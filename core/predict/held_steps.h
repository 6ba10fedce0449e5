/** A step at several clocks of its device, or under several power limits: time and power at each. */
#ifndef PREDICT_HELD_STEPS_H
#define PREDICT_HELD_STEPS_H

#include "predict/power_choice.h"
#include "predict/scaling.h"

/** Which step, and at which clocks. */
typedef struct held_question {
    scale_question step;
    int64_t        nodes;
    const int64_t *mhz; /**< clocks to hold; NULL: the usual ones */
    size_t         n;
    const int64_t *watts; /**< limits to keep, in place of clocks; NULL: none */
    size_t         n_watts;
    power_choice   power; /**< completed */
} held_question;

typedef struct held_steps {
    scale_point point;   /**< the step as the device runs by itself */
    power_state usual;   /**< its clock, power, and stretch 1 */
    bool        learned; /**< the power is told by the model that tells the step */
    double     *mhz;     /**< clocks that are held, or limits in watts */
    const limit_curves
                *limits; /**< by measured steps under limits, whose bounds these are; NULL: by
                                     the power model */
    power_state *at;     /**< the state at each */
    grounds     *on;     /**< what each stands on; its texts live as long as this struct */
    size_t       n;      /**< 0: no other clock is told of */
    lm_error     alone;  /**< why not; code LM_OK: clocks are told of */
    char from[2][40]; /**< "carried from 600 MHz": the lowest clock that was learned; the highest */
} held_steps;

/**
 * Predicts the step at its own clock and at held clocks. A model that learned several clocks is
 * asked at each of them; beyond these, and for other models, the power model carries a step from
 * one clock to another.
 *
 * Power limits are asked of the steps that were measured under some (device/limits.h); of other steps
 * the power model tells the clock that a limit leaves, and what the step takes there.
 *
 * @param out to be freed by held_steps_free() in any case
 * @return LM_E_NOTFOUND for a power or clock that nothing tells of, LM_E_ARG for a limit of power
 *         that the model cannot keep; what scale_at() returns
 */
lm_status held_steps_of(const predictor *who, const held_question *q, held_steps *out,
                        lm_error *err);
void      held_steps_free(held_steps *h);

#endif
