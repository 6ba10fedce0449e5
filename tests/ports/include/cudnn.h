/** The part of cuDNN 9 that is used: see cuda_runtime_api.h. */
#ifndef PORTS_CUDNN_H
#define PORTS_CUDNN_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

typedef struct cudnnContext            *cudnnHandle_t;
typedef struct cudnnTensorStruct       *cudnnTensorDescriptor_t;
typedef struct cudnnPoolingStruct      *cudnnPoolingDescriptor_t;
typedef struct cudnnActivationStruct   *cudnnActivationDescriptor_t;
typedef void                           *cudnnBackendDescriptor_t;

typedef enum {
    CUDNN_STATUS_SUCCESS                                 = 0,
    CUDNN_STATUS_NOT_INITIALIZED                         = 1001,
    CUDNN_STATUS_BAD_PARAM                               = 2000,
    CUDNN_STATUS_BAD_PARAM_NULL_POINTER                  = 2002,
    CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER            = 2003,
    CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED                 = 2004,
    CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND                  = 2005,
    CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT             = 2006,
    CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH                = 2008,
    CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES            = 2009,
    CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE                = 2010,
    CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE               = 2012,
    CUDNN_STATUS_NOT_SUPPORTED                           = 3000,
    CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN             = 3001,
    CUDNN_STATUS_NOT_SUPPORTED_SHAPE                     = 3002,
    CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE                 = 3003,
    CUDNN_STATUS_NOT_SUPPORTED_LAYOUT                    = 3004,
    CUDNN_STATUS_INTERNAL_ERROR                          = 4000,
    CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED   = 4003,
    CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 4004,
    CUDNN_STATUS_EXECUTION_FAILED                        = 5000,
} cudnnStatus_t;

typedef enum {
    CUDNN_DATA_FLOAT    = 0,
    CUDNN_DATA_DOUBLE   = 1,
    CUDNN_DATA_HALF     = 2,
    CUDNN_DATA_INT32    = 4,
    CUDNN_DATA_UINT8    = 6,
    CUDNN_DATA_BFLOAT16 = 9,
    CUDNN_DATA_INT64    = 10,
    CUDNN_DATA_BOOLEAN  = 11,
} cudnnDataType_t;

typedef enum {
    CUDNN_NOT_PROPAGATE_NAN = 0,
    CUDNN_PROPAGATE_NAN     = 1,
} cudnnNanPropagation_t;

typedef enum {
    CUDNN_REDUCE_TENSOR_ADD = 0,
    CUDNN_REDUCE_TENSOR_MAX = 3,
} cudnnReduceTensorOp_t;

typedef enum {
    CUDNN_CONVOLUTION       = 0,
    CUDNN_CROSS_CORRELATION = 1,
} cudnnConvolutionMode_t;

typedef enum {
    CUDNN_POINTWISE_ADD           = 0,
    CUDNN_POINTWISE_DIV           = 6,
    CUDNN_POINTWISE_MUL           = 1,
    CUDNN_POINTWISE_SUB           = 9,
    CUDNN_POINTWISE_EXP           = 13,
    CUDNN_POINTWISE_LOG           = 15,
    CUDNN_POINTWISE_IDENTITY      = 21,
    CUDNN_POINTWISE_CMP_GE        = 303,
    CUDNN_POINTWISE_CMP_LT        = 304,
    CUDNN_POINTWISE_LOGICAL_AND   = 400,
    CUDNN_POINTWISE_GEN_INDEX     = 501,
    CUDNN_POINTWISE_BINARY_SELECT = 601,
} cudnnPointwiseMode_t;

typedef enum {
    CUDNN_RNG_DISTRIBUTION_BERNOULLI = 0,
} cudnnRngDistribution_t;

typedef enum {
    CUDNN_ATTR_POINTWISE_MODE                             = 0,
    CUDNN_ATTR_POINTWISE_MATH_PREC                        = 1,
    CUDNN_ATTR_POINTWISE_AXIS                             = 9,
    CUDNN_ATTR_CONVOLUTION_COMP_TYPE                      = 100,
    CUDNN_ATTR_CONVOLUTION_CONV_MODE                      = 101,
    CUDNN_ATTR_CONVOLUTION_DILATIONS                      = 102,
    CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES                 = 103,
    CUDNN_ATTR_CONVOLUTION_POST_PADDINGS                  = 104,
    CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS                   = 105,
    CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS                   = 106,
    CUDNN_ATTR_ENGINEHEUR_MODE                            = 200,
    CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH                 = 201,
    CUDNN_ATTR_ENGINEHEUR_RESULTS                         = 202,
    CUDNN_ATTR_ENGINEHEUR_DEVICEPROP                      = 204,
    CUDNN_ATTR_ENGINECFG_ENGINE                           = 300,
    CUDNN_ATTR_EXECUTION_PLAN_HANDLE                      = 400,
    CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG               = 401,
    CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE              = 402,
    CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP                  = 407,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA        = 700,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA         = 701,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC    = 702,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W            = 703,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X            = 704,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y            = 705,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA       = 706,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA        = 707,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC   = 708,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W           = 709,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX          = 710,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY          = 711,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA     = 712,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA      = 713,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC = 714,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW        = 715,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X         = 716,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY        = 717,
    CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR          = 750,
    CUDNN_ATTR_OPERATION_POINTWISE_XDESC                  = 751,
    CUDNN_ATTR_OPERATION_POINTWISE_BDESC                  = 752,
    CUDNN_ATTR_OPERATION_POINTWISE_YDESC                  = 753,
    CUDNN_ATTR_OPERATION_POINTWISE_TDESC                  = 758,
    CUDNN_ATTR_OPERATIONGRAPH_HANDLE                      = 800,
    CUDNN_ATTR_OPERATIONGRAPH_OPS                         = 801,
    CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT                      = 900,
    CUDNN_ATTR_TENSOR_DATA_TYPE                           = 901,
    CUDNN_ATTR_TENSOR_DIMENSIONS                          = 902,
    CUDNN_ATTR_TENSOR_STRIDES                             = 903,
    CUDNN_ATTR_TENSOR_UNIQUE_ID                           = 906,
    CUDNN_ATTR_TENSOR_IS_VIRTUAL                          = 907,
    CUDNN_ATTR_TENSOR_IS_BY_VALUE                         = 908,
    CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS                    = 1000,
    CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS                 = 1001,
    CUDNN_ATTR_VARIANT_PACK_WORKSPACE                     = 1003,
    CUDNN_ATTR_ENGINE_GLOBAL_INDEX                        = 1301,
    CUDNN_ATTR_ENGINE_NUMERICAL_NOTE                      = 1303,
    CUDNN_ATTR_MATMUL_COMP_TYPE                           = 1500,
    CUDNN_ATTR_OPERATION_MATMUL_ADESC                     = 1520,
    CUDNN_ATTR_OPERATION_MATMUL_BDESC                     = 1521,
    CUDNN_ATTR_OPERATION_MATMUL_CDESC                     = 1522,
    CUDNN_ATTR_OPERATION_MATMUL_DESC                      = 1523,
    CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC      = 1525,
    CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC      = 1526,
    CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC      = 1527,
    CUDNN_ATTR_REDUCTION_OPERATOR                         = 1600,
    CUDNN_ATTR_REDUCTION_COMP_TYPE                        = 1601,
    CUDNN_ATTR_OPERATION_REDUCTION_XDESC                  = 1610,
    CUDNN_ATTR_OPERATION_REDUCTION_YDESC                  = 1611,
    CUDNN_ATTR_OPERATION_REDUCTION_DESC                   = 1612,
    CUDNN_ATTR_OPERATION_NORM_FWD_MODE                    = 2000,
    CUDNN_ATTR_OPERATION_NORM_FWD_PHASE                   = 2001,
    CUDNN_ATTR_OPERATION_NORM_FWD_XDESC                   = 2002,
    CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC               = 2003,
    CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC       = 2004,
    CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC              = 2005,
    CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC               = 2006,
    CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC            = 2007,
    CUDNN_ATTR_OPERATION_NORM_FWD_YDESC                   = 2013,
    CUDNN_ATTR_OPERATION_NORM_BWD_MODE                    = 2100,
    CUDNN_ATTR_OPERATION_NORM_BWD_XDESC                   = 2101,
    CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC               = 2102,
    CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC       = 2103,
    CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC                  = 2104,
    CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC              = 2105,
    CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC             = 2107,
    CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC              = 2108,
    CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC                  = 2109,
    CUDNN_ATTR_OPERATION_RESHAPE_XDESC                    = 2200,
    CUDNN_ATTR_OPERATION_RESHAPE_YDESC                    = 2201,
    CUDNN_ATTR_RNG_DISTRIBUTION                           = 2300,
    CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY             = 2305,
    CUDNN_ATTR_OPERATION_RNG_YDESC                        = 2310,
    CUDNN_ATTR_OPERATION_RNG_SEED                         = 2311,
    CUDNN_ATTR_OPERATION_RNG_DESC                         = 2312,
    CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC                  = 2313,
} cudnnBackendAttributeName_t;

typedef enum {
    CUDNN_TYPE_HANDLE                  = 0,
    CUDNN_TYPE_DATA_TYPE               = 1,
    CUDNN_TYPE_BOOLEAN                 = 2,
    CUDNN_TYPE_INT64                   = 3,
    CUDNN_TYPE_FLOAT                   = 4,
    CUDNN_TYPE_DOUBLE                  = 5,
    CUDNN_TYPE_VOID_PTR                = 6,
    CUDNN_TYPE_CONVOLUTION_MODE        = 7,
    CUDNN_TYPE_HEUR_MODE               = 8,
    CUDNN_TYPE_NUMERICAL_NOTE          = 11,
    CUDNN_TYPE_POINTWISE_MODE          = 14,
    CUDNN_TYPE_BACKEND_DESCRIPTOR      = 15,
    CUDNN_TYPE_REDUCTION_OPERATOR_TYPE = 18,
    CUDNN_TYPE_INT32                   = 23,
    CUDNN_TYPE_NORM_MODE               = 27,
    CUDNN_TYPE_NORM_FWD_PHASE          = 28,
    CUDNN_TYPE_RNG_DISTRIBUTION        = 29,
} cudnnBackendAttributeType_t;

typedef enum {
    CUDNN_BACKEND_POINTWISE_DESCRIPTOR                             = 0,
    CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR                           = 1,
    CUDNN_BACKEND_ENGINE_DESCRIPTOR                                = 2,
    CUDNN_BACKEND_ENGINECFG_DESCRIPTOR                             = 3,
    CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR                            = 4,
    CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR                        = 5,
    CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR         = 10,
    CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR = 11,
    CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR   = 12,
    CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR                   = 13,
    CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR                        = 15,
    CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR                          = 16,
    CUDNN_BACKEND_TENSOR_DESCRIPTOR                                = 17,
    CUDNN_BACKEND_MATMUL_DESCRIPTOR                                = 18,
    CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR                      = 19,
    CUDNN_BACKEND_REDUCTION_DESCRIPTOR                             = 21,
    CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR                   = 22,
    CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR                = 29,
    CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR               = 30,
    CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR                     = 31,
    CUDNN_BACKEND_RNG_DESCRIPTOR                                   = 32,
    CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR                         = 33,
    CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR                            = 38,
} cudnnBackendDescriptorType_t;

typedef enum {
    CUDNN_NUMERICAL_NOTE_TENSOR_CORE         = 0,
    CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS = 1,
    CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC    = 4,
    CUDNN_NUMERICAL_NOTE_TYPE_COUNT          = 10,
} cudnnBackendNumericalNote_t;

typedef enum {
    CUDNN_HEUR_MODE_INSTANT  = 0,
    CUDNN_HEUR_MODE_B        = 1,
    CUDNN_HEUR_MODE_FALLBACK = 2,
    CUDNN_HEUR_MODE_A        = 3,
} cudnnBackendHeurMode_t;

typedef enum {
    CUDNN_LAYER_NORM = 0,
    CUDNN_RMS_NORM   = 4,
} cudnnBackendNormMode_t;

typedef enum {
    CUDNN_NORM_FWD_INFERENCE = 0,
    CUDNN_NORM_FWD_TRAINING  = 1,
} cudnnBackendNormFwdPhase_t;

typedef enum {
    CUDNN_SOFTMAX_FAST     = 0,
    CUDNN_SOFTMAX_ACCURATE = 1,
} cudnnSoftmaxAlgorithm_t;

typedef enum {
    CUDNN_SOFTMAX_MODE_INSTANCE = 0,
    CUDNN_SOFTMAX_MODE_CHANNEL  = 1,
} cudnnSoftmaxMode_t;

typedef enum {
    CUDNN_POOLING_MAX                           = 0,
    CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = 1,
    CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = 2,
} cudnnPoolingMode_t;

typedef enum {
    CUDNN_BATCHNORM_PER_ACTIVATION     = 0,
    CUDNN_BATCHNORM_SPATIAL            = 1,
    CUDNN_BATCHNORM_SPATIAL_PERSISTENT = 2,
} cudnnBatchNormMode_t;

typedef enum {
    CUDNN_BATCHNORM_OPS_BN = 0,
} cudnnBatchNormOps_t;

size_t        cudnnGetVersion(void);
const char   *cudnnGetErrorString(cudnnStatus_t status);
void          cudnnGetLastErrorString(char *message, size_t max_size);
cudnnStatus_t cudnnCreate(cudnnHandle_t *out);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);

/* ---- graph API ------------------------------------------------------------------------------- */

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t    *out);
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d);
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d);
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n,
                                       const void *values);
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room, int64_t *n,
                                       void *values);
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variant);

/* ---- classic calls --------------------------------------------------------------------------- */

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *out);
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t t, cudnnDataType_t type, int rank,
                                         const int dim[], const int stride[]);
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t t);

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void *alpha,
                             cudnnTensorDescriptor_t a_type, const void *a, const void *beta,
                             cudnnTensorDescriptor_t c_type, void *c);

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t *out);
cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t p, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int axes, const int window[],
                                          const int padding[], const int stride[]);
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t p);
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t p,
                                  const void *alpha, cudnnTensorDescriptor_t x_type, const void *x,
                                  const void *beta, cudnnTensorDescriptor_t y_type, void *y);
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, cudnnPoolingDescriptor_t p,
                                   const void *alpha, cudnnTensorDescriptor_t y_type, const void *y,
                                   cudnnTensorDescriptor_t dy_type, const void *dy,
                                   cudnnTensorDescriptor_t x_type, const void *x, const void *beta,
                                   cudnnTensorDescriptor_t dx_type, void *dx);

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                  cudnnSoftmaxMode_t mode, const void *alpha,
                                  cudnnTensorDescriptor_t x_type, const void *x, const void *beta,
                                  cudnnTensorDescriptor_t y_type, void *y);
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                   cudnnSoftmaxMode_t mode, const void *alpha,
                                   cudnnTensorDescriptor_t y_type, const void *y,
                                   cudnnTensorDescriptor_t dy_type, const void *dy,
                                   const void *beta, cudnnTensorDescriptor_t dx_type, void *dx);

cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t x_type, size_t *bytes);
cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    cudnnTensorDescriptor_t x_type, cudnnTensorDescriptor_t z_type, cudnnTensorDescriptor_t y_type,
    cudnnTensorDescriptor_t channel_type, cudnnActivationDescriptor_t activation, size_t *bytes);
cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    cudnnTensorDescriptor_t x_type, cudnnTensorDescriptor_t y_type, cudnnTensorDescriptor_t dy_type,
    cudnnTensorDescriptor_t dz_type, cudnnTensorDescriptor_t dx_type,
    cudnnTensorDescriptor_t channel_type, cudnnActivationDescriptor_t activation, size_t *bytes);
cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha,
    const void *beta, cudnnTensorDescriptor_t x_type, const void *x, cudnnTensorDescriptor_t z_type,
    const void *z, cudnnTensorDescriptor_t y_type, void *y, cudnnTensorDescriptor_t channel_type,
    const void *scale, const void *shift, double factor, void *running_mean, void *running_variance,
    double epsilon, void *mean, void *inverse_deviation, cudnnActivationDescriptor_t activation,
    void *workspace, size_t workspace_bytes, void *reserve, size_t reserve_bytes);
cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t x_type, const void *x, const cudnnTensorDescriptor_t y_type,
    void *y, const cudnnTensorDescriptor_t channel_type, const void *scale, const void *shift,
    const void *mean, const void *variance, double epsilon);
cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const void *alpha_data, const void *beta_data, const void *alpha_param, const void *beta_param,
    cudnnTensorDescriptor_t x_type, const void *x, cudnnTensorDescriptor_t y_type, const void *y,
    cudnnTensorDescriptor_t dy_type, const void *dy, cudnnTensorDescriptor_t dz_type, void *dz,
    cudnnTensorDescriptor_t dx_type, void *dx, cudnnTensorDescriptor_t channel_type,
    const void *scale, const void *shift, void *dscale, void *dshift, double epsilon,
    const void *mean, const void *inverse_deviation, cudnnActivationDescriptor_t activation,
    void *workspace, size_t workspace_bytes, void *reserve, size_t reserve_bytes);

#endif
