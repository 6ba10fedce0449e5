/** Speed limits of the machine: clocks, and whether heat or power hold them down. */
#ifndef CALIBRATE_MACHINE_STATE_H
#define CALIBRATE_MACHINE_STATE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * State of a device at one moment. Backends of devices other than the CPU fill it in (`state` in
 * backend.h).
 */
typedef struct machine_state {
    double clock_mhz; /**< of the compute units; NAN: unknown */
    /** number of times that the clock was held down; never decreases; NAN: unknown */
    double throttles;
    bool   held_down; /**< heat or power hold the clock down now */
} machine_state;

/** All unknown. */
machine_state machine_state_unknown(void);

/**
 * State of the CPU of the calling thread: its clock (cpufreq, else /proc/cpuinfo), and the throttle
 * counters of all CPUs. Files are read below $LAYERMETER_SYSTEM_ROOT (default: /).
 */
machine_state machine_state_cpu(void);

/**
 * Bytes of the CPU's last-level cache, which memory that is to be cold exceeds: $LAYERMETER_CACHE, else what the
 * system says, else 32 MiB.
 */
int64_t machine_cache_bytes(void);

/**
 * Provenance: governor, driver, turbo and range of the CPU's clock, as far as the system reports
 * them.
 */
void machine_describe_cpu(void (*put)(void *context, const char *key, const char *value),
                          void *context);

#endif
