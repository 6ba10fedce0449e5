/**
 * Families of kernels.
 *
 * Each function is given k->base.kernel and k->base.use, and fills the rest of *k. On failure there
 * is nothing to release, and the text names the missing feature (cuda_unsupported()).
 */
#ifndef CALIBRATE_BACKENDS_CUDA_OPS_H
#define CALIBRATE_BACKENDS_CUDA_OPS_H

#include "cuda_kernels.h"

typedef lm_status ops_prepare(const cuda_device *device, const settings *how, cuda_kernel *k,
                              lm_error *err);

/* libraries: in the table of ops.c as soon as there is one */
ops_prepare ops_conv, ops_gemm, ops_norm, ops_pool, ops_softmax, ops_attention, ops_reduce;

/** ops_gemm() with the first operand (k,m) in memory, or the second (n,k). Slots: first, second,
 * bias where there is one, result, scratch where it is needed. */
lm_status ops_product(const cuda_device *device, const settings *how, cuda_kernel *k, bool a_turned,
                      bool b_turned, lm_error *err);

/* our own code */
ops_prepare ops_map, ops_update, ops_gather, ops_copy;

/** NULL: this backend has none. */
ops_prepare *ops_find(lm_op op, bool update);

#endif
