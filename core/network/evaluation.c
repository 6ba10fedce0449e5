/* Evaluation mode of a bound network. */
#include "network/evaluation.h"

#include "base/arena.h"
#include "base/no_memory.h"

/* A scalar output is a loss (the mean of a batch), or computed from losses. */
static bool is_scalar(const bound_layer *l)
{
    bool scalar = l->n_outputs > 0;

    for (uint32_t i = 0; i < l->n_outputs; i++)
        scalar &= l->output[i].rank == 0;
    return scalar;
}

/* Keeps the forward pass only, and removes layers that only training needs. */
static void keep_forward(bound_layer *l)
{
    l->passes = !l->idle && l->entry->type.flags & LM_TRAINING_ONLY && l->n_inputs;
    for (lm_pass p = l->idle || l->passes ? LM_FORWARD : LM_GRAD_INPUT; p < LM_N_PASSES; p++) {
        l->n_kernels[p] = 0;
        l->cost.pass[p] = (lm_work){ 0, 0, 0 };
    }
    if (l->idle || l->passes)
        l->cost.saved_bytes = l->cost.workspace_bytes = l->cost.cached_bytes = 0;
    l->trained = l->needs_grad_input = false;
}

lm_status evaluation_settle(bound_network *net, lm_error *err)
{
    const size_t n = net->n_layers;
    bool *read = arena_array(net->arena, n + 1, sizeof *read); /* by other layers than scalars */
    bool *need = arena_array(net->arena, n + 1, sizeof *need);

    if (!read || !need)
        return no_memory(err);
    for (size_t i = n; i-- > 0;) {
        bound_layer *l = &net->layer[i];
        const bool   runs =
            !is_scalar(l) && (need[i] || (!read[i] && !(l->entry->type.flags & LM_SOURCE)));

        for (size_t k = 0; k < l->decl->n_inputs; k++) {
            read[l->decl->input[k].layer] |= !is_scalar(l);
            need[l->decl->input[k].layer] |= runs;
        }
        l->idle = !runs;
        keep_forward(l);
    }
    return LM_OK;
}
