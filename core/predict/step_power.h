/** Power and energy of a predicted step. */
#ifndef PREDICT_STEP_POWER_H
#define PREDICT_STEP_POWER_H

#include "device/power.h"
#include "predict/bottleneck.h"

/**
 * Shares of the step's time by bound, for the power model: the mean of all ranks. Time in exposed
 * messages and pipeline bubbles is power_load.wait. Stages of a pipeline that have less to do wait
 * longer. BOTTLENECK_COMPUTE is split by the default model's prices; without these it counts as
 * arithmetic.
 */
power_load step_load(const bottleneck_of *b);

/** A value and the bounds of its interval; NAN: unknown. */
typedef struct step_power {
    bounded watts;   /**< W of one device, mean over the step */
    bounded joules;  /**< J of all devices */
    double  edp;     /**< J s, energy-delay product: joules times seconds of the step */
    bool    learned; /**< the model that predicts the step also predicts the power */
} step_power;

/**
 * Power and energy of a step at the device's own clock. If the step's model predicts power
 * (prediction.own_joules), it is used, and `m` only for time in which devices wait for each other.
 * The bounds of the energy combine those of power and time as if they were independent. Where the
 * power of waiting is not measured (power_waiting()), its bounds widen those of the power; an assumed
 * power has no other bounds. NAN if no
 * power is known, or if a fitted power lacks the bounds of the time. Pure.
 */
step_power step_power_of(const power_model *m, const bottleneck_of *b, const prediction *step);

/** Energy of all devices in a step, by what they do. NAN: unknown. */
typedef struct step_energy {
    double computing, messages, bubbles; /**< J; the last two wait for others */
} step_energy;

/**
 * Splits the energy of a step whose devices draw `at` (power_held()), of so many seconds at their own
 * clock. Messages take as long at each clock; bubbles as long as the work of other ranks. Pure.
 */
step_energy step_energy_of(const power_model *m, const bottleneck_of *b, const prediction *step,
                           const power_state *at);

/** Source of a power: "learned", "fitted" or "assumed"; "": unknown. */
const char *step_power_by(const power_model *m, const step_power *p);

#define JOULES_PER_KWH 3.6e6

#endif
