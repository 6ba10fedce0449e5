/** Power and energy of a predicted step. */
#ifndef PREDICT_STEP_POWER_H
#define PREDICT_STEP_POWER_H

#include "device/power.h"
#include "predict/bottleneck.h"

/** What the step's time goes to; what waits for all-reduces counts as launch, compute as the
 * default model's prices have it, or, where they do not, as arithmetic. */
power_load step_load(const bottleneck_of *b);

/** A value and the bounds of its interval; NAN: unknown. */
typedef struct step_power {
    bounded watts;   /**< of one device, mean over the step */
    bounded joules;  /**< of all devices */
    double  edp;     /**< J s: joules times the step's seconds */
    bool    learned; /**< by the model that predicts the step, not by the power model */
} step_power;

/**
 * As the device runs by itself, which is how the step was predicted; of a step whose model tells
 * power (prediction.own_joules) by that, and `m` only while devices wait for each other. Bounds of
 * the energy are by those of the power and of the time, as if one knew nothing of the other. NAN
 * where no power is known, or of a fitted one not what bounds the time. Pure.
 */
step_power step_power_of(const power_model *m, const bottleneck_of *b, const prediction *step);

/** Source of a power: "learned", "fitted" or "assumed"; "": it is unknown. */
const char *step_power_by(const power_model *m, const step_power *p);

#define JOULES_PER_KWH 3.6e6

#endif
