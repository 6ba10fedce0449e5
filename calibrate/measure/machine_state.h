/** How fast the machine is allowed to be: clocks, and whether heat or power hold them down. */
#ifndef CALIBRATE_MACHINE_STATE_H
#define CALIBRATE_MACHINE_STATE_H

#include <stdbool.h>

/** The state of a device at one moment. Backends of other devices than the CPU fill
 * one (`state` in backend.h). */
typedef struct machine_state {
    double clock_mhz; /**< of what computes; NAN: unknown */
    double throttles; /**< how often the clock was held down so far: only counts up; NAN: unknown */
    bool   held_down; /**< heat or power hold the clock down at this moment */
} machine_state;

/** Nothing known. */
machine_state machine_state_unknown(void);

/**
 * The CPU that the calling thread runs on: its clock (cpufreq, else /proc/cpuinfo), and the
 * throttle counters of all CPUs. Files are taken below $LAYERMETER_SYSTEM_ROOT (default: /).
 */
machine_state machine_state_cpu(void);

/** Provenance: governor, driver, turbo and range of the CPU's clock, as far as the system tells. */
void machine_describe_cpu(void (*put)(void *context, const char *key, const char *value),
                          void *context);

#endif
