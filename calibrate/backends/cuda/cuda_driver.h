/** The driver's own interface, found through the runtime. libcuda is not linked, so the program
 * also starts without a driver. */
#ifndef CALIBRATE_BACKENDS_CUDA_DRIVER_H
#define CALIBRATE_BACKENDS_CUDA_DRIVER_H

#include <cuda.h>

#include <layermeter/error.h>

/** The used functions, under their names without "cu". */
typedef struct cuda_driver {
    CUresult (*get_error_string)(CUresult code, const char **out);
    CUresult (*device_get)(CUdevice *out, int ordinal);
    CUresult (*device_get_name)(char *name, int size, CUdevice device);
    CUresult (*device_get_uuid)(CUuuid *out, CUdevice device);
    CUresult (*module_load_data)(CUmodule *out, const void *image);
    CUresult (*module_unload)(CUmodule module);
    CUresult (*module_get_function)(CUfunction *out, CUmodule module, const char *name);
    CUresult (*launch_kernel)(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared_bytes, CUstream stream, void **arguments,
                              void **extra);
} cuda_driver;

/** LM_E_UNSUPPORTED if the driver lacks one; the text names it. */
lm_status cuda_driver_find(cuda_driver *out, lm_error *err);

/** As cuda_failed(), for codes of the driver. */
lm_status cuda_driver_failed(const cuda_driver *driver, lm_error *err, const char *what,
                             CUresult cause);

#endif
