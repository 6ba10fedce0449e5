/* Automatic mixed precision: which layers run in 16 bit. */
#include "network/autocast.h"

#include <stdio.h>
#include <string.h>

#include "layers/schema.h"

/* From "CUDA Ops that can autocast to float32" of the documentation of torch.amp. batch_norm is not
 * among them: it takes 16 bit and keeps its statistics in 32. logsumexp is in PyTorch's dispatch
 * table, if not in the documentation. bilinear takes the widest type of its inputs and weights, and
 * weights are single. */
static const char *const full_precision[] = {
    "layer_norm",  "group_norm", "softmax",        "log_softmax",
    "softmin",     "softplus",   "cross_entropy",  "nll_loss",
    "mse_loss",    "l1_loss",    "bce_loss",       "bce_with_logits_loss",
    "kl_div_loss", "ctc_loss",   "smooth_l1_loss", "exp",
    "log",         "pow",        "reciprocal",     "bilinear",
};

/* Reductions among them (norm is l1 and l2); of squares, the sum is. Means and maxima are not. */
static const char *const full_reductions[] = {
    "sum", "prod", "l1", "l2", "sumsquare", "logsumexp"
};

/* From "CUDA Ops that can autocast to float16", beside products and convolutions. */
static const char *const lower[] = { "prelu" };

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, list[i]))
            return true;
    return false;
}

#define LIST(array) (array), sizeof(array) / sizeof *(array)

/* Does the layer's parameter `key` hold one of these choices? */
static bool chooses(const bound_layer *l, const char *key, const char *const *list, size_t n)
{
    const uint32_t i = schema_find(l->entry->own, key);
    const char    *name;
    char           choice[32];

    if (i >= l->entry->own->n_params || l->param[i].kind != LM_ENUM)
        return false;
    name = schema_param(l->entry->own, i).choices;
    for (int64_t skip = l->param[i].u.i[0]; skip > 0; skip--)
        name = strchr(name, '|') + 1;
    snprintf(choice, sizeof choice, "%.*s", (int)strcspn(name, "|"), name);
    return is_one_of(choice, list, n);
}

static bool is_product(lm_op op)
{
    return op == LM_OP_CONV || op == LM_OP_GEMM || op == LM_OP_ATTENTION;
}

autocast_rule autocast_rule_of(const bound_layer *l)
{
    if (is_one_of(l->decl->type, LIST(full_precision)) ||
        (!strcmp(l->decl->type, "reduce") && chooses(l, "op", LIST(full_reductions))))
        return AUTOCAST_FULL;
    if (is_one_of(l->decl->type, LIST(lower)))
        return AUTOCAST_LOWER;
    for (size_t i = 0; i < l->n_kernels[LM_FORWARD]; i++)
        if (is_product(l->kernels[LM_FORWARD][i].op))
            return AUTOCAST_LOWER;
    return AUTOCAST_WIDEST;
}
