/**
 * Power of a device, from its machine file or from the user, and the CO2 of its energy. Error texts
 * name the option that helps.
 */
#ifndef PREDICT_POWER_CHOICE_H
#define PREDICT_POWER_CHOICE_H

#include "device/power.h"
#include "models/step_model.h"

/** Options about power, and the power model. */
typedef struct power_choice {
    /** `cap_w` is a limit to keep from now on, not the limit during the measurements */
    bool        held;
    power_model model;         /**< power_known(): was power given or fitted? */
    bool        learned;       /**< the model that predicts steps also predicts their power */
    double      cap_w;         /**< given by the user; NAN: not given */
    double      grams_per_kwh; /**< of CO2; NAN: not wanted */
} power_choice;

/**
 * Completes the choice from the machine file `cal` and a datasheet. If no power was measured and
 * --idle-power is given, a device draws its limit while it computes or moves bytes, and the idle
 * power while it waits; this counts as `assumed`.
 *
 * @param cal     NULL: no machine file
 * @param name    of the datasheet; NULL: the device of the machine file
 * @param devices file of datasheets that is searched first; NULL: none
 * @return LM_E_ARG if the options do not suffice (the text names the missing one); errors of
 *         devices_open()
 */
lm_status power_choice_complete(power_choice *c, const calibration *cal, const char *name,
                                const char *devices, lm_error *err);

/**
 * power_choice_complete() for a predictor, with the datasheet of its model or of the machine file.
 * Then power_choice_check().
 */
lm_status power_choice_open(power_choice *c, const predictor *who, const model_source *from,
                            lm_error *err);

/** LM_E_NOTFOUND if --grid is given and no power is known. */
lm_status power_choice_check(const power_choice *c, lm_error *err);

#endif
