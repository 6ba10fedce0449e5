/* Products in FP8: which, and the kernels around them. */
#include "network/mixed/fp8.h"

/* Dimensions that cuBLASLt's FP8 kernels take ("all matrix dimensions must be multiples of 16").
 * Transformer Engine asks for the same but of rows, where 8 do for some products
 * (pytorch/utils.py, assert_dim_for_fp8_exec). */
#define MULTIPLE 16

/* amax_history_len of DelayedScaling */
#define HISTORY 1024

uint64_t fp8_record_bytes(void)
{
    /* the record, the scale and its inverse, in f32 */
    return (FP8_FORWARD_TENSORS + FP8_BACKWARD_TENSORS) * (HISTORY + 2) * sizeof(float);
}

bool fp8_is_weighed(const lm_kernel *k)
{
    return k->op == LM_OP_GEMM && k->u.gemm.batch == 1 && !k->u.gemm.activations;
}

static bool fits(const lm_kernel *k)
{
    return k->repeat == 1 && k->u.gemm.m % MULTIPLE == 0 && k->u.gemm.n % MULTIPLE == 0 &&
           k->u.gemm.k % MULTIPLE == 0;
}

/* Factors that are weights: matrices, each of one product. */
static size_t matrices(const bound_layer *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n_weights + b->n_shared; i++)
        n += b->weights[i].tensor.rank > 1 && lm_dtype_is_real(b->weights[i].tensor.dtype);
    return n;
}

size_t fp8_products(const bound_layer *half)
{
    size_t n = 0;

    for (lm_pass p = 0; p < LM_N_PASSES; p++)
        for (size_t i = 0; i < half->n_kernels[p]; i++) {
            const lm_kernel *k = &half->kernels[p][i];
            const bool other = k->op == LM_OP_CONV || (k->op == LM_OP_GEMM && !fp8_is_weighed(k) &&
                                                       !k->u.gemm.activations);

            if (other || (fp8_is_weighed(k) && !fits(k)))
                return 0;
            n += p == LM_FORWARD && fp8_is_weighed(k);
        }
    return n == matrices(half) ? n : 0;
}

lm_kernel fp8_product(const lm_kernel *half)
{
    lm_kernel k = *half;

    k.dtype               = LM_F8;
    k.u.gemm.result_bytes = (int64_t)lm_dtype_bytes(half->dtype);
    return k;
}

/* Counted in bytes, which are elements of FP8: 2 FLOP each, a comparison and a multiplication. */
lm_kernel fp8_cast(lm_dtype from, uint64_t rows, uint64_t width, int copies, lm_pass pass)
{
    const uint64_t n = lm_mul(rows, width);
    lm_kernel k = { .size = sizeof k, .op = LM_OP_MAP, .pass = pass, .dtype = LM_F8, .repeat = 1 };

    k.u.map.elements          = (int64_t)n;
    k.u.map.operands          = 1;
    k.u.map.flops_per_element = 2;
    k.u.map.reads             = (int64_t)lm_mul(lm_dtype_bytes(from), n);
    k.u.map.writes            = (int64_t)lm_mul((uint64_t)copies, n);
    k.u.map.width             = (int64_t)width;
    return k;
}

bool fp8_is_cast(const lm_kernel *k, lm_dtype *from, bool *transposed)
{
    const int64_t n = k->u.map.elements;

    if (k->op != LM_OP_MAP || k->dtype != LM_F8 || k->u.map.operands != 1 || k->u.map.width < 1 ||
        n % k->u.map.width)
        return false;
    *from       = k->u.map.reads == 4 * n ? LM_F32 : LM_BF16;
    *transposed = k->u.map.writes == 2 * n;
    return (k->u.map.reads == 4 * n || k->u.map.reads == 2 * n) &&
           (*transposed || k->u.map.writes == n);
}

/* Each record is read and written, a step further, and compared. */
lm_kernel fp8_scales(uint64_t tensors)
{
    lm_kernel k = {
        .size = sizeof k, .op = LM_OP_MAP, .pass = LM_FORWARD, .dtype = LM_F32, .repeat = 1
    };

    k.u.map.elements          = (int64_t)lm_mul(tensors, HISTORY);
    k.u.map.operands          = 1;
    k.u.map.flops_per_element = 1;
    return k;
}
