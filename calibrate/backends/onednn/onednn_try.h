/** One kernel, once, on known contents: verify/verify.h. */
#ifndef CALIBRATE_BACKENDS_ONEDNN_TRY_H
#define CALIBRATE_BACKENDS_ONEDNN_TRY_H

#include "onednn_kernels.h"
#include "verify/verify.h"

/**
 * Runs the trial's kernel: errors of kernel_prepare(). LM_E_UNSUPPORTED also for kernels that stand for
 * another (RMS norms run as layer norms) or go on with memory of the library's own (places of maxima).
 */
lm_status onednn_try(const api_device *device, const team *t, verify_trial *trial, lm_error *err);

#endif
