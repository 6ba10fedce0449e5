/* How fast the CPU is allowed to be. */
#define _GNU_SOURCE /* sched_getcpu() */
#include "measure/machine_state.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS "sys/devices/system/cpu"

static FILE *open_below(const char *path)
{
    const char *root = getenv("LAYERMETER_SYSTEM_ROOT");
    char        full[512];

    snprintf(full, sizeof full, "%.250s/%.250s", root ? root : "", path);
    return fopen(full, "r");
}

/* First line of a file; false: it is not there. */
static bool read_line(const char *path, char *text, size_t size)
{
    FILE *in = open_below(path);
    bool  ok;

    if (!in)
        return false;
    ok = fgets(text, (int)size, in) != NULL;
    fclose(in);
    if (ok)
        text[strcspn(text, "\n")] = '\0';
    return ok && *text;
}

/* NAN: not there, or no number. */
static double read_number(const char *path)
{
    char   text[64], *end;
    double value;

    if (!read_line(path, text, sizeof text))
        return NAN;
    value = strtod(text, &end);
    return end > text ? value : (double)NAN;
}

/* ---- clock --------------------------------------------------------------------------------------
 */

/* "cpu MHz" of one processor in /proc/cpuinfo. */
static double cpuinfo_mhz(int cpu)
{
    FILE  *in  = open_below("proc/cpuinfo");
    int    now = -1;
    double mhz = NAN;
    char   line[256];

    while (in && isnan(mhz) && fgets(line, sizeof line, in)) {
        const char *colon = strchr(line, ':');

        if (colon && !strncmp(line, "processor", 9))
            now = atoi(colon + 1);
        else if (colon && now == cpu && !strncmp(line, "cpu MHz", 7))
            mhz = strtod(colon + 1, NULL);
    }
    if (in)
        fclose(in);
    return mhz > 0 ? mhz : (double)NAN;
}

static double clock_of(int cpu)
{
    char   path[120];
    double khz;

    snprintf(path, sizeof path, CPUS "/cpu%d/cpufreq/scaling_cur_freq", cpu);
    khz = read_number(path);
    return khz > 0 ? khz / 1000 : cpuinfo_mhz(cpu);
}

/* ---- throttling ---------------------------------------------------------------------------------
 */

/* Sum of the counters of all CPUs; each core's is told by each of its threads, which does no harm.
 */
static double throttle_count(void)
{
    static const char *const counters[] = { "core_throttle_count", "package_throttle_count" };
    double                   sum        = NAN;
    char                     path[160];

    for (int cpu = 0;; cpu++) {
        bool any = false;

        for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
            double n;

            snprintf(path, sizeof path, CPUS "/cpu%d/thermal_throttle/%s", cpu, counters[i]);
            n = read_number(path);
            if (isnan(n))
                continue;
            any = true;
            sum = isnan(sum) ? n : sum + n;
        }
        if (!any)
            return sum;
    }
}

machine_state machine_state_unknown(void)
{
    return (machine_state){ .clock_mhz = NAN, .throttles = NAN };
}

machine_state machine_state_cpu(void)
{
    const int cpu = sched_getcpu();

    return (machine_state){ .clock_mhz = clock_of(cpu < 0 ? 0 : cpu),
                            .throttles = throttle_count() };
}

/* ---- provenance ---------------------------------------------------------------------------------
 */

void machine_describe_cpu(void (*put)(void *context, const char *key, const char *value),
                          void *context)
{
    const double        low   = read_number(CPUS "/cpu0/cpufreq/cpuinfo_min_freq");
    const double        high  = read_number(CPUS "/cpu0/cpufreq/cpuinfo_max_freq");
    const double        no    = read_number(CPUS "/intel_pstate/no_turbo");
    const double        boost = read_number(CPUS "/cpufreq/boost");
    const machine_state now   = machine_state_cpu();
    char                text[120];

    if (read_line(CPUS "/cpu0/cpufreq/scaling_governor", text, sizeof text))
        put(context, "cpu_governor", text);
    if (read_line(CPUS "/cpu0/cpufreq/scaling_driver", text, sizeof text))
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
