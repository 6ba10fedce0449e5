/** What a device draws, by its machine file or as it is told, and the CO2 of that energy. Texts of
 * errors name the options that tell it. */
#ifndef PREDICT_POWER_CHOICE_H
#define PREDICT_POWER_CHOICE_H

#include "device/power.h"
#include "models/step_model.h"

/** Options of power, and the power model. */
typedef struct power_choice {
    bool
        held; /**< `cap_w` is what the device is to keep to from now on, not what it was measured at
                */
    power_model model;         /**< power_known() of it: is any power told or fitted? */
    bool        learned;       /**< the model that predicts steps tells their power, too */
    double      cap_w;         /**< as told, NAN: not */
    double      grams_per_kwh; /**< of CO2; NAN: not asked for */
} power_choice;

/**
 * With what the machine file (NULL: none) has and the datasheet of `name` (NULL: the machine
 * file's) says, looked up in `devices` (NULL: none) first. Where no power was measured and
 * --idle-power is told, a device draws its limit while it computes or moves bytes, and what it
 * draws at rest while it waits: `assumed`.
 *
 * @return LM_E_ARG where what is told does not suffice: the text says what to tell; what
 *         devices_open() returns
 */
lm_status power_choice_complete(power_choice *c, const calibration *cal, const char *name,
                                const char *devices, lm_error *err);

/** The same for a predictor, with the datasheet that its model or the machine file names, and
 * power_choice_check(). */
lm_status power_choice_open(power_choice *c, const predictor *who, const model_source *from,
                            lm_error *err);

/** LM_E_NOTFOUND where --grid is given and no power is known. */
lm_status power_choice_check(const power_choice *c, lm_error *err);

#endif
