/* Power of a device, by options and machine file. */
#include "predict/power_choice.h"

#include <math.h>

#include "device/device.h"

/* Figures of the device's datasheet; `bandwidth` in bytes/s. */
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

/* Power by options: its limit while it works, idle power while it waits. */
static void assume(power_model *m, double bandwidth)
{
    m->bound_w[BOUND_ARITHMETIC] = m->bound_w[BOUND_TRAFFIC] = m->cap_w;
    m->bound_w[BOUND_LAUNCH]                                 = m->idle_w;
    if (bandwidth > 0)
        m->memory_w = fmin(POWER_MEMORY_JOULES * bandwidth, (m->cap_w - m->idle_w) / 2);
    m->assumed = true;
}

/* A device draws less at rest than its measured power at work. */
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

/* No clock keeps a limit below the power at rest. */
static lm_status check_cap(const power_choice *c, lm_error *err)
{
    if (!(c->cap_w <= c->model.idle_w))
        return LM_OK;
    return lm_error_set(err, LM_E_ARG,
                        "--power-cap: the limit is %.4g W, and %.4g W are drawn at rest", c->cap_w,
                        c->model.idle_w);
}

/* Adds the device's power limit and highest clock if the fit lacks them. */
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

/* --power-cap if the power below it is unknown. */
static lm_status no_such_limit(const power_choice *c, lm_error *err)
{
    if (c->learned)
        return lm_error_set(
            err, LM_E_ARG,
            "--power-cap: the model predicts power as it was measured, not under another limit");
    return lm_error_set(err, LM_E_ARG,
                        "--power-cap: no power was measured, and a limit alone is not enough: give "
                        "--idle-power, too, such as 30W, or measure power (column power_w)");
}

lm_status power_choice_complete(power_choice *c, const calibration *cal, const char *name,
                                const char *devices, lm_error *err)
{
    const power_model said = c->model;
    double            bandwidth;
    lm_status         status;

    if (cal && cal->power) {
        if (!c->held && isfinite(c->cap_w))
            return lm_error_set(
                err, LM_E_ARG,
                "--power-cap: the machine's power was measured: 'layermeter energy' predicts other limits");
        c->model          = *cal->power;
        c->model.idle_w   = isfinite(said.idle_w) ? said.idle_w : c->model.idle_w;
        c->model.knee_mhz = isfinite(said.knee_mhz) ? said.knee_mhz : c->model.knee_mhz;
        if ((status = check_idle(&c->model, err)) || (status = check_cap(c, err)))
            return status;
        return know_limits(name ? name : calibration_device(cal), devices, &c->model, err);
    }
    if (isnan(said.idle_w))
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

lm_status power_choice_open(power_choice *c, const predictor *who, const model_source *from,
                            lm_error *err)
{
    lm_status status;

    c->learned = predictor_tells_power(who);
    status     = power_choice_complete(c, who->cal, from->device, from->devices, err);
    return status ? status : power_choice_check(c, err);
}

/* Is power known? Only then tables have its columns. */
static bool power_shown(const power_choice *c)
{
    return power_known(&c->model) || c->learned;
}

lm_status power_choice_check(const power_choice *c, lm_error *err)
{
    if (isnan(c->grams_per_kwh) || power_shown(c))
        return LM_OK;
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "--grid: no power was measured: measure it (column power_w), or give --idle-power");
}
