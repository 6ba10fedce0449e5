/* Check that each rank of context parallelism computes an equal share of the whole. */
#include <inttypes.h>

#include "network/bind.h"
#include "network/shard.h"

/* Does the layer combine tokens? Products of activations, and windows, do. */
static bool sees_others(const bound_layer *part, const bound_layer *whole)
{
    const size_t n = part->n_kernels[LM_FORWARD];

    for (size_t i = 0; i < n; i++) {
        const lm_kernel *k = &part->kernels[LM_FORWARD][i];

        if (k->op == LM_OP_CONV || k->op == LM_OP_POOL || k->op == LM_OP_ATTENTION ||
            (k->op == LM_OP_GEMM && k->u.gemm.activations) ||
            (n == whole->n_kernels[LM_FORWARD] &&
             k->repeat != whole->kernels[LM_FORWARD][i].repeat)) /* one token after the other */
            return true;
    }
    return false;
}

/* Do all its inputs have as many elements as in the whole? Then it reads no tokens. */
static bool reads_no_tokens(const bound_layer *part, const bound_layer *whole)
{
    for (uint32_t i = 0; i < part->n_inputs; i++)
        if (lm_elements(&part->input[i]) != lm_elements(&whole->input[i]))
            return false;
    return true;
}

static lm_status check_share(const bound_layer *part, const bound_layer *whole, uint64_t cp,
                             lm_error *err)
{
    const char *name = part->decl->name;

    if (part->entry->type.flags & LM_SOURCE || part->context || reads_no_tokens(part, whole))
        return LM_OK;
    for (uint32_t o = 0; o < part->n_outputs; o++)
        if (whole->output[o].rank &&
            lm_mul(cp, lm_elements(&part->output[o])) != lm_elements(&whole->output[o]))
            return lm_error_set(err, LM_E_UNSUPPORTED,
                                "layer '%s' makes %" PRIu64 " elements of all tokens, but %" PRIu64
                                " of those of one of cp %" PRIu64 " ranks",
                                name, lm_elements(&whole->output[o]), lm_elements(&part->output[o]),
                                cp);
    if (sees_others(part, whole))
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "layer '%s' (%s) sees several tokens, which ranks of cp do not exchange", name,
            part->entry->type.name);
    return LM_OK;
}

lm_status sharding_check_context(const bound_network *part, const bound_network *whole,
                                 lm_error *err)
{
    const uint64_t cp     = (uint64_t)part->options.shard.cp;
    lm_status      status = LM_OK;

    for (size_t i = 0; i < part->n_layers && !status; i++)
        status = check_share(&part->layer[i], &whole->layer[i], cp, err);
    if (status)
        lm_error_prefix(err, "%s", part->net->path);
    return status;
}
