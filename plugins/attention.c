/* Attention: kernels of both layer types. */
#include "attention.h"

/*
 * Without fusion each step is a launch. Forward: scores S = Q K^T; scale (and mask) 1 (2); P =
 * softmax(S); dropout 2; O = P V. Backward: dP = dO V^T and dV = P^T dO; dropout 1; softmax; scale
 * 1; dQ = dS K and dK = dS^T Q. If query heads share keys and values, frameworks first copy these
 * for each head and finally sum their gradients.
 */
enum { SCALE = 1, MASK = 1, DROP = 2, DROP_BACKWARD = 1 };

static int64_t product(int64_t a, int64_t b)
{
    return (int64_t)lm_mul((uint64_t)a, (uint64_t)b);
}

static int64_t matrices(const attention *a)
{
    return product(a->batch, a->heads);
}

static int64_t pairs(const attention *a)
{
    return product(matrices(a), product(a->queries, a->keys));
}

bool attention_repeats(const attention *a)
{
    return !a->flash && a->kv_heads != a->heads;
}

static void emit_product(const attention *a, lm_sink *sink, lm_pass pass, int64_t m, int64_t n,
                         int64_t k)
{
    emit(sink, (lm_kernel){
                   .op     = LM_OP_GEMM,
                   .pass   = pass,
                   .dtype  = a->dtype,
                   .u.gemm = { .batch = matrices(a), .m = m, .n = n, .k = k, .activations = 1 } });
}

static void emit_map(const attention *a, lm_sink *sink, lm_pass pass, int64_t operands,
                     int64_t flops)
{
    emit(sink,
         (lm_kernel){
             .op    = LM_OP_MAP,
             .pass  = pass,
             .dtype = a->dtype,
             .u.map = { .elements = pairs(a), .operands = operands, .flops_per_element = flops } });
}

static void emit_softmax(const attention *a, lm_sink *sink, lm_pass pass)
{
    emit(sink, (lm_kernel){ .op        = LM_OP_SOFTMAX,
                            .pass      = pass,
                            .dtype     = a->dtype,
                            .u.softmax = { product(matrices(a), a->queries), a->keys } });
}

static void emit_chunk(const attention *a, lm_sink *sink, lm_pass pass, int64_t times, int64_t keys,
                       bool causal)
{
    emit(sink, (lm_kernel){ .op          = LM_OP_ATTENTION,
                            .pass        = pass,
                            .dtype       = a->dtype,
                            .repeat      = (uint32_t)times,
                            .u.attention = { .batch       = a->batch,
                                             .heads       = a->heads,
                                             .kv_heads    = a->kv_heads,
                                             .queries     = a->queries,
                                             .keys        = keys,
                                             .width       = a->width,
                                             .value_width = a->value_width,
                                             .causal      = causal,
                                             .dropout     = a->dropout,
                                             .latent      = a->latent } });
}

/* In a ring (Liu et al. 2023, arXiv:2310.01889) a rank computes its own chunk, then one of each
 * other rank. Under causal attention a rank has an early and a late half of tokens. Half of the
 * pairs of each other chunk then count, equally on all ranks (Brandon et al. 2023,
 * arXiv:2311.09431; Megatron-LM's zigzag). */
static void emit_fused(const attention *a, lm_sink *sink, lm_pass pass)
{
    emit_chunk(a, sink, pass, 1, a->keys, a->causal);
    if (a->ring > 1)
        emit_chunk(a, sink, pass, a->ring - 1, a->causal ? a->keys / 2 : a->keys, false);
}

/* Copies keys or values, once for each query head. */
static void emit_repetition(const attention *a, lm_sink *sink, int64_t width)
{
    const int64_t elements = product(matrices(a), product(a->keys, width));

    if (attention_repeats(a))
        emit(sink,
             (lm_kernel){ .op     = LM_OP_COPY,
                          .pass   = LM_FORWARD,
                          .dtype  = a->dtype,
                          .u.copy = { product(elements, (int64_t)lm_dtype_bytes(a->dtype)) } });
}

static void emit_gradient_of_repetition(const attention *a, lm_sink *sink, lm_pass pass,
                                        int64_t width)
{
    const int64_t one = product(a->keys, width);

    if (attention_repeats(a))
        emit(sink, (lm_kernel){ .op       = LM_OP_REDUCE,
                                .pass     = pass,
                                .dtype    = a->dtype,
                                .u.reduce = { .rows  = product(product(a->batch, a->kv_heads), one),
                                              .group = a->heads / a->kv_heads,
                                              .inner = one } });
}

/* Writes the query's own key or value into the cache. */
static void emit_caching(const attention *a, lm_sink *sink, int64_t width)
{
    const int64_t elements = product(product(a->batch, a->kv_heads), width);

    if (a->past)
        emit(sink,
             (lm_kernel){ .op     = LM_OP_COPY,
                          .pass   = LM_FORWARD,
                          .dtype  = a->dtype,
                          .u.copy = { product(elements, (int64_t)lm_dtype_bytes(a->dtype)) } });
}

void attention_forward(const attention *a, lm_sink *sink)
{
    emit_caching(a, sink, a->width);
    if (!a->latent)
        emit_caching(a, sink, a->value_width);
    if (a->flash) {
        emit_fused(a, sink, LM_FORWARD);
        return;
    }
    emit_repetition(a, sink, a->width);
    emit_repetition(a, sink, a->value_width);
    emit_product(a, sink, LM_FORWARD, a->queries, a->keys, a->width);
    emit_map(a, sink, LM_FORWARD, 1, SCALE + (a->causal ? MASK : 0));
    emit_softmax(a, sink, LM_FORWARD);
    if (a->dropout)
        emit_map(a, sink, LM_FORWARD, 1, DROP);
    emit_product(a, sink, LM_FORWARD, a->queries, a->value_width, a->keys);
}

void attention_backward(const attention *a, lm_pass pass, unsigned wanted, lm_sink *sink)
{
    if (a->flash) {
        emit_fused(a, sink, pass);
        return;
    }
    if (wanted & ATTENTION_V) {
        emit_product(a, sink, pass, a->keys, a->value_width, a->queries);
        emit_gradient_of_repetition(a, sink, pass, a->value_width);
    }
    if (wanted & (ATTENTION_Q | ATTENTION_K)) {
        emit_product(a, sink, pass, a->queries, a->keys, a->value_width);
        if (a->dropout)
            emit_map(a, sink, pass, 2, DROP_BACKWARD);
        emit_softmax(a, sink, pass);
        emit_map(a, sink, pass, 1, SCALE);
    }
    if (wanted & ATTENTION_Q)
        emit_product(a, sink, pass, a->queries, a->width, a->keys);
    if (wanted & ATTENTION_K) {
        emit_product(a, sink, pass, a->keys, a->width, a->queries);
        emit_gradient_of_repetition(a, sink, pass, a->width);
    }
}

/* Fused: the logarithm of a sum for each row, in single precision. Else the probabilities; with
 * dropout also those after it, and a mask of one byte each; copies of keys and values. */
uint64_t attention_saved_bytes(const attention *a)
{
    const uint64_t element = lm_dtype_bytes(a->dtype), n = (uint64_t)pairs(a);
    uint64_t       bytes;

    if (a->flash)
        return lm_mul(4, (uint64_t)product(matrices(a), a->queries));
    bytes = lm_mul(n, a->dropout ? 2 * element + 1 : element);
    if (attention_repeats(a))
        bytes = lm_add(bytes, lm_mul(element, (uint64_t)product(product(matrices(a), a->keys),
                                                                a->width + a->value_width)));
    return bytes;
}

uint64_t attention_cached_bytes(const attention *a)
{
    const int64_t rows = product(product(a->batch, a->kv_heads), a->keys);

    return a->past
               ? lm_mul(lm_dtype_bytes(a->dtype),
                        (uint64_t)product(rows, a->latent ? a->width : a->width + a->value_width))
               : 0;
}

static const lm_layer_type *const types[] = { &attention_scaled_dot_product,
                                              &attention_multi_head };

LM_PLUGIN = {
    .name    = "layermeter-attention",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
