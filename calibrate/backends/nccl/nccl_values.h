/** Elements of messages in device memory: writes known values, checks sums. */
#ifndef CALIBRATE_BACKENDS_NCCL_VALUES_H
#define CALIBRATE_BACKENDS_NCCL_VALUES_H

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <stdbool.h>
#include <stdint.h>

#include <layermeter/error.h>
#include <layermeter/types.h>

#include "backends/trial.h"

/** NCCL's name of an element type; false: it has none. */
bool nccl_type(lm_dtype dtype, ncclDataType_t *out);

/** Writes the n elements that a rank sends, times `scale` (a small number). */
lm_status nccl_fill(void *memory, const trial *t, lm_dtype dtype, int scale, lm_error *err);
/** Checks received elements, with a relative `tolerance`. LM_E_IO names the first wrong one. */
lm_status nccl_check(const void *memory, const trial *t, lm_dtype dtype, double tolerance,
                     lm_error *err);

#endif
