/* A GPU by the driver's management library (NVML). */
#include "sample/gpu_nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/symbol.h"
#include "base/text.h"

/* Our own declarations, because the toolkit may have no nvml.h. Names and numbers are those of
 * NVIDIA's "NVML API Reference Guide". */
typedef struct nvmlDevice_st *nvml_device;
typedef int                   nvml_result; /* 0: success */

typedef struct violation_time {
    unsigned long long reference, violation; /* microseconds since 1970; nanoseconds */
} violation_time;

typedef struct utilization {
    unsigned gpu, memory; /* percent */
} utilization;

typedef struct memory_info {
    unsigned long long total, free, used; /* bytes */
} memory_info;

enum {
    CLOCK_SM        = 1,
    CLOCK_MEMORY    = 2,
    TEMPERATURE_GPU = 0,
    POLICY_POWER    = 0,
    POLICY_THERMAL  = 1,
    RESULT_LOST     = 15,
    MOST_LINKS      = 18 /* NVML_NVLINK_MAX_LINKS */
};

#define LIBRARY "libnvidia-ml.so.1"

struct nvml {
    void       *library;
    nvml_device device;
    char        name[96];

    nvml_result (*init)(void);
    nvml_result (*shutdown)(void);
    nvml_result (*driver_version)(char *version, unsigned length);
    const char *(*error_string)(nvml_result code);
    nvml_result (*count)(unsigned *out);
    nvml_result (*device_by_index)(unsigned index, nvml_device *out);
    nvml_result (*device_by_bus_id)(const char *bus_id, nvml_device *out);
    nvml_result (*device_name)(nvml_device device, char *name, unsigned length);
    nvml_result (*utilization)(nvml_device device, utilization *out);
    nvml_result (*memory)(nvml_device device, memory_info *out);
    nvml_result (*power)(nvml_device device, unsigned *milliwatts);
    nvml_result (*energy)(nvml_device device, unsigned long long *millijoules);
    nvml_result (*clock)(nvml_device device, int kind, unsigned *mhz);
    nvml_result (*max_clock)(nvml_device device, int kind, unsigned *mhz);
    nvml_result (*power_limit)(nvml_device device, unsigned *milliwatts);
    nvml_result (*temperature)(nvml_device device, int sensor, unsigned *celsius);
    nvml_result (*reasons)(nvml_device device, unsigned long long *bits);
    nvml_result (*violation)(nvml_device device, int policy, violation_time *out);
    nvml_result (*ecc)(nvml_device device, int *current, int *pending);
    nvml_result (*persistence)(nvml_device device, int *mode);
    nvml_result (*link_state)(nvml_device device, unsigned link, int *active);
    nvml_result (*link_version)(nvml_device device, unsigned link, unsigned *version);
};

static void find(const nvml *n, const char *name, void *function)
{
    symbol_find(n->library, name, function);
}

static void find_all(nvml *n)
{
    find(n, "nvmlInit_v2", &n->init);
    find(n, "nvmlShutdown", &n->shutdown);
    find(n, "nvmlSystemGetDriverVersion", &n->driver_version);
    find(n, "nvmlErrorString", &n->error_string);
    find(n, "nvmlDeviceGetCount_v2", &n->count);
    find(n, "nvmlDeviceGetHandleByIndex_v2", &n->device_by_index);
    find(n, "nvmlDeviceGetHandleByPciBusId_v2", &n->device_by_bus_id);
    find(n, "nvmlDeviceGetName", &n->device_name);
    find(n, "nvmlDeviceGetUtilizationRates", &n->utilization);
    find(n, "nvmlDeviceGetMemoryInfo", &n->memory);
    find(n, "nvmlDeviceGetPowerUsage", &n->power);
    find(n, "nvmlDeviceGetTotalEnergyConsumption", &n->energy);
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
    find(n, "nvmlDeviceGetNvLinkState", &n->link_state);
    find(n, "nvmlDeviceGetNvLinkVersion", &n->link_version);
}

static lm_status failed(const nvml *n, const char *what, nvml_result code, lm_error *err)
{
    const char *text = n->error_string ? n->error_string(code) : NULL;

    return lm_error_set(err, LM_E_UNSUPPORTED, "NVML, %s: %s (%d)", what, text ? text : "failed",
                        code);
}

static void library_close(nvml *n)
{
    if (n && n->library)
        dlclose(n->library);
    free(n);
}

/* The library, initialised, without a device yet. */
static lm_status library_open(nvml **out, lm_error *err)
{
    const char *path   = getenv("LAYERMETER_NVML");
    nvml       *n      = calloc(1, sizeof *n);
    lm_status   status = LM_OK;
    nvml_result code;

    if (!n)
        return no_memory(err);
    n->library = dlopen(path && *path ? path : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!n->library) {
        status = lm_error_set(err, LM_E_UNSUPPORTED,
                              "no NVML, which comes with NVIDIA's driver: %s", dlerror());
    } else {
        find_all(n);
        if (!n->init || !n->shutdown || !n->device_by_bus_id)
            status = lm_error_set(err, LM_E_UNSUPPORTED,
                                  "NVML is older than 5.319: it lacks what is asked of it");
        else if ((code = n->init()) != 0)
            status = failed(n, "nvmlInit_v2", code, err);
    }
    if (status)
        library_close(n);
    else
        *out = n;
    return status;
}

lm_status nvml_count(size_t *out, lm_error *err)
{
    nvml       *n     = NULL;
    unsigned    count = 0;
    nvml_result code;
    lm_status   status = library_open(&n, err);

    if (status)
        return status;
    code = n->count ? n->count(&count) : 1;
    if (code)
        status = failed(n, "nvmlDeviceGetCount_v2", code, err);
    else
        *out = count;
    nvml_close(n);
    return status;
}

static void name_device(nvml *n)
{
    if (!n->device_name || n->device_name(n->device, n->name, sizeof n->name) != 0)
        n->name[0] = '\0';
}

nvml *nvml_open(const char *bus_id)
{
    nvml *n = NULL;

    if (library_open(&n, NULL))
        return NULL;
    if (n->device_by_bus_id(bus_id, &n->device) == 0) {
        name_device(n);
        return n;
    }
    nvml_close(n);
    return NULL;
}

lm_status nvml_open_at(size_t index, nvml **out, lm_error *err)
{
    nvml       *n      = NULL;
    lm_status   status = library_open(&n, err);
    nvml_result code;

    if (status)
        return status;
    code = n->device_by_index ? n->device_by_index((unsigned)index, &n->device) : 1;
    if (code) {
        status = failed(n, "nvmlDeviceGetHandleByIndex_v2", code, err);
        nvml_close(n);
        return status;
    }
    name_device(n);
    *out = n;
    return LM_OK;
}

void nvml_close(nvml *n)
{
    if (n)
        n->shutdown();
    library_close(n);
}

const char *nvml_name(const nvml *n)
{
    return n->name;
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

/* Bits of HELD_*; false: unknown. */
static bool reasons(const nvml *n, unsigned long long *bits)
{
    *bits = 0;
    return n->reasons && n->reasons(n->device, bits) == 0;
}

double nvml_joules(const nvml *n)
{
    unsigned long long millijoules = 0;

    return n->energy && n->energy(n->device, &millijoules) == 0 ? 1e-3 * (double)millijoules
                                                                : (double)NAN;
}

double nvml_watts(const nvml *n)
{
    unsigned milliwatts = 0;

    return n->power && n->power(n->device, &milliwatts) == 0 ? 1e-3 * (double)milliwatts
                                                             : (double)NAN;
}

device_sample nvml_sample(const nvml *n)
{
    device_sample      s      = device_sample_unknown();
    utilization        used   = { 0, 0 };
    memory_info        memory = { 0, 0, 0 };
    unsigned           value  = 0;
    unsigned long long bits;
    nvml_result        code = 0;

    if (n->utilization && (code = n->utilization(n->device, &used)) == 0) {
        s.busy        = (double)used.gpu;
        s.memory_busy = (double)used.memory;
    }
    s.lost = code == RESULT_LOST;
    if (n->memory && n->memory(n->device, &memory) == 0)
        s.memory_bytes = (double)memory.used;
    s.watts  = nvml_watts(n);
    s.joules = nvml_joules(n);
    if (n->power_limit && n->power_limit(n->device, &value) == 0)
        s.limit_watts = 1e-3 * (double)value;
    s.clock_mhz        = clock_of(n, n->clock, CLOCK_SM);
    s.memory_clock_mhz = clock_of(n, n->clock, CLOCK_MEMORY);
    if (n->temperature && n->temperature(n->device, TEMPERATURE_GPU, &value) == 0)
        s.celsius = (double)value;
    s.held_known = reasons(n, &bits);
    s.held       = bits;
    return s;
}

nvml_reading nvml_read(const nvml *n)
{
    const double       power = violation_seconds(n, POLICY_POWER);
    const double       heat  = violation_seconds(n, POLICY_THERMAL);
    unsigned long long bits;

    reasons(n, &bits);
    return (nvml_reading){
        /* the low clock of an idle GPU does not apply to a measurement */
        .clock_mhz         = bits & HELD_IDLE ? (double)NAN : clock_of(n, n->clock, CLOCK_SM),
        .held_down_seconds = isnan(power)  ? heat
                             : isnan(heat) ? power
                                           : power + heat,
        .held_down         = (bits & HELD_BY_HARDSHIP) != 0,
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
    } known[] = { { HELD_POWER_CAP, "power cap" },
                  { HELD_HARDWARE, "hardware" },
                  { HELD_THERMAL, "heat" },
                  { HELD_HARD_THERMAL, "heat (hardware)" },
                  { HELD_POWER_BRAKE, "power brake" } };
    unsigned long long bits;
    char               text[80] = "";

    reasons(n, &bits);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (bits & known[i].bit)
            text_add(text, sizeof text, "%s%s", *text ? ", " : "", known[i].name);
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

/* "18 of 18 active, version 4": the number is NVML's own, a generation. */
static void put_links(const nvml *n, const putter *p)
{
    unsigned links = 0, up = 0, version = 0, most = 0;
    int      active;
    char     text[64];

    for (unsigned i = 0; n->link_state && i < MOST_LINKS; i++) {
        active = 0;
        if (n->link_state(n->device, i, &active) != 0)
            break;
        links++;
        up += active != 0;
        if (active && n->link_version && n->link_version(n->device, i, &version) == 0)
            most = version > most ? version : most;
    }
    if (!links)
        return;
    snprintf(text, sizeof text, most ? "%u of %u active, version %u" : "%u of %u active", up, links,
             most);
    p->put(p->context, "gpu_nvlink", text);
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
    put_links(n, &p);
}
