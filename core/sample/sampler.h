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

/** A row; what the device does not say is empty. What holds the clock is a number in hexadecimal,
 * HELD_*, as nvidia-smi prints it. */
void sample_csv_row(FILE *out, const char *index, const device_sample *s);

#define SAMPLER_DEVICES_MAX 64

/** A sampled device. */
typedef struct sampler_device {
    char  index[16]; /**< "0", "1", ..., "cpu" */
    char  name[512]; /**< "NVIDIA H100 80GB HBM3", "CPU (RAPL package-0)", "CPU (no power: ...)" */
    nvml *gpu;       /**< NULL: the CPUs */
    /* Of the CPUs, since the last look. */
    cpu_power *power; /**< NULL: not told */
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
 * all GPUs, or the CPUs where there is no GPU
 * @return LM_E_ARG for what is none of these, LM_E_NOTFOUND for a GPU that is not there,
 * LM_E_UNSUPPORTED without NVML or a driver; LM_E_NOMEM
 */
lm_status sampler_open(const char *which, sampler **out, lm_error *err);
/** NULL is fine. */
void sampler_close(sampler *s);

/** A look at one device: about a millisecond, and nothing of the device's time. What a CPU's look
 * says of load and power is since the look before, which the first has not. */
device_sample sampler_look(sampler *s, size_t device);

#endif
