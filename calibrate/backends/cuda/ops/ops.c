/* Table of the makers of kernels. */
#include "ops/ops.h"

static ops_prepare *const family[] = {
    [LM_OP_GEMM] = ops_gemm,     [LM_OP_CONV] = ops_conv,
    [LM_OP_POOL] = ops_pool,     [LM_OP_MAP] = ops_map,
    [LM_OP_NORM] = ops_norm,     [LM_OP_SOFTMAX] = ops_softmax,
    [LM_OP_GATHER] = ops_gather, [LM_OP_COPY] = ops_copy,
    [LM_OP_REDUCE] = ops_reduce, [LM_OP_ATTENTION] = ops_attention,
};

ops_prepare *ops_find(lm_op op, bool update)
{
    if (update)
        return op == LM_OP_MAP ? ops_update : NULL;
    return op >= 0 && (size_t)op < sizeof family / sizeof family[0] ? family[op] : NULL;
}
