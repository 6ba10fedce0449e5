/** Sums by our own kernels, of any element type: cuDNN's know no bf16, and refuse groups of one. */
#ifndef CALIBRATE_BACKENDS_CUDA_SUMS_H
#define CALIBRATE_BACKENDS_CUDA_SUMS_H

#include <stdint.h>

#include "cuda_device.h"
#include "cuda_kernels.h"

/** Of head x kept x group x inner elements, over the first and third axes. A bias' gradient of
 * N,C,H,W: N, C, H*W, 1; of N,H,W,C: 1, 1, N*H*W, C. */
typedef struct cuda_sum {
    int64_t head, kept, group, inner;
} cuda_sum;

/** Bytes of scratch memory it needs; 0: none. */
uint64_t cuda_sum_scratch(const cuda_device *device, lm_dtype type, const cuda_sum *s);

/** Enqueues it: one launch, or two where few results are of many elements. Sums are in f32, in an
 * order that does not change. `scratch` may be NULL where none is needed. */
lm_status cuda_sum_run(const cuda_device *device, lm_dtype type, const cuda_sum *s, void *from,
                       void *to, void *scratch, lm_error *err);

#endif
