/** The part of cuDNN 9 that is used: see cuda_runtime_api.h. */
#ifndef PORTS_CUDNN_H
#define PORTS_CUDNN_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

typedef struct cudnnContext *cudnnHandle_t;
typedef void                *cudnnBackendDescriptor_t;

typedef enum {
    CUDNN_STATUS_SUCCESS                                 = 0,
    CUDNN_STATUS_NOT_INITIALIZED                         = 1001,
    CUDNN_STATUS_BAD_PARAM                               = 2000,
    CUDNN_STATUS_NOT_SUPPORTED                           = 3000,
    CUDNN_STATUS_INTERNAL_ERROR                          = 4000,
    CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED   = 4003,
    CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 4004,
    CUDNN_STATUS_EXECUTION_FAILED                        = 5000
} cudnnStatus_t;

size_t        cudnnGetVersion(void);
const char   *cudnnGetErrorString(cudnnStatus_t status);
cudnnStatus_t cudnnCreate(cudnnHandle_t *out);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);

#endif
