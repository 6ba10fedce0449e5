/* Automatic mixed precision: which layers run in 16 bit. */
#include "network/autocast.h"

#include <string.h>

/* From "CUDA Ops that can autocast to float32" of the documentation of torch.amp. batch_norm is not
 * among them: it takes 16 bit and keeps its statistics in 32. */
static const char *const full_precision[] = {
    "layer_norm",  "group_norm", "softmax",        "log_softmax",
    "softmin",     "softplus",   "cross_entropy",  "nll_loss",
    "mse_loss",    "l1_loss",    "bce_loss",       "bce_with_logits_loss",
    "kl_div_loss", "ctc_loss",   "smooth_l1_loss", "exp",
    "log",         "pow",        "reciprocal",
};

autocast_rule autocast_rule_of(const bound_layer *l)
{
    for (size_t i = 0; i < sizeof full_precision / sizeof full_precision[0]; i++)
        if (!strcmp(l->decl->type, full_precision[i]))
            return AUTOCAST_FULL;
    for (size_t i = 0; i < l->n_kernels[LM_FORWARD]; i++)
        switch (l->kernels[LM_FORWARD][i].op) {
        case LM_OP_CONV:
        case LM_OP_GEMM:
        case LM_OP_ATTENTION: return AUTOCAST_LOWER;
        default: break;
        }
    return AUTOCAST_WIDEST;
}
