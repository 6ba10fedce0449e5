/* One GPU: choice, opening, closing, and texts of failures. */
#include "cuda_device.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_claim.h"
#include "cuda_driver.h"
#include "cuda_loops.h"
#include "cuda_shelf.h"

#include "base/no_memory.h"
#include "cuda_memory.h"

/* ---- failures -------------------------------------------------------------------------------- */

/* A call that cannot be recorded into a graph: the stream itself is intact. */
static bool is_of_capture(cudaError_t cause)
{
    return cause >= cudaErrorStreamCaptureUnsupported && cause <= cudaErrorStreamCaptureWrongThread;
}

lm_status cuda_failed(lm_error *err, const char *what, cudaError_t cause)
{
    lm_status code = LM_E_IO;

    (void)cudaGetLastError(); /* the error is reported here: later calls must not report it again */
    if (cause == cudaErrorMemoryAllocation || cause == cudaErrorLaunchOutOfResources)
        code = LM_E_NOMEM;
    else if (cause == cudaErrorNotSupported || cause == cudaErrorInvalidConfiguration ||
             cause == cudaErrorNoKernelImageForDevice || cause == cudaErrorUnsupportedPtxVersion ||
             is_of_capture(cause))
        code = LM_E_UNSUPPORTED;
    return lm_error_set(err, code, "%s: %s", what, cudaGetErrorString(cause));
}

/*
 * Error of a library. If the failure broke the device, every later call fails; cudaMemGetInfo()
 * tests that. The runtime's last error is no proof: it may belong to an attempt that a library gave
 * up, and libraries with their own runtime keep errors elsewhere.
 */
static lm_status library_failed(lm_error *err, const char *what, const char *cause, lm_status code)
{
    size_t            unused = 0, all = 0;
    const cudaError_t device = cudaMemGetInfo(&unused, &all);

    if (device != cudaSuccess && !is_of_capture(device))
        return cuda_failed(err, what, device);
    (void)cudaGetLastError();
    return lm_error_set(err, code, "%s: %s", what, cause);
}

/* A launch that fails and leaves the device intact is a fault of one implementation. */
lm_status cudnn_failed(lm_error *err, const char *what, cudnnStatus_t cause)
{
    lm_status code = LM_E_UNSUPPORTED; /* only this request fails */

    if (cause == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
        cause == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
        code = LM_E_NOMEM;
    return library_failed(err, what, cudnnGetErrorString(cause), code);
}

lm_status blas_failed(lm_error *err, const char *what, cublasStatus_t cause)
{
    lm_status code = LM_E_UNSUPPORTED;

    if (cause == CUBLAS_STATUS_ALLOC_FAILED)
        code = LM_E_NOMEM;
    return library_failed(err, what, cublasLtGetStatusString(cause), code);
}

/* ---- which ----------------------------------------------------------------------------------- */

static lm_status no_device(lm_error *err, cudaError_t cause)
{
    int         driver = 0;
    char        version[32];
    const char *text =
        cause == cudaSuccess ? "there are 0" : cudaGetErrorString(cause); /* an empty list */

    cudaDriverGetVersion(&driver);
    snprintf(version, sizeof version, "for CUDA %d.%d", driver / 1000, driver % 1000 / 10);
    return lm_error_set(err, LM_E_UNSUPPORTED,
                        "no CUDA device: driver %s, cudaGetDeviceCount says: %s",
                        driver ? version : "not found", text);
}

static lm_status choose(int local_rank, int local_ranks, cuda_device *d, int *visible,
                        lm_error *err)
{
    const cudaError_t status = cudaGetDeviceCount(visible);

    (void)local_ranks;
    if (status != cudaSuccess || *visible < 1)
        return no_device(err, status);
    /* a launcher may show each process only its own GPU, which then is number 0 */
    d->ordinal = local_rank % *visible;
    return LM_OK;
}

static lm_status claim(const cuda_driver *driver, int local_ranks, int visible, cuda_device *d,
                       lm_error *err)
{
    CUdevice device;
    CUuuid   uuid;
    char     text[2 * sizeof uuid.bytes + 1];
    CUresult status = driver->device_get(&device, d->ordinal);

    if (status == CUDA_SUCCESS)
        status = driver->device_get_name(d->name, (int)sizeof d->name, device);
    if (status == CUDA_SUCCESS)
        status = driver->device_get_uuid(&uuid, device);
    if (status != CUDA_SUCCESS)
        return cuda_driver_failed(driver, err, "CUDA device", status);
    for (size_t i = 0; i < sizeof uuid.bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned)(unsigned char)uuid.bytes[i]);
    d->claim = cuda_claim(text);
    if (d->claim >= 0 || errno != EADDRINUSE)
        return LM_OK;
    if (visible < local_ranks)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "%d processes on this host see %d GPU%s: start one process a GPU",
                            local_ranks, visible, visible == 1 ? "" : "s");
    return lm_error_set(err, LM_E_UNSUPPORTED,
                        "another layermeter-calibrate measures on GPU %d (%.60s) of this host",
                        d->ordinal, d->name);
}

/* ---- open, close ----------------------------------------------------------------------------- */

static lm_status ask(cuda_device *d, lm_error *err)
{
    int         l2     = 0;
    size_t      unused = 0;
    cudaError_t status;

    if ((status = cudaDeviceGetAttribute(&d->major, cudaDevAttrComputeCapabilityMajor,
                                         d->ordinal)) != cudaSuccess ||
        (status = cudaDeviceGetAttribute(&d->minor, cudaDevAttrComputeCapabilityMinor,
                                         d->ordinal)) != cudaSuccess ||
        (status = cudaDeviceGetAttribute(&d->multiprocessors, cudaDevAttrMultiProcessorCount,
                                         d->ordinal)) != cudaSuccess ||
        (status = cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, d->ordinal)) != cudaSuccess ||
        (status = cudaDeviceGetPCIBusId(d->bus_id, (int)sizeof d->bus_id, d->ordinal)) !=
            cudaSuccess ||
        (status = cudaMemGetInfo(&unused, &d->memory_bytes)) != cudaSuccess)
        return cuda_failed(err, "CUDA device", status);
    d->l2_bytes = (size_t)l2;
    return LM_OK;
}

static lm_status open_libraries(cuda_device *d, lm_error *err)
{
    cudnnStatus_t  dnn;
    cublasStatus_t blas;

    if ((dnn = cudnnCreate(&d->cudnn)) != CUDNN_STATUS_SUCCESS)
        return cudnn_failed(err, "cuDNN", dnn);
    if ((dnn = cudnnSetStream(d->cudnn, d->stream)) != CUDNN_STATUS_SUCCESS)
        return cudnn_failed(err, "cuDNN's stream", dnn);
    if ((blas = cublasLtCreate(&d->blas)) != CUBLAS_STATUS_SUCCESS)
        return blas_failed(err, "cuBLASLt", blas);
    return LM_OK;
}

/* Limit of scratch memory: 1 GiB for both libraries. PyTorch gives cuBLAS 32 MiB on the newest GPUs
 * and less on others; its cuDNN plans get what they want. */
enum { WORKSPACE_LIMIT = 1 << 30 };

lm_status cuda_device_open(int local_rank, int local_ranks, cuda_device *out, lm_error *err)
{
    cuda_device d       = { .claim = -1, .workspace_limit = WORKSPACE_LIMIT };
    cuda_driver driver  = { .launch_kernel = NULL };
    int         visible = 0;
    cudaError_t cause;
    lm_status   status;

    *out   = (cuda_device){ .claim = -1 };
    status = choose(local_rank, local_ranks, &d, &visible, err);
    if (status)
        return status;
    cause = cudaSetDevice(d.ordinal);
    if (cause == cudaSuccess)
        cause = cudaStreamCreateWithFlags(&d.stream, cudaStreamNonBlocking);
    if (cause != cudaSuccess) {
        status = cuda_failed(err, "CUDA device", cause);
        goto out;
    }
    status = cuda_driver_find(&driver, err);
    if (!status)
        status = claim(&driver, local_ranks, visible, &d, err);
    if (!status)
        status = ask(&d, err);
    if (!status)
        status = open_libraries(&d, err);
    if (!status)
        status = cuda_pool_new(&d.pool, err);
    if (!status)
        status = cuda_loops_open(&d, &driver, &d.loops, err);
    if (!status && !(d.shelf = cuda_shelf_new()))
        status = no_memory(err);
    if (status)
        goto out;
    *out = d;
    return LM_OK;
out:
    cuda_device_close(&d);
    return status;
}

void cuda_device_close(cuda_device *d)
{
    cuda_shelf_free(d->shelf);
    cuda_loops_close(d->loops);
    if (d->blas)
        cublasLtDestroy(d->blas);
    if (d->cudnn)
        cudnnDestroy(d->cudnn);
    cuda_pool_free(d->pool);
    if (d->stream)
        cudaStreamDestroy(d->stream);
    cuda_claim_drop(d->claim);
    *d = (cuda_device){ .claim = -1 };
}
