/**
 * Power of a rank's device during the repetitions of a point. The device's counter or sensor is
 * read between repetitions, so that reading does not disturb them.
 */
#ifndef CALIBRATE_POWER_METER_H
#define CALIBRATE_POWER_METER_H

#include "measure/backend.h"

typedef struct power_meter power_meter;

/**
 * Least seconds for a mean: counters change about ten times a second, sensors report a mean of up
 * to the last second.
 */
#define POWER_METER_COUNTER 0.3
#define POWER_METER_SENSOR  2.0

/**
 * Opens the meter of a backend's device, and measures its idle power. If the backend has no meter,
 * it is that of the CPUs.
 *
 * @return LM_E_NOTFOUND, LM_E_IO or LM_E_UNSUPPORTED with the reason; LM_E_NOMEM
 */
lm_status power_meter_open(const backend *device, power_meter **out, lm_error *err);
/** NULL is allowed here and below. */
void power_meter_close(power_meter *m);

/** Provenance: source of the power, and idle power. */
void power_meter_describe(const power_meter *m,
                          void (*put)(void *context, const char *key, const char *value),
                          void *context);

/**
 * begin: repetitions start. look: a repetition has ended; the meter is read unless that was just
 * done.
 */
void power_meter_begin(power_meter *m);
void power_meter_look(power_meter *m);

/**
 * Mean power since power_meter_begin(), when steady, for one of `sharing` ranks on the same CPUs;
 * NAN: too short, or not readable.
 */
double power_meter_end(power_meter *m, double sharing);

#endif
