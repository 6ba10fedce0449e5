/* Power, clocks and load of the CPUs, read from files below /proc and /sys. */
#include "sample/cpu.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/no_memory.h"

static const char *below_root(const char *path, char full[520])
{
    const char *root = getenv("LAYERMETER_SYSTEM_ROOT");

    snprintf(full, 520, "%.250s/%.250s", root ? root : "", path);
    return full;
}

/* NULL, with errno, if the file cannot be read. */
static FILE *system_open(const char *path)
{
    char full[520];

    return fopen(below_root(path, full), "r");
}

static DIR *system_folder(const char *path)
{
    char full[520];

    return opendir(below_root(path, full));
}

bool system_line(const char *path, char *text, size_t size)
{
    FILE *in = system_open(path);
    bool  ok;

    if (!in)
        return false;
    ok = fgets(text, (int)size, in) != NULL;
    fclose(in);
    if (ok)
        text[strcspn(text, "\n")] = '\0';
    return ok && *text;
}

double system_number(const char *path)
{
    char   text[64], *end;
    double value;

    if (!system_line(path, text, sizeof text))
        return NAN;
    value = strtod(text, &end);
    return end > text ? value : (double)NAN;
}

#define CPUS "sys/devices/system/cpu"
/* Reading a clock may wake its CPU: a few suffice. */
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

/* Threads of a core count twice; that is harmless. */
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

#define POWERCAP  "sys/class/powercap"
#define HWMON     "sys/class/hwmon"
#define ZONES_MAX 32
#define PATH_SIZE 200

typedef struct zone {
    char   path[PATH_SIZE]; /* of its energy_uj */
    double range, last;     /* uJ: before it wraps around; when it was read */
} zone;

struct cpu_power {
    char   source[200];
    char   sensor[PATH_SIZE]; /* "": there are counters */
    zone   zone[ZONES_MAX];
    size_t n;
    double joules;
    double asked_joules, asked_at; /* by cpu_power_watts() */
};

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- energy counters ------------------------------------------------------------------------- */

/*
 * intel-rapl:0 is a package (AMD's, too), intel-rapl:0:2 a part of it. Cores and graphics are in
 * the package's count, its memory is not. "psys" is the whole platform, with the packages.
 * intel-rapl-mmio:0 is the same package through another interface.
 */
static bool is_wanted(const char *folder, const char *name)
{
    if (strncmp(folder, "intel-rapl:", 11) != 0)
        return false;
    return strchr(folder + 11, ':') ? !strcmp(name, "dram") : !strncmp(name, "package", 7);
}

static void name_source(cpu_power *p, const char *name)
{
    const size_t used = strlen(p->source);

    snprintf(p->source + used, sizeof p->source - used, "%s%s", used ? ", " : "RAPL ", name);
}

/* Folders in order, so that the source is named the same each time. */
static int compare_names(const void *a, const void *b)
{
    return strcmp((const char *)a, (const char *)b);
}

/* Names of a folder's entries, sorted; *n of them. */
static size_t list(const char *path, char (*name)[64], size_t max)
{
    DIR           *folder = system_folder(path);
    struct dirent *entry;
    size_t         n = 0;

    while (folder && n < max && (entry = readdir(folder)))
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < 64)
            strcpy(name[n++], entry->d_name);
    if (folder)
        closedir(folder);
    qsort(name, n, sizeof *name, compare_names);
    return n;
}

static lm_status add_zone(cpu_power *p, const char *folder, const char *name, lm_error *err)
{
    zone *z = &p->zone[p->n];
    char  path[PATH_SIZE];
    FILE *in;

    snprintf(z->path, sizeof z->path, POWERCAP "/%.63s/energy_uj", folder);
    snprintf(path, sizeof path, POWERCAP "/%.63s/max_energy_range_uj", folder);
    in = system_open(z->path);
    if (!in && errno == EACCES)
        return lm_error_set(err, LM_E_IO,
                            "/%s: %s: only root reads it: run as root, or 'chmod a+r' it", z->path,
                            strerror(errno));
    if (in)
        fclose(in);
    z->last  = system_number(z->path);
    z->range = system_number(path);
    if (z->last >= 0) {
        p->n++;
        name_source(p, name);
    }
    return LM_OK;
}

static lm_status find_zones(cpu_power *p, lm_error *err)
{
    char         folder[256][64], name[64], path[PATH_SIZE];
    const size_t n      = list(POWERCAP, folder, 256);
    lm_status    status = LM_OK;

    for (size_t i = 0; i < n && !status && p->n < ZONES_MAX; i++) {
        snprintf(path, sizeof path, POWERCAP "/%.63s/name", folder[i]);
        if (system_line(path, name, sizeof name) && is_wanted(folder[i], name))
            status = add_zone(p, folder[i], name, err);
    }
    return status;
}

/* ---- sensors --------------------------------------------------------------------------------- */

/* Chips with the power of CPUs, then of the machine. GPUs and disks have others. */
static const char *const chips[] = { "zenpower", "fam15h_power", "power_meter" };

/* Its first power, now or on average. */
static bool has_power(const char *folder, char path[PATH_SIZE])
{
    static const char *const files[] = { "power1_input", "power1_average" };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, PATH_SIZE, HWMON "/%.63s/%s", folder, files[i]);
        if (!isnan(system_number(path)))
            return true;
    }
    return false;
}

static void find_sensor(cpu_power *p)
{
    char         folder[256][64], name[64], path[PATH_SIZE];
    const size_t n = list(HWMON, folder, 256);

    for (size_t c = 0; c < sizeof chips / sizeof chips[0]; c++)
        for (size_t i = 0; i < n; i++) {
            snprintf(path, sizeof path, HWMON "/%.63s/name", folder[i]);
            if (!system_line(path, name, sizeof name) || strcmp(name, chips[c]) != 0 ||
                !has_power(folder[i], p->sensor))
                continue;
            snprintf(p->source, sizeof p->source, "hwmon %s%s", name,
                     strcmp(name, "power_meter") ? "" : " (whole machine)");
            return;
        }
    p->sensor[0] = '\0';
}

/* ---- door ------------------------------------------------------------------------------------ */

lm_status cpu_power_open(cpu_power **out, lm_error *err)
{
    cpu_power *p = calloc(1, sizeof *p);
    lm_error   why;
    lm_status  status;

    if (!p)
        return no_memory(err);
    p->asked_at = NAN;
    status      = find_zones(p, &why);
    if (status || !p->n) {
        p->n = 0;
        find_sensor(p);
    }
    if (p->n || *p->sensor) {
        *out = p;
        return LM_OK;
    }
    free(p);
    if (status) {
        if (err)
            *err = why;
        return status;
    }
    return lm_error_set(err, LM_E_NOTFOUND,
                        "no power of CPUs: neither RAPL in /" POWERCAP
                        " (module intel_rapl_msr) nor a sensor in /" HWMON);
}

void cpu_power_close(cpu_power *p)
{
    free(p);
}

const char *cpu_power_source(const cpu_power *p)
{
    return p->source;
}

double cpu_power_joules(cpu_power *p)
{
    double sum = 0;

    if (!p->n)
        return NAN;
    for (size_t i = 0; i < p->n; i++) {
        zone        *z    = &p->zone[i];
        const double now  = system_number(z->path);
        double       used = now - z->last;

        if (used < 0)
            used += z->range;
        z->last = now;
        sum += 1e-6 * used; /* NAN once a counter is unknown */
    }
    p->joules += sum;
    return p->joules;
}

double cpu_power_watts(cpu_power *p)
{
    double joules, now, watts;

    if (*p->sensor)
        return 1e-6 * system_number(p->sensor);
    joules = cpu_power_joules(p);
    now    = seconds_now();
    if (isnan(p->asked_at)) {
        p->asked_joules = joules;
        p->asked_at     = now;
        return NAN;
    }
    if (joules == p->asked_joules) /* the counter moves once a millisecond or so */
        return NAN;
    watts           = (joules - p->asked_joules) / (now - p->asked_at);
    p->asked_joules = joules;
    p->asked_at     = now;
    return watts;
}
