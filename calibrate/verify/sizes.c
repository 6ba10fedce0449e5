/* Sizes of a kernel's tensors. */
#include "verify/sizes.h"

#include "measure/kernel_kinds.h"

static bool is(verify_tensor tensor, verify_tensor a, verify_tensor b)
{
    return tensor == a || tensor == b;
}

/* Elements of a part of a buffer that holds several: as long as 256 bytes divide. */
static size_t part(lm_dtype type, int64_t elements)
{
    const size_t size = (size_t)lm_dtype_bytes(type);

    return size ? (size * (size_t)elements + 255) / 256 * 256 / size : 0;
}

attention_sizes verify_attention_sizes(const lm_kernel *k)
{
    const int64_t rows = k->u.attention.batch * k->u.attention.heads * k->u.attention.queries;
    const int64_t kept = k->u.attention.batch * k->u.attention.kv_heads * k->u.attention.keys;

    return (attention_sizes){ part(k->dtype, rows * k->u.attention.width),
                              part(k->dtype, kept * k->u.attention.width),
                              part(k->dtype, kept * k->u.attention.value_width),
                              (size_t)(rows * k->u.attention.value_width), (size_t)rows };
}

static int64_t size_in_attention(const lm_kernel *k, verify_tensor tensor)
{
    const attention_sizes s = verify_attention_sizes(k);

    return tensor == VERIFY_SRC        ? (int64_t)s.rows * k->u.attention.width
           : tensor == VERIFY_OTHER    ? (int64_t)(s.k + s.v)
           : tensor == VERIFY_DIFF_SRC ? (int64_t)(s.q + s.k + s.v)
           : tensor == VERIFY_MEAN     ? (int64_t)s.rows
                                       : (int64_t)s.o;
}

static int64_t size_in_conv(const lm_kernel *k, verify_tensor tensor)
{
    const int64_t n = k->u.conv.n, ci = k->u.conv.c_in, co = k->u.conv.c_out;

    if (is(tensor, VERIFY_SRC, VERIFY_DIFF_SRC))
        return n * ci * (int64_t)lm_volume(k->u.conv.in);
    if (is(tensor, VERIFY_OTHER, VERIFY_DIFF_OTHER))
        return co * (ci / k->u.conv.groups) * (int64_t)lm_volume(k->u.conv.window);
    return is(tensor, VERIFY_BIAS, VERIFY_DIFF_BIAS) ? co
                                                     : n * co * (int64_t)lm_volume(k->u.conv.out);
}

static int64_t size_in_gemm(const lm_kernel *k, verify_tensor tensor)
{
    const int64_t b = k->u.gemm.batch, m = k->u.gemm.m, n = k->u.gemm.n, depth = k->u.gemm.k;

    return tensor == VERIFY_SRC     ? b * m * depth
           : tensor == VERIFY_OTHER ? b * depth * n
           : tensor == VERIFY_BIAS  ? n
                                    : b * m * n;
}

static int64_t size_in_norm(const lm_kernel *k, verify_tensor tensor)
{
    const int64_t rows = k->u.norm.rows, group = k->u.norm.group;

    if (tensor >= VERIFY_SCALE && tensor <= VERIFY_DIFF_SHIFT)
        return norm_over_channels(k) ? rows : group;
    return tensor >= VERIFY_MEAN && tensor <= VERIFY_VARIANCE ? rows : rows * group;
}

static int64_t size_in_gather(const lm_kernel *k, verify_tensor tensor)
{
    const verify_tensor table = k->pass == LM_FORWARD ? VERIFY_SRC : VERIFY_DST;

    return tensor == VERIFY_INDEX
               ? k->u.gather.rows
               : (tensor == table ? k->u.gather.table_rows : k->u.gather.rows) * k->u.gather.width;
}

int64_t verify_size(const verify_trial *t, verify_tensor tensor)
{
    const lm_kernel *k = &t->kernel;

    switch ((enum lm_ops)k->op) {
    case LM_OP_CONV: return size_in_conv(k, tensor);
    case LM_OP_GEMM: return size_in_gemm(k, tensor);
    case LM_OP_POOL:
        return k->u.pool.n * k->u.pool.channels *
               (int64_t)lm_volume(is(tensor, VERIFY_SRC, VERIFY_DIFF_SRC) ? k->u.pool.in
                                                                          : k->u.pool.out);
    case LM_OP_NORM: return size_in_norm(k, tensor);
    case LM_OP_SOFTMAX: return k->u.softmax.rows * k->u.softmax.group;
    case LM_OP_REDUCE: return k->u.reduce.rows * (tensor == VERIFY_SRC ? k->u.reduce.group : 1);
    case LM_OP_GATHER: return size_in_gather(k, tensor);
    case LM_OP_COPY: return k->u.copy.bytes / (int64_t)lm_dtype_bytes(k->dtype);
    case LM_OP_MAP: return k->u.map.elements;
    case LM_OP_ATTENTION: return size_in_attention(k, tensor);
    case LM_OP_OPAQUE:
    case LM_OP_ALLREDUCE: break;
    }
    return 0;
}
