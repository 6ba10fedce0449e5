/* The driver and the compiler of a device that is not there: kernels are known by their names. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>
#include <nvrtc.h>

#include "fake.h"

/* ---- driver ------------------------------------------------------------------------------------
 */

struct CUfunc_st {
    struct CUfunc_st *next;
    fake_kernel      *run;
    size_t            argument_bytes;
};

struct CUmod_st {
    struct CUfunc_st *functions;
};

static CUresult get_error_string(CUresult code, const char **out)
{
    *out = cudaGetErrorString((cudaError_t)code);
    return CUDA_SUCCESS;
}

static CUresult device_get(CUdevice *out, int ordinal)
{
    *out = ordinal;
    return CUDA_SUCCESS;
}

static CUresult device_get_name(char *name, int size, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)size, "Fake device");
    return CUDA_SUCCESS;
}

/* Another one for each who starts us: tests run side by side. Of all instances of a shared GPU the same, as
 * the driver's interface before CUDA 11.4 tells it. */
static CUresult device_get_uuid_old(CUuuid *out, CUdevice device)
{
    const long parent = (long)getppid();

    memset(out, 0, sizeof *out);
    memcpy(out->bytes, &parent, sizeof parent);
    memcpy(out->bytes + sizeof parent, &device, sizeof device);
    return CUDA_SUCCESS;
}

static CUresult device_get_uuid(CUuuid *out, CUdevice device)
{
    const CUresult status = device_get_uuid_old(out, device);

    out->bytes[15] = (char)fake_number("LAYERMETER_FAKE_MIG", 0);
    return status;
}

static CUresult module_load_data(CUmodule *out, const void *image)
{
    if (strncmp(image, "fake", 4))
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    *out = calloc(1, sizeof **out);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult module_unload(CUmodule module)
{
    for (struct CUfunc_st *f = module->functions, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    free(module);
    return CUDA_SUCCESS;
}

static CUresult module_get_function(CUfunction *out, CUmodule module, const char *name)
{
    size_t             bytes;
    fake_kernel *const run = fake_find_kernel(name, &bytes);
    struct CUfunc_st  *f;

    if (!run)
        return CUDA_ERROR_NOT_FOUND;
    f = malloc(sizeof *f);
    if (!f)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *f                = (struct CUfunc_st){ module->functions, run, bytes };
    module->functions = f;
    *out              = f;
    return CUDA_SUCCESS;
}

/* The argument lies behind it. */
typedef struct waiting_launch {
    fake_kernel *run;
} waiting_launch;

static void run_launch(void *context)
{
    waiting_launch *l            = context;
    void           *arguments[1] = { l + 1 };

    l->run(arguments);
}

static CUresult launch_kernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared_bytes, CUstream stream, void **arguments,
                              void **extra)
{
    const size_t size = sizeof(waiting_launch) + f->argument_bytes;
    cudaError_t  status;
    char        *context;

    (void)shared_bytes;
    if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z || extra ||
        grid_y > 65535 || grid_z > 65535 || grid_x > 2147483647 ||
        block_x * block_y * block_z > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    context = malloc(size);
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(context, &(waiting_launch){ f->run }, sizeof(waiting_launch));
    memcpy(context + sizeof(waiting_launch), arguments[0], f->argument_bytes);
    status = fake_enqueue(stream, run_launch, context, size);
    free(context);
    return (CUresult)status;
}

/* ISO C has no conversion from a function's address to an object's: the bytes are copied. */
#define FUNCTION(name, function)                  \
    if (!strcmp(wanted, name)) {                  \
        __typeof__(&function) address = function; \
        memcpy(out, &address, sizeof address);    \
        *found = cudaDriverEntryPointSuccess;     \
        return cudaSuccess;                       \
    }

cudaError_t cudaGetDriverEntryPointByVersion(const char *wanted, void **out, unsigned int version,
                                             unsigned long long                    flags,
                                             enum cudaDriverEntryPointQueryResult *found)
{
    (void)flags;
    if (version < 11040)
        FUNCTION("cuDeviceGetUuid", device_get_uuid_old)
    FUNCTION("cuGetErrorString", get_error_string)
    FUNCTION("cuDeviceGet", device_get)
    FUNCTION("cuDeviceGetName", device_get_name)
    FUNCTION("cuDeviceGetUuid", device_get_uuid)
    FUNCTION("cuModuleLoadData", module_load_data)
    FUNCTION("cuModuleUnload", module_unload)
    FUNCTION("cuModuleGetFunction", module_get_function)
    FUNCTION("cuLaunchKernel", launch_kernel)
    *found = cudaDriverEntryPointSymbolNotFound;
    return cudaErrorSymbolNotFound;
}

/* ---- compiler ----------------------------------------------------------------------------------
 */

static const char image[] = "fake";

struct _nvrtcProgram {
    bool compiled;
};

const char *nvrtcGetErrorString(nvrtcResult result)
{
    return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = CUDART_VERSION / 1000;
    *minor = CUDART_VERSION % 1000 / 10;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *n)
{
    *n = 2;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *out)
{
    out[0] = 80;
    out[1] = 90;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name,
                               int n_headers, const char *const *headers,
                               const char *const *header_names)
{
    (void)source;
    (void)name;
    (void)n_headers;
    (void)headers;
    (void)header_names;
    *out = calloc(1, sizeof **out);
    return *out ? NVRTC_SUCCESS : NVRTC_ERROR_OUT_OF_MEMORY;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    free(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n_options, const char *const *options)
{
    (void)n_options;
    (void)options;
    program->compiled = true;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes)
{
    (void)program;
    *bytes = 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *out)
{
    (void)program;
    *out = '\0';
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes)
{
    *bytes = program->compiled ? sizeof image : 0;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *out)
{
    (void)program;
    memcpy(out, image, sizeof image);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes)
{
    return nvrtcGetCUBINSize(program, bytes);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *out)
{
    return nvrtcGetCUBIN(program, out);
}
