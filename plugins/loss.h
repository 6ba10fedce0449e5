/** Common parts of losses. A loss is a scalar: the mean over all samples and places. */
#ifndef PLUGINS_LOSS_H
#define PLUGINS_LOSS_H

#include "inputs.h"
#include "tensors.h"

/** Head of a loss type: inputs are scores and, if the network has one, a target. */
#define LOSS(type_name, type_doc)                                                       \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = 1, \
    .max_inputs = 2, .n_outputs = 1, .flags = LM_FUNCTIONAL

static inline void loss_emit_map(const lm_layer *layer, lm_pass pass, lm_sink *sink,
                                 int64_t operands, int64_t flops)
{
    emit(sink, (lm_kernel){ .op    = LM_OP_MAP,
                            .pass  = pass,
                            .dtype = layer->input[0].dtype,
                            .u.map = { .elements          = (int64_t)lm_elements(&layer->input[0]),
                                       .operands          = operands,
                                       .flops_per_element = flops } });
}

/** Emits the mean of `n` numbers. */
static inline void loss_emit_mean(const lm_layer *layer, lm_sink *sink, int64_t n)
{
    emit(sink, (lm_kernel){ .op       = LM_OP_REDUCE,
                            .pass     = LM_FORWARD,
                            .dtype    = layer->input[0].dtype,
                            .u.reduce = { 1, n, 1 } });
}

/** Checks that the target has the shape of `like`. */
static inline lm_status loss_target(const lm_layer *layer, const lm_tensor *like)
{
    const lm_tensor *target = &layer->input[1];

    if (target->rank != like->rank)
        return lm_fail(layer, LM_E_SHAPE, "target of rank %u, expected %u", (unsigned)target->rank,
                       (unsigned)like->rank);
    for (uint32_t d = 0; d < like->rank; d++)
        if (target->dim[d] != like->dim[d])
            return lm_fail(layer, LM_E_SHAPE,
                           "target of %lld elements in dimension %u, expected %lld",
                           (long long)target->dim[d], (unsigned)d, (long long)like->dim[d]);
    return LM_OK;
}

/** Checks that the target is real and has the shape of the first input. */
static inline lm_status loss_real_target(const lm_layer *layer)
{
    if (layer->input[1].dtype != layer->input[0].dtype)
        return lm_fail(layer, LM_E_SHAPE,
                       "input and target of different element types: put a cast before one of "
                       "them");
    return loss_target(layer, &layer->input[0]);
}

/** Checks that the target holds class numbers. */
static inline lm_status loss_numbers(const lm_layer *layer)
{
    if (layer->input[1].dtype == LM_I64 || layer->input[1].dtype == LM_I32)
        return LM_OK;
    return lm_fail(layer, LM_E_SHAPE,
                   "the target holds no class numbers of i64 or i32: set 'dtype = i64' where it is "
                   "put in, or put a cast before it");
}

static inline lm_status loss_scalar(const lm_layer *layer, lm_tensor *output)
{
    output[0] = (lm_tensor){ .dtype = layer->input[0].dtype };
    return LM_OK;
}

extern const lm_layer_type loss_cross_entropy, loss_nll, loss_ctc;

#endif
