/** What a device draws: of its machine file, or as options tell it; and what that energy costs the
 * climate. The same for all commands. */
#ifndef CLI_POWER_OPTIONS_H
#define CLI_POWER_OPTIONS_H

#include "cli/options.h"
#include "energy/power.h"
#include "fit/calibration.h"
#include "predict/step_power.h"
#include "report/table.h"

/** By their place in the command's own table; below 0: it has none. */
typedef struct power_options {
    int  idle, cap, knee, grid;
    bool held; /**< `cap` is what the device is to keep to from now on, not what it was measured at
                */
} power_options;

/** Rows of a command's table for them. */
#define OPTION_IDLE_POWER                                                                    \
    {                                                                                        \
        "idle-power", "WATTS", NULL, "of a device at rest, 30W: with it energy is estimated" \
    }
#define OPTION_POWER_CAP                                                                   \
    {                                                                                      \
        "power-cap", "WATTS", NULL, "the device's limit, instead of its datasheet's: 165W" \
    }
#define OPTION_KNEE                                                                  \
    {                                                                                \
        "voltage-knee", "CLOCK", NULL, "up to where the voltage is constant: 900MHz" \
    }
#define OPTION_GRID                                                                   \
    {                                                                                 \
        "grid", "FACTOR", NULL, "CO2 of a unit of electricity, 400gCO2/kWh: adds CO2" \
    }

/** What was read. */
typedef struct power_choice {
    bool        held;          /**< as in power_options */
    power_model model;         /**< power_known() of it: is any power told or fitted? */
    bool        learned;       /**< the model that predicts steps tells their power, too */
    double      cap_w;         /**< as told, NAN: not */
    double      grams_per_kwh; /**< of CO2; NAN: not asked for */
} power_choice;

/** Options alone: false after a message, with *exit_code set. */
bool power_options_read(const options *o, const power_options *at, power_choice *out,
                        int *exit_code);

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

/** Is any power known, so that there are columns for it? */
bool power_shown(const power_choice *c);

/** LM_E_NOTFOUND where --grid is given and no power is known. */
lm_status power_choice_check(const power_choice *c, lm_error *err);

/** "learned", "fitted", "assumed"; "" of a step of which none is known. `p` NULL: by the power
 * model. */
const char *power_by(const power_choice *c, const step_power *p);

/** Says on stderr why a learned model's step has no power, though there are columns for it. */
void power_explain_unknown(const power_choice *c, const char *model, const char *machine);

/** Columns of power and energy, and the cells of a step of which an epoch takes so many; none where
 * no power is known. */
void power_columns(table *t, const power_choice *c);
void power_cells(table *t, const power_choice *c, const step_power *p, double steps);
/** Those that only CSV and JSON hold. */
void power_hidden_columns(table *t, const power_choice *c);
void power_hidden_cells(table *t, const power_choice *c, const step_power *p);

#endif
