/* Clocks and load of the CPUs. */
#include "sample/cpu_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/system_file.h"

#define CPUS "sys/devices/system/cpu"
/* A look at a clock may wake its CPU: a few tell enough. */
#define CLOCKS_MAX 8

/* "cpu MHz" of one processor in /proc/cpuinfo. */
static double cpuinfo_mhz(int cpu)
{
    FILE  *in  = system_open("proc/cpuinfo");
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

double cpu_clock_mhz(int cpu)
{
    char   path[120];
    double khz;

    snprintf(path, sizeof path, CPUS "/cpu%d/cpufreq/scaling_cur_freq", cpu);
    khz = system_number(path);
    return khz > 0 ? khz / 1000 : cpuinfo_mhz(cpu);
}

/* Lines "cpu0", "cpu1", ... of /proc/stat. */
static int n_cpus(void)
{
    FILE *in = system_open("proc/stat");
    char  line[512];
    int   n = 0;

    while (in && fgets(line, sizeof line, in))
        n += !strncmp(line, "cpu", 3) && line[3] >= '0' && line[3] <= '9';
    if (in)
        fclose(in);
    return n;
}

double cpu_mean_clock_mhz(void)
{
    const int all  = n_cpus();
    const int some = all < CLOCKS_MAX ? all : CLOCKS_MAX;
    double    sum  = 0;
    int       n    = 0;

    for (int i = 0; i < some; i++) {
        const double mhz = cpu_clock_mhz(i * all / some);

        if (isnan(mhz))
            continue;
        sum += mhz;
        n++;
    }
    return n ? sum / n : (double)NAN;
}

/* Each core's counter is told by each of its threads, which does no harm. */
double cpu_throttle_count(void)
{
    static const char *const counters[] = { "core_throttle_count", "package_throttle_count" };
    double                   sum        = NAN;
    char                     path[160];

    for (int cpu = 0;; cpu++) {
        bool any = false;

        for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
            double n;

            snprintf(path, sizeof path, CPUS "/cpu%d/thermal_throttle/%s", cpu, counters[i]);
            n = system_number(path);
            if (isnan(n))
                continue;
            any = true;
            sum = isnan(sum) ? n : sum + n;
        }
        if (!any)
            return sum;
    }
}

/* cpu  user nice system idle iowait irq softirq steal ... ; proc(5). Guests are users, too. */
cpu_time cpu_time_now(void)
{
    enum { IDLE = 3, IOWAIT = 4, N_KINDS = 8 };
    cpu_time t = { NAN, NAN };
    char     line[512], *at = line + 3;

    if (!system_line("proc/stat", line, sizeof line) || strncmp(line, "cpu ", 4) != 0)
        return t;
    t = (cpu_time){ 0, 0 };
    for (int i = 0; i < N_KINDS; i++) {
        char        *end;
        const double ticks = strtod(at, &end);

        if (end == at)
            return i > IDLE ? t : (cpu_time){ NAN, NAN };
        t.all += ticks;
        t.busy += i == IDLE || i == IOWAIT ? 0 : ticks;
        at = end;
    }
    return t;
}

double cpu_memory_bytes(void)
{
    FILE  *in    = system_open("proc/meminfo");
    double total = NAN, available = NAN;
    char   line[256];

    while (in && fgets(line, sizeof line, in)) {
        if (!strncmp(line, "MemTotal:", 9))
            total = strtod(line + 9, NULL);
        else if (!strncmp(line, "MemAvailable:", 13))
            available = strtod(line + 13, NULL);
    }
    if (in)
        fclose(in);
    return 1024 * (total - available);
}
