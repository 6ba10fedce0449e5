/** Elements of messages in device memory: known ones in, sums out. */
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

/** Writes what a rank gives, n elements, times `scale` (small), behind each other. */
lm_status nccl_fill(void *memory, const trial *t, lm_dtype dtype, int scale, lm_error *err);
/** Is it what the rank gets, but for `tolerance` of it? LM_E_IO if not, with the first that is
 * wrong. */
lm_status nccl_check(const void *memory, const trial *t, lm_dtype dtype, double tolerance,
                     lm_error *err);

#endif
