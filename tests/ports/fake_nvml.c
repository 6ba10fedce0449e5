/* The driver's management library of a device that is not there: found under its name by whoever
 * has this folder in LD_LIBRARY_PATH. LAYERMETER_FAKE_HELD_DOWN=1: power holds its clock down;
 * LAYERMETER_FAKE_IDLE=1: nothing runs on it whenever it is asked. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct violation_time {
    unsigned long long reference, violation;
} violation_time;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *version, unsigned length);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **out);
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(void *device, int kind, unsigned *mhz);
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits);
int nvmlDeviceGetViolationStatus(void *device, int policy, violation_time *out);
int nvmlDeviceGetEccMode(void *device, int *current, int *pending);

static bool is_set(const char *name)
{
    const char *text = getenv(name);

    return text && *text == '1';
}

static bool held_down(void)
{
    return is_set("LAYERMETER_FAKE_HELD_DOWN");
}

static bool idle(void)
{
    return is_set("LAYERMETER_FAKE_IDLE");
}

int nvmlInit_v2(void)
{
    return 0;
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
    static int device;

    *out = &device;
    return strncmp(bus_id, "0000:", 5) != 0;
}

int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *mhz)
{
    (void)device;
    *mhz = kind != 1 ? 2619 : held_down() ? 1200 : idle() ? 345 : 1980;
    return 0;
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
    (void)device;
    *bits = held_down() ? 0x4 : idle() ? 0x1 : 0; /* the power cap; idle */
    return 0;
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
