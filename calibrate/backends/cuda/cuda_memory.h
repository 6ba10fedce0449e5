/** The pool behind cuda_borrow(): see cuda_device.h. */
#ifndef CALIBRATE_BACKENDS_CUDA_MEMORY_H
#define CALIBRATE_BACKENDS_CUDA_MEMORY_H

#include "cuda_device.h"

lm_status cuda_pool_new(cuda_pool **out, lm_error *err);
/** Frees the pool with all borrowed memory. NULL is fine. */
void cuda_pool_free(cuda_pool *pool);

#endif
