/** Elements of messages in device memory: known ones in, sums out. */
#ifndef CALIBRATE_BACKENDS_NCCL_VALUES_H
#define CALIBRATE_BACKENDS_NCCL_VALUES_H

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <stdbool.h>
#include <stdint.h>

#include <layermeter/error.h>
#include <layermeter/types.h>

/** NCCL's name of an element type; false: it has none. */
bool nccl_type(lm_dtype dtype, ncclDataType_t *out);

/**
 * Fills n elements so that each has one rank that brings something to its sum, in turns, and every
 * type holds it exactly: rank `i % size` brings `scale * (1 + i % 3)`, the others 0.
 */
lm_status nccl_fill(void *memory, int64_t n, lm_dtype dtype, int rank, int size, int scale,
                    lm_error *err);
/** Are all 1 + i % 3, but for `tolerance` of it? LM_E_IO if not, with the first that is wrong. */
lm_status nccl_check(const void *memory, int64_t n, lm_dtype dtype, double tolerance,
                     lm_error *err);

#endif
