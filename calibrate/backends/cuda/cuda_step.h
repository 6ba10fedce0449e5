/** The native step on a GPU: see run_step in backend.h. */
#ifndef CALIBRATE_BACKENDS_CUDA_STEP_H
#define CALIBRATE_BACKENDS_CUDA_STEP_H

#include "cuda_case.h"

/** Runs one step. All-reduces run in the collective's own stream, after the kernels that complete
 * their buckets. The update waits for them on the device, not on the host. */
lm_status cuda_step_run(cuda_case *c, const step_sync *sync, step_time *out, lm_error *err);

#endif
