/** What a device draws, by its machine file or as options tell it, and the CO2 of that energy. */
#ifndef CLI_POWER_OPTIONS_H
#define CLI_POWER_OPTIONS_H

#include "cli/options.h"
#include "energy/power.h"
#include "fit/calibration.h"
#include "models/step_model.h"
#include "report/step_fields.h"

/** What was asked, and what is known. */
typedef struct power_choice {
    bool
        held; /**< `cap_w` is what the device is to keep to from now on, not what it was measured at
                */
    power_model model;         /**< power_known() of it: is any power told or fitted? */
    bool        learned;       /**< the model that predicts steps tells their power, too */
    double      cap_w;         /**< as told, NAN: not */
    double      grams_per_kwh; /**< of CO2; NAN: not asked for */
} power_choice;

/** Fill a power_choice: --idle-power and --power-cap; --grid; --voltage-knee. */
extern const option_row power_option_rows[], grid_option_rows[], knee_option_rows[];

/** Nothing is known but what was told; rows that the command lacks are not given. */
void power_choice_begin(const options *o, power_choice *c, bool held);

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

/** Is a device's datasheet asked for its limit? */
bool power_asks_device(const options *o, const power_choice *c);

/** Is any power known, so that there are columns for it? */
bool power_shown(const power_choice *c);
/** What columns of it need. */
step_watts power_choice_watts(const power_choice *c);

/** LM_E_NOTFOUND where --grid is given and no power is known. */
lm_status power_choice_check(const power_choice *c, lm_error *err);

#endif
