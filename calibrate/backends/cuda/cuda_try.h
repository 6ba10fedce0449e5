/** One kernel, once, on known contents: verify/verify.h. */
#ifndef CALIBRATE_BACKENDS_CUDA_TRY_H
#define CALIBRATE_BACKENDS_CUDA_TRY_H

#include "cuda_device.h"
#include "verify/verify.h"

/** Runs the trial's kernel: errors of cuda_kernel_prepare() and cuda_kernel_run(). */
lm_status cuda_try(const cuda_device *device, verify_trial *t, lm_error *err);

#endif
