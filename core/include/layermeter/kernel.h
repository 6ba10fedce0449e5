/** Kernels: layer types are described by them, backends run them, models predict their time. */
#ifndef LAYERMETER_KERNEL_H
#define LAYERMETER_KERNEL_H

#include <layermeter/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Passes of a training step. LM_GRAD_INPUT and LM_GRAD_WEIGHT together are the backward pass. */
typedef int32_t lm_pass;
enum lm_passes { LM_FORWARD = 0, LM_GRAD_INPUT = 1, LM_GRAD_WEIGHT = 2, LM_N_PASSES = 3 };

/** Operation of a kernel. Append only. A backend skips unknown operations with a warning. */
typedef int32_t lm_op;
enum lm_ops {
    LM_OP_OPAQUE = 0, /**< priced from u.opaque; no backend can run it */
    LM_OP_GEMM   = 1, /**< batch x (m,k) * (k,n): the shapes of this pass's own product */
    /**
     * the forward geometry; `pass` selects one of the three products. A transposed convolution's
     * forward pass is the input gradient of the convolution that it transposes. Therefore, since
     * 1.1, `pass` may differ from the pass that launches the kernel
     */
    LM_OP_CONV      = 2,
    LM_OP_POOL      = 3, /**< the forward geometry */
    LM_OP_MAP       = 4, /**< elementwise, any arity */
    LM_OP_NORM      = 5,
    LM_OP_SOFTMAX   = 6,
    LM_OP_GATHER    = 7,
    LM_OP_COPY      = 8,
    LM_OP_REDUCE    = 9,  /**< sum, mean, maximum ...: since 1.1 */
    LM_OP_ATTENTION = 10, /**< fused ("flash") scaled dot-product attention: since 1.1 */
    /* Emitted by the core only; refused from plugins in 1.0. */
    LM_OP_ALLREDUCE = 0x100
};

enum { LM_POOL_MAX = 0, LM_POOL_AVG = 1 };

/**
 * One launch, or `repeat` equal launches, of a primitive. Record.
 *
 * Triples are depth, height, width; 1 where an axis does not exist (0 for `pad`). `pad` is the
 * padding in front of an axis; the padding behind follows from `out`.
 */
typedef struct lm_kernel {
    size_t   size;
    lm_op    op;
    lm_pass  pass;
    lm_dtype dtype;
    uint32_t repeat; /**< >= 1 */
    union {
        lm_work opaque;
        struct {
            int64_t batch, m, n, k, bias, activations, result_bytes;
            /**
         * bias: 1 adds a row vector; activations: 1 if neither factor is a weight, as in attention
         * (since 1.1); result_bytes (since 1.3): size of an element of the result, if its type is not
         * `dtype`, else 0
         */
        } gemm;
        struct {
            int64_t n, c_in, c_out, groups, bias;
            int64_t in[3], out[3], window[3], stride[3], pad[3], dilation[3];
        } conv;
        struct {
            int64_t n, channels, mode;
            int64_t in[3], out[3], window[3], stride[3], pad[3], dilation[3];
            int64_t taps;
            /**
         * taps (since 1.1): elements under all windows of one channel, for windows of unequal size,
         * as adaptive ones are: output i reads floor(i in / out) up to ceil((i + 1) in / out), and
         * `window` is the longest. 0: `window` under each output
         */
        } pool;
        struct {
            int64_t elements, operands, flops_per_element, reads, writes, width;
            /**
         * reads `operands` tensors, writes one. reads, writes (since 1.1): elements read and
         * written in all, if tensors differ in size; 0: `operands` x `elements` read, `elements`
         * written. width (since 1.3): of a row, if a transposed copy is written, too
         */
        } map;
        struct {
            int64_t rows, group, inner, rms, channels;
            /**
         * statistics over `group` elements for each of `rows`; `inner` of these elements are
         * adjacent in memory. Batch norm of N,C,H,W has rows C, group N*H*W, inner H*W; layer norm
         * has inner = group. rms (since 1.1): 1 is without mean and shift. channels (since 1.3): 1
         * if inner = group, but scale and shift are of a row, as of a batch norm of one sample
         */
        } norm;
        struct {
            int64_t rows, group;
        } softmax;
        struct {
            int64_t rows, width, table_rows;
        } gather;
        struct {
            int64_t bytes;
        } copy;
        struct {
            int64_t rows, group, inner;
            /**
         * reduces `group` elements to one, for each of `rows`; `inner` of the rows are adjacent in
         * memory. The sum of N,C,H,W over C has rows N*H*W, group C, inner H*W
         */
        } reduce;
        struct {
            int64_t batch, heads, kv_heads, queries, keys, width, value_width, causal, dropout,
                latent;
            /**
         * width: of one head's query and key; causal: query i sees keys 0..i; dropout: 1 drops
         * random probabilities; latent (since 1.3): 1 if the values are the first elements
         * of the keys, which are read once
         */
        } attention;
        struct {
            int64_t bytes, ranks, nodes;
        } collective;     /**< bytes per rank */
        int64_t room[32]; /**< freezes the size of the union */
    } u;
} lm_kernel;

/** Product of a triple; saturates. */
static inline uint64_t lm_volume(const int64_t triple[3])
{
    return lm_mul(lm_mul((uint64_t)triple[0], (uint64_t)triple[1]), (uint64_t)triple[2]);
}

/** Number of (query, key) pairs of one head in which the query sees the key. Saturates. */
static inline uint64_t lm_attention_pairs(const lm_kernel *k)
{
    const uint64_t q = (uint64_t)k->u.attention.queries, n = (uint64_t)k->u.attention.keys;
    const uint64_t low =
        q < n ? q : n; /* queries that see fewer than all keys, and the one after */

    if (!k->u.attention.causal)
        return lm_mul(q, n);
    return lm_add(low % 2 ? lm_mul(low, (low + 1) / 2) : lm_mul(low / 2, low + 1),
                  lm_mul(q - low, n));
}

/**
 * Multiply-accumulates of one launch; 0 for all but GEMM, CONV and ATTENTION.
 *
 * All three products of a convolution take the same number (each pairs every output with every
 * weight it sees; products with padding count, as in every published table). Attention forward
 * takes two products for each pair it keeps (Q K^T, P V); backward five, since it computes Q K^T
 * again (Dao et al. 2022, "FlashAttention", algorithm 4), under LM_GRAD_INPUT.
 */
static inline uint64_t lm_kernel_macs(const lm_kernel *k)
{
    if (k->op == LM_OP_GEMM)
        return lm_mul(lm_mul((uint64_t)k->u.gemm.batch, (uint64_t)k->u.gemm.m),
                      lm_mul((uint64_t)k->u.gemm.n, (uint64_t)k->u.gemm.k));
    if (k->op == LM_OP_CONV)
        return lm_mul(
            lm_mul(lm_mul((uint64_t)k->u.conv.n, (uint64_t)k->u.conv.c_out),
                   lm_volume(k->u.conv.out)),
            lm_mul((uint64_t)(k->u.conv.c_in / k->u.conv.groups), lm_volume(k->u.conv.window)));
    if (k->op == LM_OP_ATTENTION) {
        const uint64_t w = (uint64_t)k->u.attention.width;
        const uint64_t v = (uint64_t)k->u.attention.value_width;

        return lm_mul(lm_mul(lm_mul((uint64_t)k->u.attention.batch, (uint64_t)k->u.attention.heads),
                             lm_attention_pairs(k)),
                      k->pass == LM_FORWARD ? lm_add(w, v) : lm_add(lm_mul(3, w), lm_mul(2, v)));
    }
    return 0;
}

/**
 * Work of one launch: the only place where the arithmetic and traffic of a primitive are defined.
 * Bias parameters, running statistics and max-pooling indices are left out of the traffic.
 *
 *  - gemm, conv: 2 FLOP per multiply-accumulate, 1 more per output element for a bias
 *  - pool: 1 FLOP for each element under each window
 *  - norm forward 8 per element: mean 1, variance 3, normalise 2, scale and shift 2;
 *    backward 9: x-hat 2, sum dy 1, sum dy*x-hat 2, dx 4 (Ioffe & Szegedy 2015, section 3);
 *    rms the same without mean and shift, 4 (square and add 2, normalise 1, scale 1) and
 *    6 (x-hat 1, sum dy*x-hat 2, dx 3) (Zhang & Sennrich 2019, equation 4)
 *  - softmax forward 5 (max, subtract, exp, sum, divide), backward 4 (y*dy, sum, subtract,
 *    multiply)
 *  - gather: copies forward, 1 addition per element backward
 *  - reduce: 1 per input element
 *  - attention, in addition to the products:
 *    forward 5 per pair (scale, maximum, subtract, exp, sum) and 1 per output element (division);
 *    rescaling between blocks is left out, because it depends on the block size;
 *    backward 6 per pair (scale, subtract, exp; dS = P (dP - D) scaled: 3) and 2 per output
 *    element (D = rowsum(dO O));
 *    dropout 2 per pair forward (draw against p, scale), 3 backward (the same, and dP).
 *    Traffic: reads Q, K, V and, backward, the output and its gradient; writes the output, or the
 *    gradients of Q, K, V. (Dao et al. 2022, algorithms 2 and 4; the final division and the stored
 *    logarithms of sums, which the traffic leaves out, are in Dao 2023, "FlashAttention-2",
 *    section 3.1)
 */
static inline lm_work lm_kernel_work(const lm_kernel *k)
{
    const uint64_t s = lm_dtype_bytes(k->dtype);
    lm_work        w = { 0, 0, 0 };
    uint64_t       a, b, c, d;

    switch ((enum lm_ops)k->op) {
    case LM_OP_OPAQUE: return k->u.opaque;
    case LM_OP_GEMM:
        a               = lm_mul((uint64_t)k->u.gemm.batch, s);
        b               = lm_mul((uint64_t)k->u.gemm.m, (uint64_t)k->u.gemm.n);
        w.flops         = lm_mul(2, lm_kernel_macs(k));
        w.read_bytes    = lm_mul(a, lm_add(lm_mul((uint64_t)k->u.gemm.m, (uint64_t)k->u.gemm.k),
                                           lm_mul((uint64_t)k->u.gemm.k, (uint64_t)k->u.gemm.n)));
        d               = k->u.gemm.result_bytes > 0 ? (uint64_t)k->u.gemm.result_bytes : s;
        w.written_bytes = lm_mul(lm_mul((uint64_t)k->u.gemm.batch, d), b);
        if (k->u.gemm.bias)
            w.flops = lm_add(w.flops, lm_mul((uint64_t)k->u.gemm.batch, b));
        return w;
    case LM_OP_CONV:
        a = lm_mul(lm_mul((uint64_t)k->u.conv.n, (uint64_t)k->u.conv.c_in),
                   lm_volume(k->u.conv.in));
        b = lm_mul(lm_mul((uint64_t)k->u.conv.n, (uint64_t)k->u.conv.c_out),
                   lm_volume(k->u.conv.out));
        c = lm_mul(lm_mul((uint64_t)k->u.conv.c_out, (uint64_t)(k->u.conv.c_in / k->u.conv.groups)),
                   lm_volume(k->u.conv.window));
        w.flops = lm_mul(2, lm_kernel_macs(k));
        if (k->u.conv.bias && k->pass != LM_GRAD_INPUT)
            w.flops = lm_add(w.flops, b);
        if (k->pass == LM_FORWARD) {
            w.read_bytes    = lm_mul(lm_add(a, c), s);
            w.written_bytes = lm_mul(b, s);
        } else if (k->pass == LM_GRAD_INPUT) {
            w.read_bytes    = lm_mul(lm_add(b, c), s);
            w.written_bytes = lm_mul(a, s);
        } else {
            w.read_bytes    = lm_mul(lm_add(a, b), s);
            w.written_bytes = lm_mul(c, s);
        }
        return w;
    case LM_OP_POOL:
        c       = lm_mul((uint64_t)k->u.pool.n, (uint64_t)k->u.pool.channels);
        a       = lm_mul(lm_mul(c, lm_volume(k->u.pool.in)), s);
        b       = lm_mul(c, lm_volume(k->u.pool.out));
        w.flops = k->u.pool.taps ? lm_mul(c, (uint64_t)k->u.pool.taps)
                                 : lm_mul(b, lm_volume(k->u.pool.window));
        b       = lm_mul(b, s);

        w.read_bytes    = k->pass == LM_FORWARD ? a : b;
        w.written_bytes = k->pass == LM_FORWARD ? b : a;
        return w;
    case LM_OP_MAP:
        a       = (uint64_t)k->u.map.elements;
        w.flops = lm_mul(a, (uint64_t)k->u.map.flops_per_element);
        b       = lm_mul(a, (uint64_t)k->u.map.operands);

        w.read_bytes    = lm_mul(k->u.map.reads ? (uint64_t)k->u.map.reads : b, s);
        w.written_bytes = lm_mul(k->u.map.writes ? (uint64_t)k->u.map.writes : a, s);
        return w;
    case LM_OP_NORM:
        a               = lm_mul((uint64_t)k->u.norm.rows, (uint64_t)k->u.norm.group);
        b               = lm_mul(a, s);
        c               = k->u.norm.rms ? 4 : 8;
        d               = k->u.norm.rms ? 6 : 9;
        w.flops         = lm_mul(a, k->pass == LM_FORWARD ? c : d);
        w.read_bytes    = k->pass == LM_FORWARD ? b : lm_mul(2, b);
        w.written_bytes = b;
        return w;
    case LM_OP_SOFTMAX:
        a               = lm_mul((uint64_t)k->u.softmax.rows, (uint64_t)k->u.softmax.group);
        b               = lm_mul(a, s);
        w.flops         = lm_mul(a, k->pass == LM_FORWARD ? 5 : 4);
        w.read_bytes    = k->pass == LM_FORWARD ? b : lm_mul(2, b);
        w.written_bytes = b;
        return w;
    case LM_OP_GATHER:
        a               = lm_mul((uint64_t)k->u.gather.rows, (uint64_t)k->u.gather.width);
        w.flops         = k->pass == LM_FORWARD ? 0 : a;
        w.read_bytes    = lm_mul(a, s);
        w.written_bytes = w.read_bytes;
        return w;
    case LM_OP_COPY:
        w.read_bytes    = (uint64_t)k->u.copy.bytes;
        w.written_bytes = w.read_bytes;
        return w;
    case LM_OP_REDUCE:
        w.flops         = lm_mul((uint64_t)k->u.reduce.rows, (uint64_t)k->u.reduce.group);
        w.read_bytes    = lm_mul(w.flops, s);
        w.written_bytes = lm_mul((uint64_t)k->u.reduce.rows, s);
        return w;
    case LM_OP_ATTENTION:
        a = lm_mul((uint64_t)k->u.attention.batch, (uint64_t)k->u.attention.heads);
        b = lm_mul((uint64_t)k->u.attention.batch, (uint64_t)k->u.attention.kv_heads);
        c = lm_mul(lm_mul(a, (uint64_t)k->u.attention.queries),
                   (uint64_t)k->u.attention.value_width); /* output */
        d = lm_add(
            lm_mul(lm_mul(a, (uint64_t)k->u.attention.queries), (uint64_t)k->u.attention.width),
            lm_mul(lm_mul(b, (uint64_t)k->u.attention.keys),
                   lm_add((uint64_t)k->u.attention.width,
                          k->u.attention.latent
                              ? 0
                              : (uint64_t)k->u.attention.value_width))); /* Q, K, V */
        a               = lm_mul(a, lm_attention_pairs(k));
        b               = k->u.attention.dropout ? 1 : 0;
        w.flops         = lm_add(lm_mul(2, lm_kernel_macs(k)),
                         k->pass == LM_FORWARD ? lm_add(lm_mul(5 + 2 * b, a), c)
                                                       : lm_add(lm_mul(6 + 3 * b, a), lm_mul(2, c)));
        w.read_bytes    = lm_mul(s, k->pass == LM_FORWARD ? d : lm_add(d, lm_mul(2, c)));
        w.written_bytes = lm_mul(s, k->pass == LM_FORWARD ? c : d);
        return w;
    case LM_OP_ALLREDUCE:
        w.read_bytes    = (uint64_t)k->u.collective.bytes;
        w.written_bytes = w.read_bytes;
        return w;
    }
    return w; /* an operation of a later minor version */
}

#ifdef __cplusplus
}
#endif
#endif
