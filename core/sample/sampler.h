/** Repeated samples of the devices of this machine, and their CSV, whose columns are named as
 * nvidia-smi's. */
#ifndef SAMPLE_SAMPLER_H
#define SAMPLE_SAMPLER_H

#include <stddef.h>
#include <stdio.h>

#include <layermeter/error.h>

#include "sample/cpu.h"
#include "sample/gpu_nvml.h"

/** The heading: times in s since 1970; the device is "0", ..., "cpu". */
void sample_csv_head(FILE *out);

/** A row; unknown values are empty. Causes that hold the clock are a hexadecimal number, HELD_*, as
 * nvidia-smi prints it. */
void sample_csv_row(FILE *out, const char *index, const device_sample *s);

#define SAMPLER_DEVICES_MAX 64

/** A sampled device. */
typedef struct sampler_device {
    char  index[16]; /**< "0", "1", ..., "cpu" */
    char  name[512]; /**< "NVIDIA H100 80GB HBM3", "CPU (RAPL package-0)", "CPU (no power: ...)" */
    nvml *gpu;       /**< NULL: the CPUs */
    /* Of the CPUs, at the last sample. */
    cpu_power *power; /**< NULL: unknown */
    cpu_time   last;
    double     throttles, throttles_at;
    bool       held;
} sampler_device;

typedef struct sampler {
    size_t         n;
    sampler_device device[SAMPLER_DEVICES_MAX];
} sampler;

/**
 * @param which "all" (GPUs), "0,2" (GPUs by the driver's numbers), "cpu", or both: "0,cpu"; NULL:
 * all GPUs, or the CPUs of a machine without GPU
 * @return LM_E_ARG for anything else, LM_E_NOTFOUND for an absent GPU, LM_E_UNSUPPORTED without
 * NVML or a driver; LM_E_NOMEM
 */
lm_status sampler_open(const char *which, sampler **out, lm_error *err);
/** NULL is fine. */
void sampler_close(sampler *s);

/** A sample of one device. Takes about a millisecond and no time of the device. Load and power of
 * CPUs are means since the sample before; the first sample has none. */
device_sample sampler_look(sampler *s, size_t device);

#endif
