/** Shapes and element types: dimensions by number, broadcasting and its gradient. For the layer
 * types of this folder. */
#ifndef PLUGINS_TENSORS_H
#define PLUGINS_TENSORS_H

#include "lowering.h"

/** Beginning of a parameter of dimensions; negative ones count from the last. */
#define TENSOR_AXIS(param_kind) .kind = (param_kind), .min = -LM_MAX_RANK, .max = LM_MAX_RANK - 1

/** The dimension of `axis` in a tensor of `rank`. */
static inline lm_status tensor_axis(const lm_layer *layer, int64_t axis, uint32_t rank,
                                    uint32_t *out)
{
    const int64_t d = axis < 0 ? axis + (int64_t)rank : axis;

    if (d < 0 || d >= (int64_t)rank)
        return lm_fail(layer, LM_E_ARG, "no dimension %lld in a tensor of rank %u", (long long)axis,
                       (unsigned)rank);
    *out = (uint32_t)d;
    return LM_OK;
}

/** The dimensions of a list as bits. No dimension may occur twice. */
static inline lm_status tensor_axes(const lm_layer *layer, uint32_t param, uint32_t rank,
                                    uint32_t *out)
{
    const lm_value *list = &layer->param[param];
    uint32_t        all  = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t        axis   = 0;
        const lm_status status = tensor_axis(layer, list->u.i[i], rank, &axis);

        if (status)
            return status;
        if (all >> axis & 1)
            return lm_fail(layer, LM_E_ARG, "dimension %u is named twice", (unsigned)axis);
        all |= 1u << axis;
    }
    *out = all;
    return LM_OK;
}

/** Number of elements in dimensions `first` to `end` - 1. */
static inline uint64_t tensor_span(const lm_tensor *t, uint32_t first, uint32_t end)
{
    uint64_t n = 1;

    for (uint32_t d = first; d < end; d++)
        n = lm_mul(n, (uint64_t)t->dim[d]);
    return n;
}

/** Sets a dimension. LM_E_OVERFLOW if it does not fit an int64_t. */
static inline lm_status tensor_set(const lm_layer *layer, lm_tensor *t, uint32_t d, uint64_t n)
{
    if (n > INT64_MAX)
        return lm_fail(layer, LM_E_OVERFLOW, "more than 2^63 elements in dimension %u",
                       (unsigned)d);
    t->dim[d] = (int64_t)n;
    return LM_OK;
}

/** Fits `in` into `out` as NumPy does: aligned at the last dimension, a 1
 * stretches to any length. */
static inline lm_status tensor_broadcast(const lm_layer *layer, const lm_tensor *in, lm_tensor *out)
{
    const uint32_t rank = in->rank > out->rank ? in->rank : out->rank;
    lm_tensor      all  = { .dtype = out->dtype, .rank = rank };

    for (uint32_t back = 1; back <= rank; back++) {
        const int64_t a = back <= out->rank ? out->dim[out->rank - back] : 1;
        const int64_t b = back <= in->rank ? in->dim[in->rank - back] : 1;

        if (a != b && a != 1 && b != 1)
            return lm_fail(layer, LM_E_SHAPE, "%lld and %lld elements do not fit in dimension %u",
                           (long long)a, (long long)b, (unsigned)(rank - back));
        all.dim[rank - back] = a > b ? a : b;
    }
    *out = all;
    return LM_OK;
}

/** Emits the gradient of a broadcast: sums over the dimensions along which `in` was repeated to
 * become `out`. Nothing without repetition. */
static inline void emit_sum_to(lm_sink *sink, lm_pass pass, const lm_tensor *in,
                               const lm_tensor *out)
{
    const uint64_t rows = lm_elements(in), group = lm_elements(out) / rows;
    uint64_t       inner = 1; /* number of elements behind the last repeated dimension */

    if (group == 1)
        return;
    for (uint32_t back = 1; back <= in->rank; back++) {
        if (in->dim[in->rank - back] != out->dim[out->rank - back])
            break;
        inner = lm_mul(inner, (uint64_t)in->dim[in->rank - back]);
    }
    emit(sink, (lm_kernel){ .op       = LM_OP_REDUCE,
                            .pass     = pass,
                            .dtype    = out->dtype,
                            .u.reduce = { (int64_t)rows, (int64_t)group, (int64_t)inner } });
}

/** Element types as choices of a parameter, without and with the network's own type. */
#define TENSOR_DTYPES            "f32|f16|bf16|f64|i64|i32|u8"
#define TENSOR_DTYPES_OR_NETWORK "network|" TENSOR_DTYPES

/** The type a choice of TENSOR_DTYPES means. */
static inline lm_dtype tensor_dtype(int64_t choice)
{
    static const lm_dtype types[] = { LM_F32, LM_F16, LM_BF16, LM_F64, LM_I64, LM_I32, LM_U8 };

    return types[choice];
}

/** The type a choice of TENSOR_DTYPES_OR_NETWORK means. */
static inline lm_dtype tensor_dtype_of(const lm_layer *layer, int64_t choice)
{
    return choice ? tensor_dtype(choice - 1) : layer->dtype;
}

#endif
