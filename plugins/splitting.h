/** Helpers to split a layer among ranks, for the layer types of this folder. */
#ifndef PLUGINS_SPLITTING_H
#define PLUGINS_SPLITTING_H

#include <stdbool.h>

#include "lowering.h"

/** Divides value `at` of an integer parameter, or of a shape, evenly among the ranks. */
static inline lm_status split_evenly(const lm_layer *layer, lm_split *s, uint32_t param,
                                     uint32_t at, const char *what)
{
    const bool context = s->way == LM_RING || s->way == LM_ULYSSES;
    int64_t   *n       = &s->param[param].u.i[at];

    if (*n % s->parts)
        return lm_fail(layer, LM_E_SHAPE, "%lld %s are no multiple of %s %lld", (long long)*n, what,
                       context                ? "cp"
                       : s->way == LM_EXPERTS ? "ep"
                                              : "tp",
                       (long long)s->parts);
    *n /= s->parts;
    return LM_OK;
}

/**
 * Divides heads of keys and values. Ranks beyond one for each head hold copies, as those of serving
 * frameworks do (vLLM's QKVParallelLinear: num_kv_head_replicas).
 */
static inline lm_status split_kv_heads(const lm_layer *layer, lm_split *s, uint32_t param)
{
    int64_t *n = &s->param[param].u.i[0];

    if (s->way != LM_HEADS || *n >= s->parts || s->parts % *n)
        return split_evenly(layer, s, param, 0, "heads of keys and values");
    *n = 1;
    return LM_OK;
}

/** Sets value `at` to the largest part of a division that is as even as possible. */
static inline void split_about(lm_split *s, uint32_t param, uint32_t at)
{
    int64_t *n = &s->param[param].u.i[at];

    *n = *n / s->parts + (*n % s->parts != 0);
}

static inline lm_status split_refused(const lm_layer *layer)
{
    return lm_fail(layer, LM_E_UNSUPPORTED, "'%s' does not split this way", layer->type->name);
}

#endif
