/** What CPUs draw: the kernel's energy counters (RAPL), else a sensor of power (hwmon). */
#ifndef SAMPLE_CPU_POWER_H
#define SAMPLE_CPU_POWER_H

#include <layermeter/error.h>

typedef struct cpu_power cpu_power;

/**
 * Packages and their memory below /sys/class/powercap (kernel documentation, "Power Capping
 * Framework"); else the first of hwmon's sensors that is one of CPUs or of the whole machine.
 *
 * @return LM_E_NOTFOUND if there is neither, LM_E_IO if there are counters that may not be read;
 * one line that says what would help. LM_E_NOMEM
 */
lm_status cpu_power_open(cpu_power **out, lm_error *err);
/** NULL is fine. */
void cpu_power_close(cpu_power *p);

/** What is read: "RAPL package-0, dram" */
const char *cpu_power_source(const cpu_power *p);

/**
 * J since cpu_power_open(). Counters wrap around, after minutes at the earliest: ask more often
 * than that. NAN: there is no counter, or it is not told any more.
 */
double cpu_power_joules(cpu_power *p);

/** W, now, of the sensor; of counters the mean since the last call (NAN at the first, and where
 * they have not moved). */
double cpu_power_watts(cpu_power *p);

#endif
