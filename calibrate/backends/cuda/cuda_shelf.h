/**
 * Kernels that stay prepared from one point to the next.
 *
 * A library takes 10 ms to a second to choose and compile an implementation. Points that differ in
 * cache, launch or repetition have the same kernels, and networks of a family share many.
 */
#ifndef CALIBRATE_BACKENDS_CUDA_SHELF_H
#define CALIBRATE_BACKENDS_CUDA_SHELF_H

#include "cuda_kernels.h"

/** Limit for idle prepared kernels; beyond it the least recently used one is released. */
enum { CUDA_SHELF_MOST = 512 };

cuda_shelf *cuda_shelf_new(void);
/** Releases all of them. NULL is fine. */
void cuda_shelf_free(cuda_shelf *shelf);

/**
 * Takes an idle kernel from device->shelf, or prepares a new one as cuda_kernel_prepare() does.
 *
 * @param out give it back with cuda_shelf_give(); unchanged on failure
 */
lm_status cuda_shelf_take(const cuda_device *device, const settings *how, const lm_kernel *k,
                          kernel_use use, cuda_kernel **out, lm_error *err);
/** Gives a kernel back; its buffers are detached. NULL is fine. */
void cuda_shelf_give(const cuda_device *device, cuda_kernel *k);

#endif
