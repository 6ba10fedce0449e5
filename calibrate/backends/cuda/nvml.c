/* What the driver's management library (NVML) tells of a GPU. */
#include "nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The few declarations that are needed: the toolkit may have no nvml.h. Names and numbers are those
 * of NVIDIA's "NVML API Reference Guide". */
typedef struct nvmlDevice_st *nvml_device;
typedef int                   nvml_result; /* 0: success */

typedef struct violation_time {
    unsigned long long reference, violation; /* microseconds since 1970; nanoseconds */
} violation_time;

enum {
    CLOCK_SM            = 1,
    CLOCK_MEMORY        = 2,
    TEMPERATURE_GPU     = 0,
    POLICY_POWER        = 0,
    POLICY_THERMAL      = 1,
    REASON_IDLE         = 0x1,
    REASON_POWER_CAP    = 0x4,
    REASON_HARDWARE     = 0x8,
    REASON_THERMAL      = 0x20,
    REASON_HARD_THERMAL = 0x40,
    REASON_POWER_BRAKE  = 0x80,
    REASONS_OF_HARDSHIP = REASON_POWER_CAP | REASON_HARDWARE | REASON_THERMAL |
                          REASON_HARD_THERMAL | REASON_POWER_BRAKE
};

struct nvml {
    void       *library;
    nvml_device device;

    nvml_result (*init)(void);
    nvml_result (*shutdown)(void);
    nvml_result (*driver_version)(char *version, unsigned length);
    nvml_result (*device_by_bus_id)(const char *bus_id, nvml_device *out);
    nvml_result (*clock)(nvml_device device, int kind, unsigned *mhz);
    nvml_result (*max_clock)(nvml_device device, int kind, unsigned *mhz);
    nvml_result (*power_limit)(nvml_device device, unsigned *milliwatts);
    nvml_result (*temperature)(nvml_device device, int sensor, unsigned *celsius);
    nvml_result (*reasons)(nvml_device device, unsigned long long *bits);
    nvml_result (*violation)(nvml_device device, int policy, violation_time *out);
    nvml_result (*ecc)(nvml_device device, int *current, int *pending);
    nvml_result (*persistence)(nvml_device device, int *mode);
};

/* ISO C has no conversion from an object's address to a function's: the bytes are copied. */
static void find(const nvml *n, const char *name, void *function)
{
    void *address = dlsym(n->library, name);

    memcpy(function, &address, sizeof address);
}

static void find_all(nvml *n)
{
    find(n, "nvmlInit_v2", &n->init);
    find(n, "nvmlShutdown", &n->shutdown);
    find(n, "nvmlSystemGetDriverVersion", &n->driver_version);
    find(n, "nvmlDeviceGetHandleByPciBusId_v2", &n->device_by_bus_id);
    find(n, "nvmlDeviceGetClockInfo", &n->clock);
    find(n, "nvmlDeviceGetMaxClockInfo", &n->max_clock);
    find(n, "nvmlDeviceGetEnforcedPowerLimit", &n->power_limit);
    find(n, "nvmlDeviceGetTemperature", &n->temperature);
    find(n, "nvmlDeviceGetCurrentClocksEventReasons", &n->reasons);
    if (!n->reasons) /* its name before NVML 12.2 */
        find(n, "nvmlDeviceGetCurrentClocksThrottleReasons", &n->reasons);
    find(n, "nvmlDeviceGetViolationStatus", &n->violation);
    find(n, "nvmlDeviceGetEccMode", &n->ecc);
    find(n, "nvmlDeviceGetPersistenceMode", &n->persistence);
}

nvml *nvml_open(const char *bus_id)
{
    nvml *n = calloc(1, sizeof *n);

    if (!n)
        return NULL;
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->library)
        goto out;
    find_all(n);
    if (!n->init || !n->shutdown || !n->device_by_bus_id || n->init() != 0)
        goto out;
    if (n->device_by_bus_id(bus_id, &n->device) == 0)
        return n;
    n->shutdown();
out:
    if (n->library)
        dlclose(n->library);
    free(n);
    return NULL;
}

void nvml_close(nvml *n)
{
    if (!n)
        return;
    n->shutdown();
    dlclose(n->library);
    free(n);
}

/* ---- now ------------------------------------------------------------------------------------- */

static double clock_of(const nvml *n, nvml_result (*ask)(nvml_device, int, unsigned *), int kind)
{
    unsigned mhz = 0;

    return ask && ask(n->device, kind, &mhz) == 0 ? (double)mhz : (double)NAN;
}

static double violation_seconds(const nvml *n, int policy)
{
    violation_time t = { 0, 0 };

    if (!n->violation || n->violation(n->device, policy, &t) != 0)
        return (double)NAN;
    return 1e-9 * (double)t.violation;
}

static unsigned long long reasons(const nvml *n)
{
    unsigned long long bits = 0;

    return n->reasons && n->reasons(n->device, &bits) == 0 ? bits : 0;
}

nvml_reading nvml_read(const nvml *n)
{
    const double             power = violation_seconds(n, POLICY_POWER);
    const double             heat  = violation_seconds(n, POLICY_THERMAL);
    const unsigned long long bits  = reasons(n);

    return (nvml_reading){
        /* at rest it is low because there is nothing to do, which says nothing of a measurement */
        .clock_mhz         = bits & REASON_IDLE ? (double)NAN : clock_of(n, n->clock, CLOCK_SM),
        .held_down_seconds = isnan(power)  ? heat
                             : isnan(heat) ? power
                                           : power + heat,
        .held_down         = (bits & REASONS_OF_HARDSHIP) != 0,
    };
}

/* ---- provenance ------------------------------------------------------------------------------ */

typedef struct putter {
    void (*put)(void *context, const char *key, const char *value);
    void *context;
} putter;

static void put_number(const putter *p, const char *key, const char *format, double value)
{
    char text[64];

    if (isnan(value))
        return;
    snprintf(text, sizeof text, format, value);
    p->put(p->context, key, text);
}

static void put_clocks(const nvml *n, const putter *p)
{
    put_number(p, "gpu_clock", "%.0f MHz", clock_of(n, n->clock, CLOCK_SM));
    put_number(p, "gpu_clock_max", "%.0f MHz", clock_of(n, n->max_clock, CLOCK_SM));
    put_number(p, "gpu_memory_clock", "%.0f MHz", clock_of(n, n->clock, CLOCK_MEMORY));
    put_number(p, "gpu_memory_clock_max", "%.0f MHz", clock_of(n, n->max_clock, CLOCK_MEMORY));
}

static void put_held_down(const nvml *n, const putter *p)
{
    static const struct {
        unsigned    bit;
        const char *name;
    } known[]                         = { { REASON_POWER_CAP, "power cap" },
                                          { REASON_HARDWARE, "hardware" },
                                          { REASON_THERMAL, "heat" },
                                          { REASON_HARD_THERMAL, "heat (hardware)" },
                                          { REASON_POWER_BRAKE, "power brake" } };
    const unsigned long long bits     = reasons(n);
    char                     text[80] = "";

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const size_t at = strlen(text);

        if (bits & known[i].bit)
            snprintf(text + at, sizeof text - at, "%s%s", at ? ", " : "", known[i].name);
    }
    if (n->reasons)
        p->put(p->context, "gpu_clock_held_down_by", text[0] ? text : "nothing");
}

static void put_modes(const nvml *n, const putter *p)
{
    int on = 0, pending = 0;

    if (n->ecc && n->ecc(n->device, &on, &pending) == 0)
        p->put(p->context, "gpu_ecc", on ? "on" : "off");
    if (n->persistence && n->persistence(n->device, &on) == 0)
        p->put(p->context, "gpu_persistence", on ? "on" : "off");
}

void nvml_describe(const nvml *n, void (*put)(void *context, const char *key, const char *value),
                   void       *context)
{
    const putter p = { put, context };
    unsigned     value;
    char         version[96] = "";

    if (n->driver_version && n->driver_version(version, sizeof version) == 0)
        put(context, "gpu_driver", version);
    put_clocks(n, &p);
    if (n->power_limit && n->power_limit(n->device, &value) == 0)
        put_number(&p, "gpu_power_limit", "%.0f W", 1e-3 * (double)value);
    if (n->temperature && n->temperature(n->device, TEMPERATURE_GPU, &value) == 0)
        put_number(&p, "gpu_temperature", "%.0f degrees Celsius", (double)value);
    put_held_down(n, &p);
    put_modes(n, &p);
}
