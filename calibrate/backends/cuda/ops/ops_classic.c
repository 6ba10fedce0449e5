/* Tensor descriptors of cuDNN's classic calls. */
#include "ops/ops_classic.h"

#include <limits.h>

lm_status ops_tensor_make(const graph_layout *layout, cudnnDataType_t type,
                          cudnnTensorDescriptor_t *out, lm_error *err)
{
    const int               rank                = layout->rank < 4 ? 4 : layout->rank;
    int                     dim[GRAPH_MAX_RANK] = { 0 }, stride[GRAPH_MAX_RANK] = { 0 };
    cudnnTensorDescriptor_t t = NULL;
    cudnnStatus_t           cause;

    if (graph_elements(layout) > INT_MAX)
        return lm_error_set(err, LM_E_UNSUPPORTED, "a tensor beyond 31 bits");
    for (int i = 0; i < rank; i++) {
        const int64_t d = i < layout->rank ? layout->dim[i] : 1;
        const int64_t s = i < layout->rank ? layout->stride[i] : 1;

        if (d < 1 || d > INT_MAX || s < 1 || s > INT_MAX)
            return lm_error_set(err, LM_E_UNSUPPORTED, "a tensor beyond 31 bits");
        dim[i]    = (int)d;
        stride[i] = (int)s;
    }
    cause = cudnnCreateTensorDescriptor(&t);
    if (cause == CUDNN_STATUS_SUCCESS)
        cause = cudnnSetTensorNdDescriptor(t, type, rank, dim, stride);
    if (cause == CUDNN_STATUS_SUCCESS) {
        *out = t;
        return LM_OK;
    }
    ops_tensor_free(t);
    return cudnn_failed(err, "cuDNN's tensor", cause);
}

void ops_tensor_free(cudnnTensorDescriptor_t t)
{
    if (t)
        (void)cudnnDestroyTensorDescriptor(t);
}
