/** Kernels as oneDNN primitives or loops, with their buffers. */
#ifndef CALIBRATE_BACKENDS_ONEDNN_KERNELS_H
#define CALIBRATE_BACKENDS_ONEDNN_KERNELS_H

#include <stdbool.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>

#include "measure/plan.h"
#include "onednn_api.h"
#include "onednn_loops.h"

/** A prepared kernel; all launches of equal kernels share it. */
typedef struct prepared_kernel {
    plan_kernel   base;      /**< first */
    api_primitive primitive; /**< or */
    loop          loop;
} prepared_kernel;

/**
 * @param out     release with kernel_release(); untouched on failure
 * @return LM_E_UNSUPPORTED, or LM_E_NOMEM; the text names the kernel
 */
lm_status kernel_prepare(const api_device *device, const lm_kernel *k, kernel_use use,
                         prepared_kernel *out, lm_error *err);
void      kernel_release(prepared_kernel *k);

/** dnnl_data_type_undef for a type this backend does not compute in. */
dnnl_data_type_t kernel_data_type(lm_dtype dtype);

#endif
