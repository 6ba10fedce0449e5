/*
 * A driver for plans alone (libcuda.so.1): what cuDNN compiles at run time, norms and attention, is taken as if a
 * device had it, and nothing runs. All else is refused as by NVIDIA's own stub of the driver, which refuses to take
 * code, too. Not for programs that run kernels: tests/ports/fake_driver.c.
 */
#include <stddef.h>

enum { DONE = 0, INVALID = 1, STUB = 34, NO_DEVICE = 100 }; /* cuda.h: CUresult */

#define DRIVER __attribute__((visibility("default")))

/* Handles are the code itself. */
DRIVER int cuLibraryLoadData(const void **library, const void *code, void *jit, void *jit_values,
                             unsigned n, void *options, void *values, unsigned m);
DRIVER int cuLibraryGetKernel(const void **kernel, const void *library, const char *name);
DRIVER int cuKernelGetFunction(const void **function, const void *kernel);
DRIVER int cuKernelSetAttribute(int attribute, int value, const void *kernel, int device);
DRIVER int cuFuncSetAttribute(const void *function, int attribute, int value);
DRIVER int cuLibraryUnload(const void *library);
DRIVER int cuDriverGetVersion(int *version);
DRIVER int cuInit(unsigned flags);
DRIVER int cuGetErrorString(int error, const char **text);

int cuLibraryLoadData(const void **library, const void *code, void *jit, void *jit_values,
                      unsigned n, void *options, void *values, unsigned m)
{
    (void)jit, (void)jit_values, (void)n, (void)options, (void)values, (void)m;
    *library = code;
    return code ? DONE : INVALID;
}

int cuLibraryGetKernel(const void **kernel, const void *library, const char *name)
{
    *kernel = library;
    return library && name && *name ? DONE : INVALID;
}

int cuKernelGetFunction(const void **function, const void *kernel)
{
    *function = kernel;
    return kernel ? DONE : INVALID;
}

int cuKernelSetAttribute(int attribute, int value, const void *kernel, int device)
{
    (void)attribute, (void)value, (void)device;
    return kernel ? DONE : INVALID;
}

int cuFuncSetAttribute(const void *function, int attribute, int value)
{
    (void)attribute, (void)value;
    return function ? DONE : INVALID;
}

int cuLibraryUnload(const void *library)
{
    return library ? DONE : INVALID;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return DONE;
}

int cuInit(unsigned flags)
{
    (void)flags;
    return NO_DEVICE;
}

int cuGetErrorString(int error, const char **text)
{
    (void)error;
    *text = "refused by a driver for plans alone";
    return DONE;
}

/* cuDNN takes a driver without these for none. */
#define REFUSED(name)      \
    DRIVER int name(void); \
    int        name(void)  \
    {                      \
        return STUB;       \
    }
REFUSED(cuCtxGetCurrent)
REFUSED(cuCtxGetLimit)
REFUSED(cuCtxPopCurrent)
REFUSED(cuCtxPushCurrent)
REFUSED(cuDeviceGet)
REFUSED(cuDeviceGetCount)
REFUSED(cuFuncGetAttribute)
REFUSED(cuKernelGetAttribute)
REFUSED(cuGetErrorName)
REFUSED(cuLaunchCooperativeKernel)
REFUSED(cuLaunchKernel)
REFUSED(cuLaunchKernelEx)
REFUSED(cuLibraryLoadFromFile)
REFUSED(cuLinkAddData)
REFUSED(cuLinkComplete)
REFUSED(cuLinkCreate)
REFUSED(cuLinkDestroy)
REFUSED(cuOccupancyMaxPotentialClusterSize)
REFUSED(cuStreamGetCtx)
