/** Checks of a layer's inputs, for the plugins. */
#ifndef PLUGINS_INPUTS_H
#define PLUGINS_INPUTS_H

#include "lowering.h"

/** Refuses an input of integers. */
static inline lm_status input_real(const lm_layer *layer, uint32_t i)
{
    if (!lm_dtype_is_real(layer->input[i].dtype))
        return lm_fail(layer, LM_E_SHAPE,
                       "input of integers: '%s' computes with real numbers; put a layer of type "
                       "embedding or cast before it",
                       layer->type->name);
    return LM_OK;
}

/** Checks the first input: real, `low` to `high` dimensions; `names` names them in the error. */
static inline lm_status input_rank(const lm_layer *layer, uint32_t low, uint32_t high,
                                   const char *names)
{
    const uint32_t rank = layer->input[0].rank;

    if (rank >= low && rank <= high)
        return input_real(layer, 0);
    if (low == high)
        return lm_fail(layer, LM_E_SHAPE, "input of rank %u, expected %u: %s", (unsigned)rank,
                       (unsigned)low, names);
    if (high == LM_MAX_RANK)
        return lm_fail(layer, LM_E_SHAPE, "input of rank %u, expected %u or more: %s",
                       (unsigned)rank, (unsigned)low, names);
    return lm_fail(layer, LM_E_SHAPE, "input of rank %u, expected %u to %u: %s", (unsigned)rank,
                   (unsigned)low, (unsigned)high, names);
}

/** Gives the output the shape of the first input, which must be real. */
static inline lm_status infer_same(const lm_layer *layer, lm_tensor *output)
{
    const lm_status status = input_real(layer, 0);

    if (!status)
        output[0] = layer->input[0];
    return status;
}

#endif
