/** The part of the CUDA driver's interface that is used: see cuda_runtime_api.h. */
#ifndef PORTS_CUDA_H
#define PORTS_CUDA_H

#include <stddef.h>

typedef int                 CUdevice;
typedef struct CUmod_st    *CUmodule;
typedef struct CUfunc_st   *CUfunction;
typedef struct CUstream_st *CUstream;

typedef struct CUuuid_st {
    char bytes[16];
} CUuuid;

typedef enum cudaError_enum {
    CUDA_SUCCESS                       = 0,
    CUDA_ERROR_INVALID_VALUE           = 1,
    CUDA_ERROR_OUT_OF_MEMORY           = 2,
    CUDA_ERROR_NO_BINARY_FOR_GPU       = 209,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_NOT_FOUND               = 500,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_LAUNCH_FAILED           = 719,
    CUDA_ERROR_NOT_SUPPORTED           = 801
} CUresult;

#endif
