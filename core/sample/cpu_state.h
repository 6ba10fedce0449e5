/** Clocks and load of the CPUs, as the system tells them. */
#ifndef SAMPLE_CPU_STATE_H
#define SAMPLE_CPU_STATE_H

/** Clock of one CPU in MHz (cpufreq, else /proc/cpuinfo). NAN: unknown. */
double cpu_clock_mhz(int cpu);

/** The mean of some CPUs, at most 8, spread over all. NAN: unknown. */
double cpu_mean_clock_mhz(void);

/** How often heat held a clock down so far, all CPUs together: only counts up. NAN: unknown. */
double cpu_throttle_count(void);

/** Time of all CPUs since the system started, in the kernel's ticks (/proc/stat). */
typedef struct cpu_time {
    double busy, all; /**< busy: neither idle nor waiting for input or output; NAN: unknown */
} cpu_time;

cpu_time cpu_time_now(void);

/** Bytes in use, of all programs. NAN: unknown. */
double cpu_memory_bytes(void);

#endif
