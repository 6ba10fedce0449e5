/* cuBLASLt of a device that is not there: descriptors as its documentation
 * says, products by loops. */
#include <cublasLt.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "fake_tensor.h"
#include "verify/half.h"

struct cublasLtContext {
    int unused;
};

struct cublasLtMatmulDesc {
    cublasComputeType_t compute;
    int32_t             turn_a, turn_b;
    cublasLtEpilogue_t  epilogue;
    const void         *bias, *scale_a, *scale_b;
    int8_t              fast; /* sums of fewer bits */
};

struct cublasLtMatrixLayout {
    cudaDataType_t type;
    uint64_t       rows, columns;
    int64_t        leading, offset;
    int32_t        batch;
};

struct cublasLtMatmulPreference {
    uint64_t workspace;
    uint32_t alignment[4];
};

size_t cublasLtGetVersion(void)
{
    return 130000;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_INTERNAL_ERROR";
    }
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
    *out = calloc(1, sizeof **out);
    return *out ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static cublasStatus_t created(const void *made)
{
    if (!made)
        return CUBLAS_STATUS_ALLOC_FAILED;
    fake_descriptors++;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t destroyed(void *made)
{
    if (!made)
        return CUBLAS_STATUS_INVALID_VALUE;
    fake_descriptors--;
    free(made);
    return CUBLAS_STATUS_SUCCESS;
}

/* Attributes have exact sizes. */
static cublasStatus_t put(void *to, size_t room, const void *value, size_t size)
{
    if (!value || size != room)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    if (scale != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *out = calloc(1, sizeof **out);
    if (*out)
        **out = (struct cublasLtMatmulDesc){ .compute  = compute,
                                             .epilogue = CUBLASLT_EPILOGUE_DEFAULT };
    return created(*out);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
    return destroyed(d);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t           d,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void *value, size_t size)
{
    switch (name) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return put(&d->turn_a, sizeof d->turn_a, value, size);
    case CUBLASLT_MATMUL_DESC_TRANSB: return put(&d->turn_b, sizeof d->turn_b, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return put(&d->epilogue, sizeof d->epilogue, value, size);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return put(&d->bias, sizeof d->bias, value, size);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
        return put(&d->scale_a, sizeof d->scale_a, value, size);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
        return put(&d->scale_b, sizeof d->scale_b, value, size);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return put(&d->fast, sizeof d->fast, value, size);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t leading)
{
    *out = calloc(1, sizeof **out);
    if (*out)
        **out = (struct cublasLtMatrixLayout){ type, rows, columns, leading, 0, 1 };
    return created(*out);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
    return destroyed(l);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t          l,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                const void *value, size_t size)
{
    switch (name) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return put(&l->batch, sizeof l->batch, value, size);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        return put(&l->offset, sizeof l->offset, value, size);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    *out = calloc(1, sizeof **out);
    for (int i = 0; *out && i < 4; i++)
        (*out)->alignment[i] = 256;
    return created(*out);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    return destroyed(p);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t           p,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void *value, size_t size)
{
    const int operand = (int)name - (int)CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;

    if (name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return put(&p->workspace, sizeof p->workspace, value, size);
    if (operand < 0 || operand > 3)
        return CUBLAS_STATUS_INVALID_VALUE;
    return put(&p->alignment[operand], sizeof p->alignment[operand], value, size);
}

/* ---- products -------------------------------------------------------------------------------- */

/* What is copied into the stream. */
/* LAYERMETER_FAKE_LATENCY: a quarter of what others take. */
enum { TENSOR_NANOSECONDS = 500 };

typedef struct product {
    struct cublasLtMatmulDesc   what;
    struct cublasLtMatrixLayout a, b, d;
    const char                 *at_a, *at_b;
    char                       *at_d;
    double                      alpha, beta;
    bool                        tensor;
} product;

static cudnnDataType_t element(cudaDataType_t type)
{
    return type == CUDA_R_16F    ? CUDNN_DATA_HALF
           : type == CUDA_R_16BF ? CUDNN_DATA_BFLOAT16
                                 : CUDNN_DATA_FLOAT;
}

static bool is_f8(cudaDataType_t type)
{
    return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

static size_t bytes_of(const struct cublasLtMatrixLayout *l)
{
    const size_t one = (l->columns - 1) * (size_t)l->leading + l->rows;

    return ((size_t)(l->batch - 1) * (size_t)l->offset + one) *
           (is_f8(l->type) ? 1 : fake_element_bytes(element(l->type)));
}

static uint64_t outer(const struct cublasLtMatrixLayout *l, int32_t turned)
{
    return turned == CUBLAS_OP_T ? l->columns : l->rows;
}

static uint64_t inner(const struct cublasLtMatrixLayout *l, int32_t turned)
{
    return turned == CUBLAS_OP_T ? l->rows : l->columns;
}

static bool fits(const struct cublasLtMatmulDesc *w, const struct cublasLtMatrixLayout *a,
                 const struct cublasLtMatrixLayout *b, const struct cublasLtMatrixLayout *d)
{
    return a->leading >= (int64_t)a->rows && b->leading >= (int64_t)b->rows &&
           d->leading >= (int64_t)d->rows && outer(a, w->turn_a) == d->rows &&
           inner(b, w->turn_b) == d->columns && inner(a, w->turn_a) == outer(b, w->turn_b) &&
           a->batch == d->batch && b->batch == d->batch;
}

/* "To use FP8 kernels, the following set of requirements must be satisfied" (cuBLAS' documentation,
 * cublasLtMatmul): A transposed and B not, 16-byte alignment of matrices and their dimensions, sums in
 * f32; of the combinations of types those without two of e5m2; from compute capability 8.9 on. Types
 * that are not FP8 are all the same. On an H100 the heuristic of cuBLASLt 13.1 took sides of 24 all the
 * same; only a product refuses them here. */
static bool has_types(const struct cublasLtMatmulDesc *w, const struct cublasLtMatrixLayout *a,
                      const struct cublasLtMatrixLayout *b, const struct cublasLtMatrixLayout *d)
{
    if (!is_f8(a->type) && !is_f8(b->type))
        return a->type == d->type && b->type == d->type && !w->scale_a && !w->scale_b;
    return is_f8(a->type) && is_f8(b->type) && !is_f8(d->type) &&
           (a->type == CUDA_R_8F_E4M3 || b->type == CUDA_R_8F_E4M3) &&
           fake_number("LAYERMETER_FAKE_CAPABILITY", 90) >= 89 && w->turn_a == CUBLAS_OP_T &&
           w->turn_b == CUBLAS_OP_N && w->compute == CUBLAS_COMPUTE_32F;
}

static double entry(const char *at, const struct cublasLtMatrixLayout *l, int32_t turned,
                    int64_t batch, int64_t row, int64_t column)
{
    const int64_t r = turned == CUBLAS_OP_T ? column : row;
    const int64_t c = turned == CUBLAS_OP_T ? row : column;

    if (is_f8(l->type))
        return f8_value((uint8_t)at[batch * l->offset + c * l->leading + r],
                        l->type == CUDA_R_8F_E4M3 ? 3 : 2);
    return fake_read(element(l->type), at, batch * l->offset + c * l->leading + r);
}

/* One matrix of a batch, [lines][depth] numbers: lines are rows, or columns of the second factor. */
static double *read_all(const char *at, const struct cublasLtMatrixLayout *l, int32_t turned,
                        bool second, int64_t batch, int64_t lines, int64_t depth)
{
    double *all = malloc((size_t)(lines * depth) * sizeof *all + 1);

    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < depth; k++)
            all[i * depth + k] = entry(at, l, turned, batch, second ? k : i, second ? i : k);
    return all;
}

static double scale_of(const void *pointer)
{
    return pointer ? fake_read(CUDNN_DATA_FLOAT, pointer, 0) : 1;
}

static void multiply(void *context)
{
    const product        *p     = context;
    const double          scale = scale_of(p->what.scale_a) * scale_of(p->what.scale_b);
    const cudnnDataType_t type  = element(p->d.type);
    const bool wrong = fake_number("LAYERMETER_FAKE_WRONG", 0) & 1 && type == CUDNN_DATA_BFLOAT16;
    const int64_t depth = (int64_t)inner(&p->a, p->what.turn_a) - wrong;

    if (p->tensor)
        fake_spend(TENSOR_NANOSECONDS);
    for (int64_t z = 0; z < p->d.batch; z++) {
        const int64_t rows = (int64_t)p->d.rows, columns = (int64_t)p->d.columns;
        double       *a = read_all(p->at_a, &p->a, p->what.turn_a, false, z, rows, depth);
        double       *b = read_all(p->at_b, &p->b, p->what.turn_b, true, z, columns, depth);

        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < rows; i++) {
                const int64_t place = z * p->d.offset + j * p->d.leading + i;
                double        sum   = 0;

                for (int64_t k = 0; k < depth; k++)
                    sum += a[i * depth + k] * b[j * depth + k];
                sum *= p->alpha * scale;
                if (p->beta < 0 || p->beta > 0)
                    sum += p->beta * fake_read(type, p->at_d, place);
                if (p->what.epilogue == CUBLASLT_EPILOGUE_BIAS)
                    sum += fake_read(type, p->what.bias, i);
                fake_write(type, p->at_d, place, sum);
            }
        free(a);
        free(b);
    }
}

/* Of the i-th algorithm it proposes. */
static const size_t workspaces[] = { 1 << 20, 0, 4096 };

enum { N_ALGORITHMS = sizeof workspaces / sizeof workspaces[0] };

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t what,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t *out, int *n)
{
    const uint64_t tensor =
        (what->compute == CUBLAS_COMPUTE_32F_FAST_TF32 || d->type != CUDA_R_32F) &&
        !fake_number("LAYERMETER_FAKE_NO_TENSOR", 0);

    *n = 0;
    fake_choices++;
    if (!handle || !fits(what, a, b, d) || c->rows != d->rows || c->columns != d->columns)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!has_types(what, a, b, d) ||
        (what->compute == CUBLAS_COMPUTE_32F_FAST_TF32 && d->type != CUDA_R_32F))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (what->epilogue == CUBLASLT_EPILOGUE_BIAS && !what->bias)
        return CUBLAS_STATUS_INVALID_VALUE; /* its alignment would not be known */
    for (uint64_t i = 0; i < N_ALGORITHMS && *n < wanted; i++)
        if (workspaces[i] <= preference->workspace)
            out[(*n)++] =
                (cublasLtMatmulHeuristicResult_t){ .algo = { .data = { 20 + i, 1, tensor } },
                                                   .workspaceSize = workspaces[i] };
    return *n ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t          *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t name,
                                                    void *value, size_t size, size_t *written)
{
    const uint32_t it = (uint32_t)algo->data[name == CUBLASLT_ALGO_CONFIG_ID ? 0 : 1];

    *written = sizeof it;
    return put(value, size, &it, sizeof it);
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t       *algo,
                                                 cublasLtMatmulAlgoCapAttributes_t name,
                                                 void *value, size_t size, size_t *written)
{
    const uint64_t it =
        algo->data[2] ? CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA : CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA;

    if (name != CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS)
        return CUBLAS_STATUS_INVALID_VALUE;
    *written = sizeof it;
    return put(value, size, &it, sizeof it);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t what, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_type, const void *b,
                              cublasLtMatrixLayout_t b_type, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_type, void *d, cublasLtMatrixLayout_t d_type,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream)
{
    const product p      = { *what,
                             *a_type,
                             *b_type,
                             *d_type,
                             a,
                             b,
                             d,
                             fake_factor(alpha),
                             fake_factor(beta),
                             algo->data[2] != 0 };
    const size_t  needed = workspaces[algo->data[0] - 20];

    if (!handle || c != d || c_type != d_type || !fits(what, a_type, b_type, d_type))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!has_types(what, a_type, b_type, d_type))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (is_f8(a_type->type) && (a_type->rows % 16 || d_type->rows % 16 || d_type->columns % 16 ||
                                (uintptr_t)a % 16 || (uintptr_t)b % 16 || (uintptr_t)d % 16))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if ((what->scale_a && !fake_is_device_memory(what->scale_a, sizeof(float))) ||
        (what->scale_b && !fake_is_device_memory(what->scale_b, sizeof(float))))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!fake_is_device_memory(a, bytes_of(a_type)) ||
        !fake_is_device_memory(b, bytes_of(b_type)) || !fake_is_device_memory(d, bytes_of(d_type)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (what->epilogue == CUBLASLT_EPILOGUE_BIAS &&
        !fake_is_device_memory(what->bias,
                               d_type->rows * fake_element_bytes(element(d_type->type))))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (workspace_bytes < needed || (needed && !fake_is_device_memory(workspace, needed)) ||
        (uintptr_t)workspace % 256)
        return CUBLAS_STATUS_INVALID_VALUE;
    return fake_library_enqueue(stream, multiply, &p, sizeof p) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}
