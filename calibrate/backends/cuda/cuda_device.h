/**
 * One GPU: stream, handles of the libraries, pool of memory, and texts of failures.
 *
 * Everything runs in `stream`, in order. Only cuda.c waits for it.
 */
#ifndef CALIBRATE_BACKENDS_CUDA_DEVICE_H
#define CALIBRATE_BACKENDS_CUDA_DEVICE_H

#include <stddef.h>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <layermeter/error.h>

typedef struct cuda_pool  cuda_pool;
typedef struct cuda_loops cuda_loops;
typedef struct cuda_shelf cuda_shelf;

typedef struct cuda_device {
    int           ordinal; /**< number among the visible GPUs */
    cudaStream_t  stream;
    cudnnHandle_t cudnn; /**< its stream is `stream` */
    /** Describes the device if `cudnn` is NULL: plans of graphs can be made, but not run. */
    cudnnBackendDescriptor_t properties;
    cublasLtHandle_t         blas;
    size_t      workspace_limit; /**< limit of an implementation's scratch memory, bytes */
    int         major, minor, multiprocessors;
    size_t      l2_bytes, memory_bytes;
    char        name[256];
    char        bus_id[32]; /**< "0000:1b:00.0" */
    cuda_pool  *pool;       /**< see cuda_borrow() */
    cuda_loops *loops;      /**< our own kernels, see cuda_loops.h */
    cuda_shelf *shelf;      /**< kernels that stay prepared, see cuda_shelf.h */
    int         claim;      /**< see cuda_claim.h */
} cuda_device;

/**
 * Opens the visible GPU (CUDA_VISIBLE_DEVICES) with number `local_rank`. Each of `local_ranks`
 * processes of this host takes one.
 *
 * @param out  zeroed on failure; close with cuda_device_close()
 * @return LM_E_UNSUPPORTED, with the reason, if there is no GPU or too few
 */
lm_status cuda_device_open(int local_rank, int local_ranks, cuda_device *out, lm_error *err);
void      cuda_device_close(cuda_device *device);

/**
 * Borrows device memory, aligned to 256 bytes. Returned memory is reused; it goes back to the
 * system only if a request could not be served otherwise. Any order of returns is fine.
 *
 * @return LM_E_NOMEM, with the sizes
 */
lm_status cuda_borrow(const cuda_device *device, size_t bytes, void **out, lm_error *err);
/** NULL is fine. */
void cuda_give_back(const cuda_device *device, void *memory);

/*
 * Failures. "WHAT: CAUSE", by code:
 *  - LM_E_NOMEM, LM_E_UNSUPPORTED this point is skipped, the next one may work
 *  - LM_E_IO                       the device is lost to this process: ends the run
 */
lm_status cuda_failed(lm_error *err, const char *what, cudaError_t cause);
lm_status cudnn_failed(lm_error *err, const char *what, cudnnStatus_t cause);
lm_status blas_failed(lm_error *err, const char *what, cublasStatus_t cause);

#endif
