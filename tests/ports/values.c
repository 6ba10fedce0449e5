/* The numbers behind the names in the headers: compiled with ours, and with the real ones. VALUES
 * names the table; values.inc has the names, as CMake finds them in ours. */
#include "values.h"

#include <cublasLt.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nvrtc.h>
#ifdef HAVE_NCCL
#include <nccl.h>
#endif

#define VALUE(name) { #name, (long long)(name) },
#define SIZE(type)  { "sizeof " #type, (long long)sizeof(type) },

const named_value VALUES[] = {
#include "values.inc"
    SIZE(CUuuid) SIZE(cudaError_t) SIZE(CUresult) SIZE(nvrtcResult) SIZE(cudnnStatus_t)
        SIZE(cublasStatus_t){ 0, 0 },
};
