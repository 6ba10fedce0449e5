/* cuDNN of a device that is not there: handles and errors. */
#include <cudnn.h>

#include <stdio.h>
#include <stdlib.h>

#include "fake.h"
#include "fake_tensor.h"

struct cudnnContext {
    cudaStream_t stream;
};

static char last_error[128];

cudaStream_t fake_stream(cudnnHandle_t handle)
{
    return handle->stream;
}

cudnnStatus_t fake_refuse(cudnnStatus_t status, const char *reason)
{
    snprintf(last_error, sizeof last_error, "%s", reason);
    return status;
}

/* Whose graph API clears the sums of attention. */
size_t cudnnGetVersion(void)
{
    return (size_t)fake_number("LAYERMETER_FAKE_CUDNN", 91900);
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    switch ((int)status / 1000) {
    case 0: return "CUDNN_STATUS_SUCCESS";
    case 2: return "CUDNN_STATUS_BAD_PARAM";
    case 3: return "CUDNN_STATUS_NOT_SUPPORTED";
    case 5: return "CUDNN_STATUS_EXECUTION_FAILED";
    default: return "CUDNN_STATUS_INTERNAL_ERROR";
    }
}

void cudnnGetLastErrorString(char *message, size_t max_size)
{
    snprintf(message, max_size, "%s", last_error);
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *out)
{
    *out = calloc(1, sizeof **out);
    return *out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}
