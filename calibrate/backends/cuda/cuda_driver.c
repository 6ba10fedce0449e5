/* The driver's own interface, found through the runtime. */
#include "cuda_driver.h"

#include <string.h>

#include <cuda_runtime_api.h>

/* The interface of CUDA 12.0: its functions are in every driver that this program can use. */
enum { INTERFACE = 12000 };

static cudaError_t find(const char *name, void **out)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    cudaError_t                          status;

#if CUDART_VERSION >= 12050
    status = cudaGetDriverEntryPointByVersion(name, out, INTERFACE, cudaEnableDefault, &found);
#else
    status = cudaGetDriverEntryPoint(name, out, cudaEnableDefault, &found);
#endif
    if (status == cudaSuccess && (found != cudaDriverEntryPointSuccess || !*out))
        status = cudaErrorSymbolNotFound;
    return status;
}

lm_status cuda_driver_find(cuda_driver *out, lm_error *err)
{
    const struct {
        const char *name;
        void       *function;
    } wanted[] = {
        { "cuGetErrorString", &out->get_error_string },
        { "cuDeviceGet", &out->device_get },
        { "cuDeviceGetName", &out->device_get_name },
        { "cuDeviceGetUuid", &out->device_get_uuid },
        { "cuModuleLoadData", &out->module_load_data },
        { "cuModuleUnload", &out->module_unload },
        { "cuModuleGetFunction", &out->module_get_function },
        { "cuLaunchKernel", &out->launch_kernel },
    };

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void             *address = NULL;
        const cudaError_t status  = find(wanted[i].name, &address);

        if (status != cudaSuccess)
            return lm_error_set(err, LM_E_UNSUPPORTED, "the CUDA driver has no %s: %s",
                                wanted[i].name, cudaGetErrorString(status));
        /* ISO C has no conversion from an object's address to a function's: the bytes are copied */
        memcpy(wanted[i].function, &address, sizeof address);
    }
    return LM_OK;
}

lm_status cuda_driver_failed(const cuda_driver *driver, lm_error *err, const char *what,
                             CUresult cause)
{
    const char *text = NULL;
    lm_status   code = LM_E_IO;

    if (driver->get_error_string(cause, &text) != CUDA_SUCCESS || !text)
        text = "an error the driver has no text for";
    if (cause == CUDA_ERROR_OUT_OF_MEMORY || cause == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
        code = LM_E_NOMEM;
    else if (cause == CUDA_ERROR_NOT_SUPPORTED || cause == CUDA_ERROR_NO_BINARY_FOR_GPU ||
             cause == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
        code = LM_E_UNSUPPORTED;
    return lm_error_set(err, code, "%s: %s", what, text);
}
