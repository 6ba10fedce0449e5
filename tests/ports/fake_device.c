/* What a device that is not there says of itself, and the names of its errors. */
#include <stdio.h>

#include "fake_runtime.h"

static const struct {
    cudaError_t code;
    const char *name, *text;
} errors[] = {
    { cudaSuccess, "cudaSuccess", "no error" },
    { cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument" },
    { cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory" },
    { cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
      "CUDA driver version is insufficient for CUDA runtime version" },
    { cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected" },
    { cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal" },
    { cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found" },
    { cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure" },
    { cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
      "operation not permitted when stream is capturing" },
};

const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].code == error)
            return errors[i].text;
    return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].code == error)
            return errors[i].name;
    return "unrecognized error code";
}

cudaError_t cudaDriverGetVersion(int *out)
{
    *out = fake_number("LAYERMETER_FAKE_NO_DRIVER", 0) ? 0 : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *out)
{
    *out = CUDART_VERSION;
    return cudaSuccess;
}

/* All but the last reach each other. */
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    int n = 0;

    if (cudaGetDeviceCount(&n) != cudaSuccess || device == peer || device < 0 || peer < 0 ||
        device >= n || peer >= n)
        return cudaErrorInvalidDevice;
    *can = device != n - 1 && peer != n - 1;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *out)
{
    *out = 0;
    if (fake_number("LAYERMETER_FAKE_NO_DRIVER", 0))
        return cudaErrorInsufficientDriver;
    *out = (int)fake_number("LAYERMETER_FAKE_DEVICES", 1);
    return *out > 0 ? cudaSuccess : cudaErrorNoDevice;
}

static int capability(void)
{
    return (int)fake_number("LAYERMETER_FAKE_CAPABILITY", 90);
}

/* Those of an H100, but for the cache: fewer bytes to empty. */
cudaError_t cudaDeviceGetAttribute(int *out, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    switch (attribute) {
    case cudaDevAttrClockRate: *out = 1980000; break;
    case cudaDevAttrMultiProcessorCount: *out = 132; break;
    case cudaDevAttrEccEnabled: *out = 1; break;
    case cudaDevAttrL2CacheSize: *out = FAKE_CACHE; break;
    case cudaDevAttrComputeCapabilityMajor: *out = capability() / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *out = capability() % 10; break;
    default: return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int size, int device)
{
    snprintf(out, (size_t)size, "0000:%02x:00.0", (unsigned)device & 0xff);
    return cudaSuccess;
}
