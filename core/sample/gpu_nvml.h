/** A GPU as the driver's management library (NVML) reports it. The library is loaded at run time
 * ($LAYERMETER_NVML, else libnvidia-ml.so.1). Values that it does not report are unknown. */
#ifndef SAMPLE_GPU_NVML_H
#define SAMPLE_GPU_NVML_H

#include <stddef.h>

#include <layermeter/error.h>

#include "sample/device_sample.h"

typedef struct nvml nvml;

/** Number of GPUs. LM_E_UNSUPPORTED with the reason, without the library or a driver. */
lm_status nvml_count(size_t *out, lm_error *err);

/** @param bus_id "0000:1b:00.0", as from cudaDeviceGetPCIBusId(). NULL without NVML. */
nvml *nvml_open(const char *bus_id);
/** A GPU by its number, from 0. LM_E_UNSUPPORTED as above, or if the driver refuses it. */
lm_status nvml_open_at(size_t index, nvml **out, lm_error *err);
/** NULL is fine. */
void nvml_close(nvml *n);

/** "NVIDIA H100 80GB HBM3"; "": unknown. */
const char *nvml_name(const nvml *n);

/** NAN: unknown. */
typedef struct nvml_reading {
    double clock_mhz;         /**< of the multiprocessors, now; unknown while the GPU is idle */
    double held_down_seconds; /**< time so far in which heat or power held the clock down */
    bool   held_down;         /**< now */
} nvml_reading;

/** Takes about a millisecond and no time of the GPU. */
nvml_reading nvml_read(const nvml *n);

/** Everything but the time. */
device_sample nvml_sample(const nvml *n);

/** J since the driver was loaded, updated some ten times a second. NAN before Volta. */
double nvml_joules(const nvml *n);
/** W; Ampere and newer: mean of the last second. NAN: unknown. */
double nvml_watts(const nvml *n);

/** Provenance: driver, clocks, power limit, temperature, ECC, persistence, causes that hold the
 * clock. */
void nvml_describe(const nvml *n, void (*put)(void *context, const char *key, const char *value),
                   void       *context);

#endif
