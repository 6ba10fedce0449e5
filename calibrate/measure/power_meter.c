/* Power of a rank's device while a point's repetitions run. */
#include "measure/power_meter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/no_memory.h"
#include "device/power_series.h"
#include "measure/clock.h"
#include "sample/cpu.h"

/* Looks closer than this are not worth their system calls. */
#define LOOK_SECONDS 0.02
#define REST_SECONDS 0.6

struct power_meter {
    const backend *device; /* has a power of its own; NULL: the CPUs */
    cpu_power     *cpu;
    power_series   series;
    double         looked;
    double         idle; /* NAN: could not be told */
    bool           counter;
};

static double now(void)
{
    return 1e-9 * (double)clock_nanoseconds(CLOCK_MONOTONIC);
}

static void look(power_meter *m, double time)
{
    double joules = NAN, watts = NAN;

    if (m->device)
        m->device->type->power(m->device, &joules, &watts);
    else if (isnan(joules = cpu_power_joules(m->cpu)))
        watts = cpu_power_watts(m->cpu);
    m->counter = isfinite(joules);
    m->looked  = time;
    power_series_look(&m->series, time, joules, watts);
}

void power_meter_begin(power_meter *m)
{
    if (!m)
        return;
    m->series.n     = 0;
    m->series.begun = m->series.moved = false;
    look(m, now());
}

void power_meter_look(power_meter *m)
{
    const double time = m ? now() : 0;

    if (m && time - m->looked >= LOOK_SECONDS)
        look(m, time);
}

double power_meter_end(power_meter *m, double sharing)
{
    power_mean mean;

    if (!m)
        return NAN;
    look(m, now());
    mean = power_settle(m->series.piece, m->series.n);
    if (mean.seconds < (m->counter ? POWER_METER_COUNTER : POWER_METER_SENSOR) || !(mean.watts > 0))
        return NAN;
    return m->device ? mean.watts : mean.watts / sharing;
}

/* Nothing runs yet. */
static double rest(power_meter *m)
{
    const struct timespec nap = { 0, (long)(1e9 * LOOK_SECONDS) };
    const double          end = now() + REST_SECONDS;
    power_mean            mean;

    power_meter_begin(m);
    while (now() < end) {
        nanosleep(&nap, NULL);
        power_meter_look(m);
    }
    mean = power_settle(m->series.piece, m->series.n);
    return mean.watts > 0 ? mean.watts : (double)NAN;
}

static lm_status open_device(power_meter *m, const backend *device, lm_error *err)
{
    double joules = NAN, watts = NAN;

    if (!device->type->power)
        return cpu_power_open(&m->cpu, err);
    m->device = device;
    device->type->power(device, &joules, &watts);
    return isnan(joules) && isnan(watts)
               ? lm_error_set(err, LM_E_NOTFOUND, "the driver does not tell what the device draws")
               : LM_OK;
}

lm_status power_meter_open(const backend *device, power_meter **out, lm_error *err)
{
    power_meter *m = calloc(1, sizeof *m);
    lm_status    status;

    if (!m)
        return no_memory(err);
    status = open_device(m, device, err);
    if (status) {
        power_meter_close(m);
        return status;
    }
    m->idle = rest(m);
    *out    = m;
    return LM_OK;
}

void power_meter_close(power_meter *m)
{
    if (!m)
        return;
    cpu_power_close(m->cpu);
    power_series_free(&m->series);
    free(m);
}

void power_meter_describe(const power_meter *m,
                          void (*put)(void *context, const char *key, const char *value),
                          void *context)
{
    char text[240];

    if (!m)
        return;
    snprintf(text, sizeof text, "%s%s",
             m->device ? "the device's driver, " : cpu_power_source(m->cpu),
             m->device ? (m->counter ? "energy counter" : "sensor") : "");
    put(context, "power_source", text);
    if (isnan(m->idle))
        return;
    snprintf(text, sizeof text, "%.4g W", m->idle);
    put(context, "idle_power", text);
}
