/** cuDNN's classic calls: tensor descriptors, and kernels that are one call. */
#ifndef CALIBRATE_BACKENDS_CUDA_OPS_CLASSIC_H
#define CALIBRATE_BACKENDS_CUDA_OPS_CLASSIC_H

#include "cuda_kernels.h"
#include "graph/graph.h"

/** LM_E_UNSUPPORTED for sizes beyond 31 bits, which these calls cannot say. Of less than 4 axes: 4,
 * the added ones of size 1. */
lm_status ops_tensor_make(const graph_layout *layout, cudnnDataType_t type,
                          cudnnTensorDescriptor_t *out, lm_error *err);
/** NULL is fine. */
void ops_tensor_free(cudnnTensorDescriptor_t t);

#endif
