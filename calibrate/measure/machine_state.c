/* How fast the CPU is allowed to be. */
#define _GNU_SOURCE /* sched_getcpu() */
#include "measure/machine_state.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sample/cpu.h"

#define CPUS "sys/devices/system/cpu"

machine_state machine_state_unknown(void)
{
    return (machine_state){ .clock_mhz = NAN, .throttles = NAN };
}

machine_state machine_state_cpu(void)
{
    const int cpu = sched_getcpu();

    return (machine_state){ .clock_mhz = cpu_clock_mhz(cpu < 0 ? 0 : cpu),
                            .throttles = cpu_throttle_count() };
}

int64_t machine_cache_bytes(void)
{
    const char *said  = getenv("LAYERMETER_CACHE");
    const long  known = said ? atol(said) : sysconf(_SC_LEVEL3_CACHE_SIZE);

    return known > 0 ? known : 33554432;
}

/* ---- provenance ---- */

void machine_describe_cpu(void (*put)(void *context, const char *key, const char *value),
                          void *context)
{
    const double        low   = system_number(CPUS "/cpu0/cpufreq/cpuinfo_min_freq");
    const double        high  = system_number(CPUS "/cpu0/cpufreq/cpuinfo_max_freq");
    const double        no    = system_number(CPUS "/intel_pstate/no_turbo");
    const double        boost = system_number(CPUS "/cpufreq/boost");
    const machine_state now   = machine_state_cpu();
    char                text[120];

    if (system_line(CPUS "/cpu0/cpufreq/scaling_governor", text, sizeof text))
        put(context, "cpu_governor", text);
    if (system_line(CPUS "/cpu0/cpufreq/scaling_driver", text, sizeof text))
        put(context, "cpu_clock_driver", text);
    if (!isnan(no) || !isnan(boost))
        put(context, "cpu_turbo", (isnan(no) ? boost > 0 : no == 0) ? "on" : "off");
    if (low > 0 && high > 0) {
        snprintf(text, sizeof text, "%.0f to %.0f MHz", low / 1000, high / 1000);
        put(context, "cpu_clock_range", text);
    }
    if (!isnan(now.clock_mhz)) {
        snprintf(text, sizeof text, "%.0f MHz", now.clock_mhz);
        put(context, "cpu_clock", text);
    }
    if (!isnan(now.throttles)) {
        snprintf(text, sizeof text, "%.0f", now.throttles);
        put(context, "cpu_throttles_so_far", text);
    }
}
