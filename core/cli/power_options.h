/** Options of power (power_choice.h). */
#ifndef CLI_POWER_OPTIONS_H
#define CLI_POWER_OPTIONS_H

#include "options/options.h"
#include "predict/power_choice.h"
#include "report/step_fields.h"

/** Fill a power_choice: --idle-power and --power-cap; --grid; --voltage-knee. */
extern const option_row power_option_rows[], grid_option_rows[], knee_option_rows[];

/** Fills a double: --clock, MHz. */
extern const option_row clock_option_rows[];

/** Starts with the given values only; options that the command lacks are not given. */
void power_choice_begin(const options *o, power_choice *c, bool held);

/** Is the power limit of a device's datasheet needed? */
bool power_asks_device(const options *o, const power_choice *c);

/** Inputs of the power columns. */
step_watts power_choice_watts(const power_choice *c);

#endif
