/* Options on the power of a device. */
#include "cli/power_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Reads a quantity above 0 in `unit`. */
static lm_status read_quantity(const char *text, const char *unit, double *out, lm_error *err)
{
    double value;

    if (text_quantity(text, unit, &value, err) || !(value > 0))
        return lm_error_set(err, LM_E_ARG,
                            "expected a number above 0 with its unit, such as 165%s, found '%.40s'",
                            unit, text);
    *out = value;
    return LM_OK;
}

static lm_status read_watts(const char *text, double *out, lm_error *err)
{
    return read_quantity(text, "W", out, err);
}

static lm_status read_mhz(const char *text, double *out, lm_error *err)
{
    double          hz     = NAN;
    const lm_status status = read_quantity(text, "Hz", &hz, err);

    if (!status)
        *out = hz / 1e6;
    return status;
}

/* "400gCO2/kWh", also in kg. */
static lm_status read_grid(const char *text, double *out, lm_error *err)
{
    double value;

    if (text_quantity(text, "gCO2/kWh", &value, err) || !(value >= 0))
        return lm_error_set(
            err, LM_E_ARG,
            "expected grams of CO2 for a kWh, such as 400gCO2/kWh or 0.4kgCO2/kWh, found '%.40s'",
            text);
    *out = value;
    return LM_OK;
}

VALUE_TYPE(type_watts, double, read_watts);
VALUE_TYPE(type_mhz, double, read_mhz);
VALUE_TYPE(type_grid, double, read_grid);

#define AT(member) OPTION_AT(power_choice, member)

const option_row power_option_rows[] = {
    { "idle-power", AT(model.idle_w), &type_watts, "WATTS", NULL, HELP_WHERE,
      "idle power of the device, 30W: also estimate power and energy" },
    { "power-cap", AT(cap_w), &type_watts, "WATTS", NULL, HELP_WHERE,
      "power limit of the device, 165W, instead of its datasheet's" },
    { .name = NULL },
};

const option_row grid_option_rows[] = {
    { "grid", AT(grams_per_kwh), &type_grid, "FACTOR", NULL, HELP_WHERE,
      "CO2 per kWh of electricity, 400gCO2/kWh: also print CO2" },
    { .name = NULL },
};

const option_row knee_option_rows[] = {
    { "voltage-knee", AT(model.knee_mhz), &type_mhz, "CLOCK", NULL, HELP_WHERE,
      "highest clock at which the voltage is still constant: 900MHz" },
    { .name = NULL },
};

const option_row clock_option_rows[] = {
    { "clock", .at = 0, .size = sizeof(double), .type = &type_mhz, .argument = "CLOCK",
      .heading = HELP_WHAT,
      .help = "fixed clock of the devices, 900MHz, for models that were fitted at several clocks" },
    { .name = NULL },
};

static double told(const options *o, const double *target)
{
    return option_given(o, target) ? *target : NAN;
}

void power_choice_begin(const options *o, power_choice *c, bool held)
{
    power_model m = power_unknown;

    m.idle_w         = told(o, &c->model.idle_w);
    m.knee_mhz       = told(o, &c->model.knee_mhz);
    c->model         = m;
    c->cap_w         = told(o, &c->cap_w);
    c->grams_per_kwh = told(o, &c->grams_per_kwh);
    c->held          = held;
}

bool power_asks_device(const options *o, const power_choice *c)
{
    return option_given(o, &c->model.idle_w) || option_given(o, &c->cap_w);
}

step_watts power_choice_watts(const power_choice *c)
{
    return (step_watts){ &c->model, c->learned, c->grams_per_kwh };
}
