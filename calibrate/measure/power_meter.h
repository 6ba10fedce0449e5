/** Power of a rank's device while a point's repetitions run. The device's own counter or sensor is
 * read between two repetitions, so that nothing runs beside them. */
#ifndef CALIBRATE_POWER_METER_H
#define CALIBRATE_POWER_METER_H

#include "measure/backend.h"

typedef struct power_meter power_meter;

/** Least seconds behind a mean: counters move some ten times a second, sensors tell the mean of up
 * to the last second. */
#define POWER_METER_COUNTER 0.3
#define POWER_METER_SENSOR  2.0

/**
 * Opens the meter of a backend's device, and measures what it draws at rest; of the CPUs where the
 * backend has none of its own.
 *
 * @return LM_E_NOTFOUND, LM_E_IO or LM_E_UNSUPPORTED with why nothing can be read; LM_E_NOMEM
 */
lm_status power_meter_open(const backend *device, power_meter **out, lm_error *err);
/** NULL is fine, here and below. */
void power_meter_close(power_meter *m);

/** Provenance: where power is from, and what was drawn at rest. */
void power_meter_describe(const power_meter *m,
                          void (*put)(void *context, const char *key, const char *value),
                          void *context);

/** Repetitions begin; one has ended: a look, if the last one was not just now. */
void power_meter_begin(power_meter *m);
void power_meter_look(power_meter *m);

/** Mean since power_meter_begin(), settled, of one of `sharing` ranks on the same CPUs; NAN: too
 * short, or nothing can be read. */
double power_meter_end(power_meter *m, double sharing);

#endif
