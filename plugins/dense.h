/** Products with a weight matrix, y = x W^T + b, for the layer types of this folder. */
#ifndef PLUGINS_DENSE_H
#define PLUGINS_DENSE_H

#include <stdbool.h>

#include "lowering.h"

/** `rows` of `in` elements become rows of `out`. */
typedef struct dense {
    lm_dtype dtype;
    int64_t  rows, in, out;
    bool     bias;
    uint32_t repeat; /**< equal launches; 0 is 1 */
} dense;

/**
 * Emits one of the three products, launched in `pass`: y = x W^T + b (LM_FORWARD), dx = dy W
 * (LM_GRAD_INPUT), dW = dy^T x (LM_GRAD_WEIGHT). The gradient of the bias is a separate launch: the
 * sum of dy over the rows. With several groups, `d` is one of them; a launch computes all.
 */
static inline void emit_grouped(lm_sink *sink, lm_pass pass, lm_pass product, const dense *d,
                                int64_t groups)
{
    lm_kernel k = { .op = LM_OP_GEMM, .pass = pass, .dtype = d->dtype, .repeat = d->repeat };

    k.u.gemm.batch = groups;
    k.u.gemm.m     = product == LM_GRAD_WEIGHT ? d->out : d->rows;
    k.u.gemm.n     = product == LM_FORWARD ? d->out : d->in;
    k.u.gemm.k     = product == LM_FORWARD ? d->in : product == LM_GRAD_INPUT ? d->out : d->rows;
    k.u.gemm.bias  = product == LM_FORWARD && d->bias;
    emit(sink, k);
    if (product == LM_GRAD_WEIGHT && d->bias)
        emit(sink, (lm_kernel){ .op       = LM_OP_REDUCE,
                                .pass     = pass,
                                .dtype    = d->dtype,
                                .repeat   = d->repeat,
                                .u.reduce = { .rows  = groups * d->out,
                                              .group = d->rows,
                                              .inner = groups * d->out } });
}

/** The same of a single group. */
static inline void emit_dense(lm_sink *sink, lm_pass pass, lm_pass product, const dense *d)
{
    emit_grouped(sink, pass, product, d, 1);
}

#endif
