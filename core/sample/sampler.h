/** Repeated samples of the devices of this machine, and their CSV, whose columns are named as nvidia-smi's. */
#ifndef SAMPLE_SAMPLER_H
#define SAMPLE_SAMPLER_H

#include <stddef.h>
#include <stdio.h>

#include <layermeter/error.h>

#include "sample/device_sample.h"

/** The heading: times in s since 1970; the device is "0", ..., "cpu". */
void sample_csv_head(FILE *out);

/** A row; what the device does not say is empty. What holds the clock is a number in hexadecimal,
 * HELD_*, as nvidia-smi prints it. */
void sample_csv_row(FILE *out, const char *index, const device_sample *s);

#define SAMPLER_DEVICES_MAX 64

typedef struct sampler sampler;

/**
 * @param which "all" (GPUs), "0,2" (GPUs by the driver's numbers), "cpu", or both: "0,cpu"; NULL:
 * all GPUs, or the CPUs where there is no GPU
 * @return LM_E_ARG for what is none of these, LM_E_NOTFOUND for a GPU that is not there,
 * LM_E_UNSUPPORTED without NVML or a driver; LM_E_NOMEM
 */
lm_status sampler_open(const char *which, sampler **out, lm_error *err);
/** NULL is fine. */
void sampler_close(sampler *s);

size_t sampler_count(const sampler *s);
/** "0", "1", ..., "cpu" */
const char *sampler_index(const sampler *s, size_t device);
/** "NVIDIA H100 80GB HBM3", "CPU (RAPL package-0)", "CPU (no power: ...)" */
const char *sampler_name(const sampler *s, size_t device);

/** A look at one device: about a millisecond, and nothing of the device's time. What a CPU's look
 * says of load and power is since the look before, which the first has not. */
device_sample sampler_look(sampler *s, size_t device);

#endif
