/** CPUs: power by the kernel's energy counters (RAPL), else by a sensor (hwmon); clocks, load and
 * memory in use. */
#ifndef SAMPLE_CPU_H
#define SAMPLE_CPU_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

/* Small files in which the system describes itself. Paths are relative to $LAYERMETER_SYSTEM_ROOT
 * (default: /): "proc/stat". */

/** First line of a file, without its end; false: absent or empty. */
bool system_line(const char *path, char *text, size_t size);
/** The number at the beginning of a file. NAN: absent, or no number. */
double system_number(const char *path);

/** Clock of one CPU in MHz (cpufreq, else /proc/cpuinfo). NAN: unknown. */
double cpu_clock_mhz(int cpu);

/** Mean clock of some CPUs, at most 8, spread over all. NAN: unknown. */
double cpu_mean_clock_mhz(void);

/** Number of times heat held a clock down, of all CPUs; only grows. NAN: unknown. */
double cpu_throttle_count(void);

/** Time of all CPUs since the system started, in the kernel's ticks (/proc/stat). */
typedef struct cpu_time {
    double busy, all; /**< busy: neither idle nor waiting for input or output; NAN: unknown */
} cpu_time;

cpu_time cpu_time_now(void);

/** Bytes in use, of all programs. NAN: unknown. */
double cpu_memory_bytes(void);

typedef struct cpu_power cpu_power;

/**
 * Packages and their memory below /sys/class/powercap (kernel documentation, "Power Capping
 * Framework"); else the first hwmon sensor of CPUs or of the whole machine.
 *
 * @return LM_E_NOTFOUND without both, LM_E_IO if counters may not be read; one line names the
 * remedy. LM_E_NOMEM
 */
lm_status cpu_power_open(cpu_power **out, lm_error *err);
/** NULL is fine. */
void cpu_power_close(cpu_power *p);

/** The source: "RAPL package-0, dram" */
const char *cpu_power_source(const cpu_power *p);

/** J since cpu_power_open(). NAN: no counter, or it stopped. Counters wrap around, after minutes at
 * the earliest: call this more often. */
double cpu_power_joules(cpu_power *p);

/** W: the sensor's present value, or the counters' mean since the last call (NAN at the first call,
 * and if they have not moved). */
double cpu_power_watts(cpu_power *p);

#endif
