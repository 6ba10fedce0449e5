/** Kernels: what layer types lower to, what backends run, and what the model prices. */
#ifndef LAYERMETER_KERNEL_H
#define LAYERMETER_KERNEL_H

#include <layermeter/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Passes of a training step. LM_GRAD_INPUT and LM_GRAD_WEIGHT together are the backward pass. */
typedef int32_t lm_pass;
enum { LM_FORWARD = 0, LM_GRAD_INPUT = 1, LM_GRAD_WEIGHT = 2, LM_N_PASSES = 3 };

/** What a kernel does. Append only; a backend skips, loudly, what it does not know. */
typedef int32_t lm_op;
enum {
    LM_OP_OPAQUE  = 0, /**< priced from u.opaque alone; nothing can run it */
    LM_OP_GEMM    = 1, /**< batch x (m,k) * (k,n): the shapes of this pass's own product */
    LM_OP_CONV    = 2, /**< the forward geometry; `pass` says which of the three products */
    LM_OP_POOL    = 3, /**< the forward geometry */
    LM_OP_MAP     = 4, /**< elementwise, any arity */
    LM_OP_NORM    = 5,
    LM_OP_SOFTMAX = 6,
    LM_OP_GATHER  = 7,
    LM_OP_COPY    = 8,
    /* Emitted by the core only; refused from plugins in 1.0. */
    LM_OP_ALLREDUCE = 0x100
};

enum { LM_POOL_MAX = 0, LM_POOL_AVG = 1 };

/**
 * One launch, or `repeat` equal launches, of a primitive. Record.
 *
 * Triples are depth, height, width; 1 where an axis does not exist (0 for `pad`). Padding is given
 * for the front of an axis; what the window needs behind follows from `out`.
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
            int64_t batch, m, n, k, bias;
        } gemm; /**< bias: 1 adds a row vector */
        struct {
            int64_t n, c_in, c_out, groups, bias;
            int64_t in[3], out[3], window[3], stride[3], pad[3], dilation[3];
        } conv;
        struct {
            int64_t n, channels, mode;
            int64_t in[3], out[3], window[3], stride[3], pad[3], dilation[3];
        } pool;
        struct {
            int64_t elements, operands, flops_per_element;
        } map; /**< reads `operands` tensors, writes one */
        struct {
            int64_t rows, group, inner;
        } norm; /**< statistics over `group` elements for each of `rows`; `inner` of them lie
                   together: batch norm of N,C,H,W has rows C, group N*H*W, inner H*W; layer norm
                   inner = group */
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

/** Multiply-accumulates of one launch; 0 for all but GEMM and CONV. All three products of a
 *  convolution take the same number (each pairs every output with every weight it sees; products
 *  with padding count, as in every published table). */
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
    return 0;
}

/**
 * Work of one launch: the only place where the arithmetic and traffic of a primitive are defined.
 * Bias parameters, running statistics and max-pooling indices are left out of the traffic.
 *
 *  - gemm, conv: 2 FLOP a multiply-accumulate, 1 more per output element for a bias
 *  - pool: 1 FLOP for each element under each window
 *  - norm forward 8 per element: mean 1, variance 3, normalise 2, scale and shift 2;
 *    backward 9: x-hat 2, sum dy 1, sum dy*x-hat 2, dx 4 (Ioffe & Szegedy 2015, section 3)
 *  - softmax forward 5 (max, subtract, exp, sum, divide), backward 4 (y*dy, sum, subtract,
 * multiply)
 *  - gather: copies forward, 1 addition per element backward
 */
static inline lm_work lm_kernel_work(const lm_kernel *k)
{
    const uint64_t s = lm_dtype_bytes(k->dtype);
    lm_work        w = { 0, 0, 0 };
    uint64_t       a, b, c;

    switch (k->op) {
    case LM_OP_OPAQUE: return k->u.opaque;
    case LM_OP_GEMM:
        a               = lm_mul((uint64_t)k->u.gemm.batch, s);
        b               = lm_mul((uint64_t)k->u.gemm.m, (uint64_t)k->u.gemm.n);
        w.flops         = lm_mul(2, lm_kernel_macs(k));
        w.read_bytes    = lm_mul(a, lm_add(lm_mul((uint64_t)k->u.gemm.m, (uint64_t)k->u.gemm.k),
                                           lm_mul((uint64_t)k->u.gemm.k, (uint64_t)k->u.gemm.n)));
        w.written_bytes = lm_mul(a, b);
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
        w.flops = lm_mul(b, lm_volume(k->u.pool.window));
        b       = lm_mul(b, s);

        w.read_bytes    = k->pass == LM_FORWARD ? a : b;
        w.written_bytes = k->pass == LM_FORWARD ? b : a;
        return w;
    case LM_OP_MAP:
        a               = lm_mul((uint64_t)k->u.map.elements, s);
        w.flops         = lm_mul((uint64_t)k->u.map.elements, (uint64_t)k->u.map.flops_per_element);
        w.read_bytes    = lm_mul(a, (uint64_t)k->u.map.operands);
        w.written_bytes = a;
        return w;
    case LM_OP_NORM:
        a               = lm_mul((uint64_t)k->u.norm.rows, (uint64_t)k->u.norm.group);
        b               = lm_mul(a, s);
        w.flops         = lm_mul(a, k->pass == LM_FORWARD ? 8 : 9);
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
    case LM_OP_ALLREDUCE:
        w.read_bytes    = (uint64_t)k->u.collective.bytes;
        w.written_bytes = w.read_bytes;
        return w;
    default: return w;
    }
}

#ifdef __cplusplus
}
#endif
#endif
