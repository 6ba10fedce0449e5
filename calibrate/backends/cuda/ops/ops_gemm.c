/* Matrix products: cuBLASLt. */
#include "ops/ops.h"

#include <stdio.h>
#include <stdlib.h>

#include "ops/ops_graph.h"

#include "base/no_memory.h"

/*
 * A kernel's product is row-major, C (m,n) = A (m,k) B (k,n); the library's matrices are
 * column-major. So the library computes C' (n,m) = B' A': a row-major matrix is a transposed
 * column-major one in memory. Its first operand is our B.
 *
 * Operands are transposed in memory where a framework's linear layer has them so: weights, (n,k),
 * in the forward pass, and the gradient of the output, (k,m), in the weight gradient.
 *
 * The product's own kernel adds the bias, as in PyTorch's linear layer (addmm with cublasLtMatmul's
 * epilogue).
 */

enum {
    MAX_ALGORITHMS = 10,
    ALIGNMENT      = 256,     /* bytes, of every operand: the plan's */
    WORKSPACE      = 32 << 20 /* bytes: NVIDIA's advice for its latest devices */
};

/* The library's names of element types; scaled: FP8, whose factors have scales. */
typedef struct formats {
    cudaDataType_t      first, second, result; /* first: our A */
    cublasComputeType_t compute;
    bool                scaled;
} formats;

typedef struct gemm {
    cublasLtMatmulDesc_t            what;
    cublasLtMatrixLayout_t          a, b, c; /* as the library names them */
    cublasLtMatmulHeuristicResult_t found[MAX_ALGORITHMS];
    int                             n_found, chosen;
    size_t                          a_at, b_at, c_at, bias_at, scratch_at;
    size_t                          a_scale_at, b_scale_at; /* NONE: not scaled */
} gemm;

enum { NONE = MAX_SLOTS };

/* In FP8 gradients (the first operand) are e5m2, other factors e4m3, and results bf16. */
static bool types_of(const lm_kernel *k, bool tf32, formats *out)
{
    const lm_dtype       dtype = k->dtype;
    const bool           f8    = dtype == LM_F8 && k->u.gemm.result_bytes == 2;
    const cudaDataType_t all   = dtype == LM_F16    ? CUDA_R_16F
                                 : dtype == LM_BF16 ? CUDA_R_16BF
                                                    : CUDA_R_32F;

    *out = (formats){ all, all, all, CUBLAS_COMPUTE_32F, f8 };
    if (dtype == LM_F32 && tf32)
        out->compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    if (f8) {
        out->first  = k->pass == LM_FORWARD ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
        out->second = CUDA_R_8F_E4M3;
        out->result = CUDA_R_16BF;
    }
    return f8 || dtype == LM_F16 || dtype == LM_BF16 || dtype == LM_F32;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void free_gemm(gemm *g)
{
    if (!g)
        return;
    if (g->what)
        (void)cublasLtMatmulDescDestroy(g->what);
    if (g->a)
        (void)cublasLtMatrixLayoutDestroy(g->a);
    if (g->b)
        (void)cublasLtMatrixLayoutDestroy(g->b);
    if (g->c)
        (void)cublasLtMatrixLayoutDestroy(g->c);
    free(g);
}

static void release(cuda_kernel *k)
{
    free_gemm(k->made);
    k->made = NULL;
}

/* Column-major, packed; one behind the other. */
static cublasStatus_t make_matrix(cudaDataType_t type, int64_t rows, int64_t columns, int64_t batch,
                                  cublasLtMatrixLayout_t *out)
{
    const int32_t  count  = (int32_t)batch;
    const int64_t  offset = rows * columns;
    cublasStatus_t cause =
        cublasLtMatrixLayoutCreate(out, type, (uint64_t)rows, (uint64_t)columns, rows);

    if (cause == CUBLAS_STATUS_SUCCESS && batch > 1)
        cause = cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                 sizeof count);
    if (cause == CUBLAS_STATUS_SUCCESS && batch > 1)
        cause = cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                 &offset, sizeof offset);
    return cause;
}

static cublasStatus_t set_bias(const gemm *g, const void *pointer)
{
    return cublasLtMatmulDescSetAttribute(g->what, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointer,
                                          sizeof pointer);
}

static cublasStatus_t set_scales(const gemm *g, const void *a, const void *b)
{
    const cublasStatus_t cause =
        cublasLtMatmulDescSetAttribute(g->what, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &a, sizeof a);

    return cause != CUBLAS_STATUS_SUCCESS
               ? cause
               : cublasLtMatmulDescSetAttribute(g->what, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &b,
                                                sizeof b);
}

/* As in Transformer Engine, forward sums have fewer bits, which is faster on Hopper
 * (use_split_accumulator of DelayedScaling: no, yes, yes). */
static cublasStatus_t make_scaled(const gemm *g, lm_pass pass)
{
    const int8_t         fast  = pass == LM_FORWARD;
    const void          *later = (const void *)(uintptr_t)ALIGNMENT;
    const cublasStatus_t cause = cublasLtMatmulDescSetAttribute(
        g->what, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast);

    return cause == CUBLAS_STATUS_SUCCESS ? set_scales(g, later, later) : cause;
}

/* The pointer is known later; until then its alignment is what counts. */
static cublasStatus_t make_what(gemm *g, cublasComputeType_t compute, bool turn_a, bool turn_b,
                                bool bias)
{
    const int32_t            a         = turn_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int32_t            b         = turn_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasLtEpilogue_t epilogue  = CUBLASLT_EPILOGUE_BIAS;
    const uintptr_t          somewhere = ALIGNMENT;
    cublasStatus_t           cause     = cublasLtMatmulDescCreate(&g->what, compute, CUDA_R_32F);

    if (cause == CUBLAS_STATUS_SUCCESS)
        cause = cublasLtMatmulDescSetAttribute(g->what, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a);
    if (cause == CUBLAS_STATUS_SUCCESS)
        cause = cublasLtMatmulDescSetAttribute(g->what, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b);
    if (cause == CUBLAS_STATUS_SUCCESS && bias)
        cause = cublasLtMatmulDescSetAttribute(g->what, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                               sizeof epilogue);
    if (cause == CUBLAS_STATUS_SUCCESS && bias)
        cause = set_bias(g, (const void *)somewhere);
    return cause;
}

static cublasStatus_t make_descriptors(gemm *g, const lm_kernel *k, const formats *f, bool a_turned,
                                       bool b_turned)
{
    const int64_t  m = k->u.gemm.m, n = k->u.gemm.n, depth = k->u.gemm.k, batch = k->u.gemm.batch;
    cublasStatus_t cause = make_what(g, f->compute, b_turned, a_turned, k->u.gemm.bias);

    if (cause == CUBLAS_STATUS_SUCCESS && f->scaled)
        cause = make_scaled(g, k->pass);
    if (cause == CUBLAS_STATUS_SUCCESS)
        cause = make_matrix(f->second, b_turned ? depth : n, b_turned ? n : depth, batch, &g->a);
    if (cause == CUBLAS_STATUS_SUCCESS)
        cause = make_matrix(f->first, a_turned ? m : depth, a_turned ? depth : m, batch, &g->b);
    if (cause == CUBLAS_STATUS_SUCCESS)
        cause = make_matrix(f->result, n, m, batch, &g->c);
    return cause;
}

static cublasStatus_t prefer(cublasLtMatmulPreference_t p, size_t workspace)
{
    static const cublasLtMatmulPreferenceAttributes_t alignment[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES
    };
    const uint32_t aligned = ALIGNMENT;
    const uint64_t most    = workspace;
    cublasStatus_t cause   = cublasLtMatmulPreferenceSetAttribute(
          p, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most);

    for (size_t i = 0; i < 4 && cause == CUBLAS_STATUS_SUCCESS; i++)
        cause = cublasLtMatmulPreferenceSetAttribute(p, alignment[i], &aligned, sizeof aligned);
    return cause;
}

static cublasStatus_t find(gemm *g, const cuda_device *device, int wanted)
{
    const size_t limit = device->workspace_limit < WORKSPACE ? device->workspace_limit : WORKSPACE;
    cublasLtMatmulPreference_t p     = NULL;
    cublasStatus_t             cause = cublasLtMatmulPreferenceCreate(&p);

    if (cause == CUBLAS_STATUS_SUCCESS)
        cause = prefer(p, limit);
    if (cause == CUBLAS_STATUS_SUCCESS)
        cause = cublasLtMatmulAlgoGetHeuristic(device->blas, g->what, g->a, g->b, g->c, g->c, p,
                                               wanted, g->found, &g->n_found);
    if (p)
        (void)cublasLtMatmulPreferenceDestroy(p);
    return cause;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static lm_status run(const cuda_kernel *k, const cuda_device *device, void *const *at,
                     lm_error *err)
{
    const gemm                            *g   = k->made;
    const cublasLtMatmulHeuristicResult_t *how = &g->found[g->chosen];
    const float                            one = 1.0f, zero = 0.0f;
    void          *scratch = g->scratch_at == NONE ? NULL : at[g->scratch_at];
    cublasStatus_t cause   = CUBLAS_STATUS_SUCCESS;

    if (g->bias_at != NONE)
        cause = set_bias(g, at[g->bias_at]);
    if (cause == CUBLAS_STATUS_SUCCESS && g->a_scale_at != NONE)
        cause = set_scales(g, at[g->a_scale_at], at[g->b_scale_at]);
    if (cause == CUBLAS_STATUS_SUCCESS)
        cause = cublasLtMatmul(device->blas, g->what, &one, at[g->a_at], g->a, at[g->b_at], g->b,
                               &zero, at[g->c_at], g->c, at[g->c_at], g->c, &how->algo, scratch,
                               how->workspaceSize, device->stream);
    return cause == CUBLAS_STATUS_SUCCESS ? LM_OK : blas_failed(err, k->implementation, cause);
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* Adds slots. A product of two activations has no weights, nor has a batch of products. */
static void add_slots(cuda_kernel *k, gemm *g)
{
    const lm_kernel *s      = &k->base.kernel;
    const bool       scaled = s->dtype == LM_F8;
    const lm_dtype   t = s->dtype, made = scaled ? LM_BF16 : t;
    const fill       once = { FILL_ONE, LM_F32, 0 };
    const int64_t    m = s->u.gemm.m, n = s->u.gemm.n, depth = s->u.gemm.k, batch = s->u.gemm.batch;
    const bool       weights  = batch == 1 && !s->u.gemm.activations;
    const graph_layout first  = graph_packed(3, (const int64_t[]){ batch, m, depth });
    const graph_layout second = graph_packed(3, (const int64_t[]){ batch, depth, n });
    const graph_layout result = graph_packed(3, (const int64_t[]){ batch, m, n });
    const graph_layout bias   = graph_packed(1, &n);
    const graph_layout one    = graph_packed(1, (const int64_t[]){ 1 });
    slot_role          role = ROLE_SAVED_IN, out = ROLE_OUT;

    if (s->pass == LM_FORWARD)
        role = weights ? ROLE_WEIGHT : ROLE_IN_OTHER;
    else if (s->pass == LM_GRAD_INPUT && weights)
        role = ROLE_WEIGHT;
    if (s->pass == LM_GRAD_WEIGHT && weights)
        out = ROLE_GRADIENT;
    g->b_at    = ops_slot(k, s->pass == LM_FORWARD ? CUDA_SRC : CUDA_DIFF_DST, ROLE_IN, &first, t,
                          cuda_normal(t, 1.0));
    g->a_at    = ops_slot(k, role == ROLE_WEIGHT ? CUDA_WEIGHTS : CUDA_SRC_OTHER, role, &second, t,
                          cuda_normal(t, role == ROLE_WEIGHT ? ops_fan_in(depth) : 1.0));
    g->bias_at = NONE;
    if (s->u.gemm.bias)
        g->bias_at = ops_slot(k, CUDA_BIAS, ROLE_WEIGHT, &bias, made, (fill){ FILL_ZERO, made, 0 });
    g->c_at = ops_slot(k, out == ROLE_GRADIENT ? CUDA_DIFF_WEIGHTS : CUDA_DST, out, &result, made,
                       cuda_normal(made, 1.0));
    g->a_scale_at = g->b_scale_at = NONE;
    if (!scaled)
        return;
    g->b_scale_at = ops_slot(k, CUDA_FACTOR, ROLE_STATE, &one, LM_F32, once);
    g->a_scale_at = ops_slot(k, CUDA_FACTOR_OTHER, ROLE_STATE, &one, LM_F32, once);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static void choose(cuda_kernel *k, size_t i)
{
    gemm *g = k->made;

    g->chosen = (int)i;
}

static void add_scratch(cuda_kernel *k, gemm *g, size_t bytes)
{
    g->scratch_at = bytes ? k->base.n_slots : NONE;
    cuda_add_slot(k, CUDA_SCRATCH, ROLE_SCRATCH, bytes, (fill){ .kind = FILL_NONE });
}

static lm_status tune(const cuda_device *device, cuda_kernel *k, gemm *g, bool *tuned,
                      lm_error *err)
{
    const plan_kernel before = k->base;
    size_t            most   = 0;
    lm_status         status;

    *tuned = false;
    if (g->n_found < 2)
        return LM_OK;
    for (int i = 0; i < g->n_found; i++)
        most = most < g->found[i].workspaceSize ? g->found[i].workspaceSize : most;
    add_scratch(k, g, most);
    status  = ops_tune(device, k, (size_t)g->n_found, choose, tuned, err);
    k->base = before;
    return status;
}

static void describe(cuda_kernel *k, const gemm *g, bool tuned)
{
    const cublasLtMatmulHeuristicResult_t *how  = &g->found[g->chosen];
    int32_t                                id   = -1;
    uint32_t                               tile = 0;
    uint64_t                               does = 0;
    size_t                                 n    = 0;

    (void)cublasLtMatmulAlgoConfigGetAttribute(&how->algo, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id,
                                               &n);
    (void)cublasLtMatmulAlgoConfigGetAttribute(&how->algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile,
                                               sizeof tile, &n);
    (void)cublasLtMatmulAlgoCapGetAttribute(&how->algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS,
                                            &does, sizeof does, &n);
    k->tensor_cores = (does & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) != 0;
    snprintf(k->implementation, sizeof k->implementation, "cublaslt algo %d tile %u%s %.7g B %s",
             (int)id, (unsigned)tile, k->tensor_cores ? " tensor" : "", (double)how->workspaceSize,
             tuned ? "autotuned" : "heuristic");
}

/* In FP8 both factors are contiguous along the summed axis: casts write transposed copies. */
lm_status ops_gemm(const cuda_device *device, const settings *how, cuda_kernel *k, lm_error *err)
{
    const lm_kernel *s = &k->base.kernel;

    if (s->dtype == LM_F8) {
        const lm_status status = cuda_need_f8(device, err);

        return status ? status : ops_product(device, how, k, false, true, err);
    }
    return ops_product(device, how, k, s->pass == LM_GRAD_WEIGHT,
                       s->pass == LM_FORWARD && s->u.gemm.batch == 1, err);
}

lm_status ops_product(const cuda_device *device, const settings *how, cuda_kernel *k, bool a_turned,
                      bool b_turned, lm_error *err)
{
    const bool     autotune = how->value[SETTING_ALGORITHMS] != 0;
    const int      wanted   = autotune ? MAX_ALGORITHMS : 1;
    formats        f;
    gemm          *g;
    cublasStatus_t cause;
    lm_status      status;
    bool           tuned;

    if (!types_of(&k->base.kernel, settings_tf32(how, LM_OP_GEMM), &f))
        return cuda_unsupported(k, "cuBLASLt", "no such element type", err);
    if (k->base.kernel.u.gemm.batch > INT32_MAX)
        return cuda_unsupported(k, "cuBLASLt", "a batch beyond 31 bits", err);
    g = calloc(1, sizeof *g);
    if (!g)
        return no_memory(err);
    cause = make_descriptors(g, &k->base.kernel, &f, a_turned, b_turned);
    if (cause == CUBLAS_STATUS_SUCCESS)
        cause = find(g, device, wanted);
    if (cause == CUBLAS_STATUS_NOT_SUPPORTED ||
        (cause == CUBLAS_STATUS_SUCCESS && g->n_found == 0)) {
        free_gemm(g);
        return cuda_unsupported(k, "cuBLASLt", "no algorithm", err);
    }
    if (cause != CUBLAS_STATUS_SUCCESS) {
        free_gemm(g);
        return blas_failed(err, "cuBLASLt", cause);
    }
    add_slots(k, g);
    k->made = g;
    k->run  = run;
    status  = tune(device, k, g, &tuned, err);
    if (status) {
        release(k);
        return status;
    }
    k->release = release;
    add_scratch(k, g, g->found[g->chosen].workspaceSize);
    describe(k, g, tuned);
    return LM_OK;
}
