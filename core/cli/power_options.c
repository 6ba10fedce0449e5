/* What a device draws: of its machine file, or as options tell it. */
#include "cli/power_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "devices/device.h"
#include "fit/forms.h"
#include "fit/power_rows.h"

static bool read_quantity(const options *o, int at, const char *unit, double *out, int *code)
{
    lm_error err;

    *out = NAN;
    if (at < 0 || !o->value[at])
        return true;
    if (!text_quantity(o->value[at], unit, out, &err) && *out > 0)
        return true;
    lm_error_set(&err, LM_E_ARG,
                 "expected a number above 0 with its unit, such as 165%s, found '%.40s'", unit,
                 o->value[at]);
    return option_misuse(o, at, &err, code);
}

/* "400gCO2/kWh", also in kg. */
static bool read_grid(const options *o, int at, double *out, int *code)
{
    lm_error err;
    double   value;

    *out = NAN;
    if (at < 0 || !o->value[at])
        return true;
    if (!text_quantity(o->value[at], "gCO2/kWh", &value, &err) && value >= 0) {
        *out = value;
        return true;
    }
    lm_error_set(
        &err, LM_E_ARG,
        "expected grams of CO2 for a kWh, such as 400gCO2/kWh or 0.4kgCO2/kWh, found '%.40s'",
        o->value[at]);
    return option_misuse(o, at, &err, code);
}

bool power_options_read(const options *o, const power_options *at, power_choice *out, int *code)
{
    power_choice c = { .held = at->held, .model = power_unknown };
    double       knee;

    if (!read_quantity(o, at->idle, "W", &c.model.idle_w, code) ||
        !read_quantity(o, at->cap, "W", &c.cap_w, code) ||
        !read_quantity(o, at->knee, "Hz", &knee, code) ||
        !read_grid(o, at->grid, &c.grams_per_kwh, code))
        return false;
    c.model.knee_mhz = knee / 1e6;
    *out             = c;
    return true;
}

/* What the datasheet of the device says; `bandwidth` in bytes/s. */
static lm_status datasheet(const char *name, const char *own, power_model *m, double *bandwidth,
                           lm_error *err)
{
    device_list  *list;
    const device *d;
    lm_status     status;

    *bandwidth = NAN;
    if (!name)
        return LM_OK;
    if ((status = devices_open(own, &list, err)))
        return status;
    if (!devices_find(list, name, &d, NULL)) {
        m->cap_w   = d->figure[DEVICE_POWER];
        m->top_mhz = d->figure[DEVICE_CLOCK] / 1e6;
        *bandwidth = d->figure[DEVICE_BANDWIDTH];
    }
    devices_free(list);
    return LM_OK;
}

/* By what is told: at its limit while it works, at rest while it waits. */
static void assume(power_model *m, double bandwidth)
{
    m->bound_w[BOUND_ARITHMETIC] = m->bound_w[BOUND_TRAFFIC] = m->cap_w;
    m->bound_w[BOUND_LAUNCH]                                 = m->idle_w;
    if (bandwidth > 0)
        m->memory_w = fmin(POWER_MEMORY_JOULES * bandwidth, (m->cap_w - m->idle_w) / 2);
    m->assumed = true;
}

/* A device at rest draws less than one that works, as that was measured. */
static lm_status check_idle(const power_model *m, lm_error *err)
{
    double least = m->bound_w[BOUND_TRAFFIC] - m->memory_w;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        least = fmin(least, m->bound_w[k]);
    if (!(m->idle_w > least * (1 + 1e-9)))
        return LM_OK;
    return lm_error_set(err, LM_E_ARG,
                        "--idle-power: %.4g W at rest, but at work the machine drew as little as "
                        "%.4g W",
                        m->idle_w, least);
}

/* No clock keeps a limit that the device is above at rest. */
static lm_status check_cap(const power_choice *c, lm_error *err)
{
    if (!(c->cap_w <= c->model.idle_w))
        return LM_OK;
    return lm_error_set(err, LM_E_ARG,
                        "--power-cap: the limit is %.4g W, and %.4g W are drawn at rest", c->cap_w,
                        c->model.idle_w);
}

/* What a fit was not told of the device's limit and highest clock. */
static lm_status know_limits(const char *name, const char *own, power_model *m, lm_error *err)
{
    power_model sheet = power_unknown;
    double      bandwidth;
    lm_status   status = LM_OK;

    if (isnan(m->cap_w) || isnan(m->top_mhz))
        status = datasheet(name, own, &sheet, &bandwidth, err);
    if (isnan(m->cap_w))
        m->cap_w = sheet.cap_w;
    if (isnan(m->top_mhz))
        m->top_mhz = sheet.top_mhz;
    return status;
}

/* --power-cap where nothing says what is drawn below it. */
static lm_status no_such_limit(const power_choice *c, lm_error *err)
{
    if (c->learned)
        return lm_error_set(err, LM_E_ARG,
                            "--power-cap: the model tells powers as they were measured, and not "
                            "what another limit makes of them");
    return lm_error_set(
        err, LM_E_ARG,
        "--power-cap: no power was measured, and a limit alone does not say what is "
        "drawn below it: tell --idle-power, too, such as 30W, or measure some "
        "(column power_w)");
}

lm_status power_choice_complete(power_choice *c, const calibration *cal, const char *name,
                                const char *devices, lm_error *err)
{
    const power_model told = c->model;
    double            bandwidth;
    lm_status         status;

    if (cal && cal->power) {
        if (!c->held && isfinite(c->cap_w))
            return lm_error_set(err, LM_E_ARG,
                                "--power-cap: the machine's power was measured: what another limit "
                                "makes of it says 'layermeter energy'");
        c->model          = *cal->power;
        c->model.idle_w   = isfinite(told.idle_w) ? told.idle_w : c->model.idle_w;
        c->model.knee_mhz = isfinite(told.knee_mhz) ? told.knee_mhz : c->model.knee_mhz;
        if ((status = check_idle(&c->model, err)) || (status = check_cap(c, err)))
            return status;
        return know_limits(name ? name : calibration_device(cal), devices, &c->model, err);
    }
    if (isnan(told.idle_w))
        return c->held || isnan(c->cap_w) ? LM_OK : no_such_limit(c, err);
    if (!name && cal)
        name = calibration_device(cal);
    if ((status = datasheet(name, devices, &c->model, &bandwidth, err)))
        return status;
    if (isfinite(c->cap_w) && (!c->held || isnan(c->model.cap_w)))
        c->model.cap_w = c->cap_w;
    if (isnan(c->model.cap_w))
        return lm_error_set(
            err, LM_E_ARG,
            "--idle-power: the device's limit is not known, as %s%s%s: name a device that has one "
            "(--device T4; 'layermeter devices'), or tell --power-cap, such as 165W",
            name ? "no datasheet has that of '" : "the machine file names no device",
            name ? name : "", name ? "'" : "");
    if (c->model.idle_w >= c->model.cap_w)
        return lm_error_set(err, LM_E_ARG, "--idle-power: %.4g W at rest, and the limit is %.4g W",
                            c->model.idle_w, c->model.cap_w);
    if ((status = check_cap(c, err)))
        return status;
    assume(&c->model, bandwidth);
    return LM_OK;
}

bool power_shown(const power_choice *c)
{
    return power_known(&c->model) || c->learned;
}

lm_status power_choice_check(const power_choice *c, lm_error *err)
{
    if (isnan(c->grams_per_kwh) || power_shown(c))
        return LM_OK;
    return lm_error_set(err, LM_E_NOTFOUND,
                        "--grid: no power was measured: measure some (column power_w), or tell "
                        "--idle-power");
}

const char *power_by(const power_choice *c, const step_power *p)
{
    if (p && isnan(p->watts.value))
        return "";
    return p && p->learned ? "learned" : c->model.assumed ? "assumed" : "fitted";
}

void power_explain_unknown(const power_choice *c, const char *model, const char *machine)
{
    if (!c->learned)
        fprintf(
            stderr,
            "layermeter: %s: power was measured by what bounds a step, which %s does not say and "
            "no formula of %s is there for: calibrate whole networks, too\n",
            machine, model, model_at(0));
    else if (!power_known(&c->model))
        fprintf(stderr,
                "layermeter: %s: %s does not tell the power of all layers, or of devices that wait "
                "for each other: for these tell --idle-power\n",
                machine, model);
    else
        fprintf(stderr, "layermeter: %s: %s does not tell the power of all layers\n", machine,
                model);
}

void power_columns(table *t, const power_choice *c)
{
    if (!power_shown(c))
        return;
    table_column(t, "power_w", "power [W]", 1);
    table_column(t, "energy_j", "energy [J]", -1);
    table_column(t, "epoch_kwh", "epoch [kWh]", -1);
    if (isfinite(c->grams_per_kwh))
        table_column(t, "epoch_co2_g", "epoch [gCO2]", -1);
    table_column(t, "power_by", "power by", 0);
}

void power_hidden_columns(table *t, const power_choice *c)
{
    if (!power_shown(c))
        return;
    table_column(t, "edp_js", NULL, 3);
    table_column(t, "power_low_w", NULL, 0);
    table_column(t, "power_high_w", NULL, 0);
    table_column(t, "energy_low_j", NULL, 1);
    table_column(t, "energy_high_j", NULL, 1);
}

void power_cells(table *t, const power_choice *c, const step_power *p, double steps)
{
    const double kwh = p->joules.value * steps / JOULES_PER_KWH;

    if (!power_shown(c))
        return;
    table_real(t, p->watts.value);
    table_real(t, p->joules.value);
    table_real(t, kwh);
    if (isfinite(c->grams_per_kwh))
        table_real(t, kwh * c->grams_per_kwh);
    table_text(t, power_by(c, p));
}

void power_hidden_cells(table *t, const power_choice *c, const step_power *p)
{
    if (!power_shown(c))
        return;
    table_real(t, p->edp);
    table_real(t, p->watts.low);
    table_real(t, p->watts.high);
    table_real(t, p->joules.low);
    table_real(t, p->joules.high);
}
