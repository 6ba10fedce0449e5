/**
 * Kernels that stay prepared from one point to the next.
 *
 * A library takes 10 ms to a second to choose and compile an implementation. Points that differ in
 * cache, launch or repetition have the same kernels, and networks of a family share many.
 */
#ifndef CALIBRATE_BACKENDS_CUDA_SHELF_H
#define CALIBRATE_BACKENDS_CUDA_SHELF_H

#include "cuda_kernels.h"

/** Prepared kernels that nobody uses are at most so many; the one that was used longest ago goes. */
enum { CUDA_SHELF_MOST = 512 };

cuda_shelf *cuda_shelf_new(void);
/** Releases all of them. NULL is fine. */
void cuda_shelf_free(cuda_shelf *shelf);

/**
 * A kernel as cuda_kernel_prepare() makes it: one of device->shelf that nobody uses, or a new one.
 *
 * @param out to be given back with cuda_shelf_give(); untouched on failure
 */
lm_status cuda_shelf_take(const cuda_device *device, const settings *how, const lm_kernel *k,
                          kernel_use use, cuda_kernel **out, lm_error *err);
/** What it was run on is forgotten. NULL is fine. */
void cuda_shelf_give(const cuda_device *device, cuda_kernel *k);

#endif
