/* The driver's management library of a device that is not there: found under its name by
 * whoever has this folder in LD_LIBRARY_PATH. LAYERMETER_FAKE_HELD_DOWN=1: power holds its
 * clock down; LAYERMETER_FAKE_IDLE=1: nothing runs on it whenever it is asked;
 * LAYERMETER_FAKE_RESTS=1: where nothing waits for the device its clock falls to 345 MHz, and the cause is
 * that it is idle;
 * LAYERMETER_FAKE_RISES=FILE: its clock rises from 345 MHz by 100 each time it is asked, which the
 * file lists.
 * LAYERMETER_FAKE_GPUS: how many there are, 2; LAYERMETER_FAKE_NVML: a file of what they say,
 * read each time: lines "0 power 350000". */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct violation_time {
    unsigned long long reference, violation;
} violation_time;

typedef struct utilization {
    unsigned gpu, memory;
} utilization;

typedef struct memory_info {
    unsigned long long total, free, used;
} memory_info;

int         nvmlInit_v2(void);
const char *nvmlErrorString(int code);
int         nvmlDeviceGetCount_v2(unsigned *out);
int         nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out);
int         nvmlDeviceGetName(void *device, char *name, unsigned length);
int         nvmlDeviceGetUtilizationRates(void *device, utilization *out);
int         nvmlDeviceGetMemoryInfo(void *device, memory_info *out);
int         nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
int         nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);
int         nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active);
int         nvmlDeviceGetNvLinkVersion(void *device, unsigned link, unsigned *version);
int         nvmlShutdown(void);
int         nvmlSystemGetDriverVersion(char *version, unsigned length);
int         nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **out);
int         nvmlDeviceGetClockInfo(void *device, int kind, unsigned *mhz);
int         nvmlDeviceGetMaxClockInfo(void *device, int kind, unsigned *mhz);
int         nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts);
int         nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
int         nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits);
int         nvmlDeviceGetViolationStatus(void *device, int policy, violation_time *out);
int         nvmlDeviceGetEccMode(void *device, int *current, int *pending);

static bool is_set(const char *name)
{
    const char *text = getenv(name);

    return text && *text == '1';
}

static bool held_down(void)
{
    return is_set("LAYERMETER_FAKE_HELD_DOWN");
}

extern bool fake_is_busy(void) __attribute__((weak)); /* of the program, where it has the device */

static bool idle(void)
{
    return is_set("LAYERMETER_FAKE_IDLE") ||
           (is_set("LAYERMETER_FAKE_RESTS") && fake_is_busy && !fake_is_busy());
}

static int gpus[8];

/* What the file says of a GPU, else `otherwise`. */
static unsigned long long told(void *device, const char *what, unsigned long long otherwise)
{
    const char        *path = getenv("LAYERMETER_FAKE_NVML");
    FILE              *in   = path ? fopen(path, "r") : NULL;
    const int          own  = (int)((int *)device - gpus);
    int                gpu;
    char               key[32];
    unsigned long long value;

    while (in && fscanf(in, "%d %31s %llu", &gpu, key, &value) == 3)
        if (gpu == own && !strcmp(key, what))
            otherwise = value;
    if (in)
        fclose(in);
    return otherwise;
}

/* 15: the GPU is lost; 3: it does not know that. */
static int answer(void *device, const char *what)
{
    return told(device, "lost", 0) ? 15 : told(device, what, 0) == 404 ? 3 : 0;
}

int nvmlInit_v2(void)
{
    return is_set("LAYERMETER_FAKE_NO_DRIVER") ? 9 : 0;
}

const char *nvmlErrorString(int code)
{
    return code == 9 ? "Driver Not Loaded" : code == 2 ? "Invalid Argument" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
    const char *text = getenv("LAYERMETER_FAKE_GPUS");

    *out = text ? (unsigned)atoi(text) : 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
    unsigned n;

    nvmlDeviceGetCount_v2(&n);
    *out = &gpus[index % 8];
    return index < n && index < 8 ? 0 : 2;
}

int nvmlDeviceGetName(void *device, char *name, unsigned length)
{
    (void)device;
    snprintf(name, length, "Fake GPU");
    return 0;
}

int nvmlDeviceGetUtilizationRates(void *device, utilization *out)
{
    *out = (utilization){ (unsigned)told(device, "busy", 97),
                          (unsigned)told(device, "memory_busy", 40) };
    return answer(device, "busy");
}

int nvmlDeviceGetMemoryInfo(void *device, memory_info *out)
{
    *out = (memory_info){ 80ull << 30, 60ull << 30, told(device, "memory", 20ull << 30) };
    return answer(device, "memory");
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = (unsigned)told(device, "power", 350000);
    return answer(device, "power");
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    *millijoules = told(device, "energy", 1000000);
    return answer(device, "energy");
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    snprintf(version, length, "580.1");
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **out)
{
    *out = &gpus[0];
    return strncmp(bus_id, "0000:", 5) != 0;
}

static unsigned rising(const char *path)
{
    static unsigned clock = 345;
    FILE           *out   = fopen(path, "a");

    clock = clock < 1880 ? clock + 100 : 1980;
    if (out) {
        fprintf(out, "%u\n", clock);
        fclose(out);
    }
    return clock;
}

int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *mhz)
{
    *mhz = kind != 1                         ? 2619
           : getenv("LAYERMETER_FAKE_RISES") ? rising(getenv("LAYERMETER_FAKE_RISES"))
           : held_down()                     ? 1200
           : idle()                          ? 345
                                             : (unsigned)told(device, "clock", 1980);
    return answer(device, "clock");
}

int nvmlDeviceGetMaxClockInfo(void *device, int kind, unsigned *mhz)
{
    (void)device;
    *mhz = kind == 1 ? 1980 : 2619;
    return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 700000;
    return 0;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    (void)device;
    (void)sensor;
    *celsius = 41;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits)
{
    *bits = held_down() ? 0x4 : idle() ? 0x1 : told(device, "held", 0); /* the power cap; idle */
    return answer(device, "held");
}

/* Each time it is asked, another second. */
int nvmlDeviceGetViolationStatus(void *device, int policy, violation_time *out)
{
    static unsigned long long seconds;

    (void)device;
    if (policy == 0 && held_down())
        seconds++;
    *out = (violation_time){ 1, policy == 0 ? seconds * 1000000000ull : 0 };
    return policy > 1;
}

int nvmlDeviceGetEccMode(void *device, int *current, int *pending)
{
    (void)device;
    *current = *pending = 1;
    return 0;
}

/* 4 links, of which "0 links_up 3" are up; version 4. */
int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active)
{
    if (link >= 4)
        return 2;
    *active = link < told(device, "links_up", 4);
    return 0;
}

int nvmlDeviceGetNvLinkVersion(void *device, unsigned link, unsigned *version)
{
    (void)device;
    *version = 4;
    return link < 4 ? 0 : 2;
}
