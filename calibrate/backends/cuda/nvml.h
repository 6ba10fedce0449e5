/** What the driver's management library (NVML) tells of a GPU: it is looked for at run time, and
 * everything it does not tell is unknown. */
#ifndef CALIBRATE_BACKENDS_CUDA_NVML_H
#define CALIBRATE_BACKENDS_CUDA_NVML_H

#include <stdbool.h>

typedef struct nvml nvml;

/** @param bus_id  "0000:1b:00.0", as cudaDeviceGetPCIBusId() says; NULL is returned without NVML */
nvml *nvml_open(const char *bus_id);
/** NULL is fine. */
void nvml_close(nvml *n);

/** NAN: unknown. */
typedef struct nvml_reading {
    double clock_mhz;         /**< of the multiprocessors, now; unknown while the GPU is idle */
    double held_down_seconds; /**< how long heat or power has held the clock down so far */
    bool   held_down;         /**< now */
} nvml_reading;

/** Takes about a millisecond, and nothing of the GPU. */
nvml_reading nvml_read(const nvml *n);

/** Provenance: driver, clocks, power limit, temperature, ECC, persistence, what holds the clock. */
void nvml_describe(const nvml *n, void (*put)(void *context, const char *key, const char *value),
                   void       *context);

#endif
