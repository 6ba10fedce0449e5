/** cuDNN's classic calls: tensor descriptors. */
#ifndef CALIBRATE_BACKENDS_CUDA_OPS_CLASSIC_H
#define CALIBRATE_BACKENDS_CUDA_OPS_CLASSIC_H

#include "cuda_kernels.h"
#include "graph/graph.h"

/** Makes a descriptor of at least 4 axes; added ones have size 1. LM_E_UNSUPPORTED for sizes beyond
 * 31 bits. */
lm_status ops_tensor_make(const graph_layout *layout, cudnnDataType_t type,
                          cudnnTensorDescriptor_t *out, lm_error *err);
/** NULL is fine. */
void ops_tensor_free(cudnnTensorDescriptor_t t);

#endif
