/* Parameters that a layer shares with another. */
#include "network/tied.h"

#include <stdio.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

static const lm_weight *find_weight(const bound_layer *owner, const char *role)
{
    for (size_t i = 0; i < owner->n_weights; i++)
        if (!strcmp(owner->weights[i].role, role))
            return &owner->weights[i];
    return NULL;
}

/* "64x3x7x7 f32" */
static const char *describe_weight(const lm_weight *w, char *buffer, size_t size)
{
    *buffer = '\0';
    for (uint32_t i = 0; i < w->tensor.rank; i++)
        text_add(buffer, size, "%s%lld", i ? "x" : "", (long long)w->tensor.dim[i]);
    text_add(buffer, size, " %s%s", text_dtype_name(w->tensor.dtype),
             w->flags & LM_FROZEN ? " frozen" : "");
    return buffer;
}

/* A shared tensor must equal the owner's tensor of the same role in shape, type and flags. */
static lm_status check_alike(const bound_layer *owner, const lm_weight *theirs,
                             const lm_weight *mine, lm_error *err)
{
    char there[200], here[200];

    if (theirs->flags == mine->flags &&
        !memcmp(&theirs->tensor, &mine->tensor, sizeof mine->tensor))
        return LM_OK;
    return lm_error_set(err, LM_E_ARG,
                        "shares = %s: whose %s is %s, and this layer's %s: they must be alike",
                        owner->decl->name, mine->role, describe_weight(theirs, there, sizeof there),
                        describe_weight(mine, here, sizeof here));
}

/* The second gradient of a tensor is added to the first. */
static lm_status add_gradients(arena *a, bound_layer *l, lm_error *err)
{
    const size_t n       = l->n_kernels[LM_GRAD_WEIGHT];
    lm_kernel   *kernels = arena_array(a, n + l->n_shared, sizeof *kernels);
    lm_work     *cost    = &l->cost.pass[LM_GRAD_WEIGHT];

    if (!kernels)
        return no_memory(err);
    if (n)
        memcpy(kernels, l->kernels[LM_GRAD_WEIGHT], n * sizeof *kernels);
    l->kernels[LM_GRAD_WEIGHT] = kernels;
    for (size_t i = 0; i < l->n_shared; i++) {
        const lm_weight *w = &l->weights[l->n_weights + i];
        lm_kernel        k = { .size   = sizeof k,
                               .op     = LM_OP_MAP,
                               .pass   = LM_GRAD_WEIGHT,
                               .dtype  = w->tensor.dtype,
                               .repeat = 1 };
        lm_work          work;

        if (w->flags & LM_FROZEN)
            continue;
        k.u.map.elements          = (int64_t)lm_elements(&w->tensor);
        k.u.map.operands          = 2;
        k.u.map.flops_per_element = 1;
        work                      = lm_kernel_work(&k);
        cost->flops               = lm_add(cost->flops, work.flops);
        cost->read_bytes          = lm_add(cost->read_bytes, work.read_bytes);
        cost->written_bytes       = lm_add(cost->written_bytes, work.written_bytes);
        if (l->lowered)
            kernels[l->n_kernels[LM_GRAD_WEIGHT]++] = k;
    }
    return LM_OK;
}

lm_status tied_weights(bound_layer *l, const bound_layer *owner, arena *a, lm_error *err)
{
    const size_t n   = l->n_weights;
    lm_weight   *own = arena_array(a, n + 1, sizeof *own);

    if (!own)
        return no_memory(err);
    if (owner->decl->shares)
        return lm_error_set(err, LM_E_ARG,
                            "shares = %s: which has its parameters from another layer itself",
                            owner->decl->name);
    l->n_weights = 0;
    for (size_t i = 0; i < n; i++) {
        const lm_weight *mine = &l->weights[i], *theirs = find_weight(owner, mine->role);
        const lm_status  status = theirs ? check_alike(owner, theirs, mine, err) : LM_OK;

        if (status)
            return status;
        if (theirs)
            own[n - ++l->n_shared] = *mine;
        else
            own[l->n_weights++] = *mine;
    }
    if (!l->n_shared)
        return lm_error_set(err, LM_E_ARG,
                            "shares = %s: which has no parameter tensor of the same role",
                            owner->decl->name);
    l->weights = own;
    l->shares  = owner;
    return l->trained ? add_gradients(a, l, err) : LM_OK;
}
