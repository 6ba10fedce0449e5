/* Optimizers: the size of their state, and the kernel of an update. */
#include "network/optimizer.h"

#include <string.h>

static const char *const optimizer_names[] = {
    [OPTIMIZER_SGD]       = "sgd",
    [OPTIMIZER_MOMENTUM]  = "momentum",
    [OPTIMIZER_ADAM]      = "adam",
    [OPTIMIZER_ADAGRAD]   = "adagrad",
    [OPTIMIZER_ADADELTA]  = "adadelta",
    [OPTIMIZER_RMSPROP]   = "rmsprop",
    [OPTIMIZER_ADAFACTOR] = "adafactor",
    [OPTIMIZER_MUON]      = "muon",
};

#define N_OPTIMIZERS (sizeof optimizer_names / sizeof optimizer_names[0])

lm_status optimizer_parse(const char *name, optimizer *out, lm_error *err)
{
    /* AdamW (Loshchilov & Hutter 2019) decays the weights apart from the gradients: Adam's states and
     * traffic */
    if (!strcmp(name, "adamw"))
        name = "adam";
    for (size_t i = 0; i < N_OPTIMIZERS; i++)
        if (!strcmp(name, optimizer_names[i])) {
            *out = (optimizer)i;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_ARG,
                        "expected " OPTIMIZERS_KEPT ", " OPTIMIZERS_MEASURED ", found '%.40s'",
                        name);
}

const char *optimizer_name(optimizer o)
{
    return optimizer_names[o];
}

/*
 * Adafactor without a first moment (Shazeer & Stern 2018, "Adafactor", algorithm 4): the second
 * moment of an n x m matrix as n sums over rows and m over columns, of a vector in full (algorithm
 * 5). A tensor of higher rank is taken as matrices of its last two dimensions, as
 * torch.optim.Adafactor does.
 */
static uint64_t adafactor_elements(const lm_tensor *w)
{
    const uint64_t n = lm_elements(w);

    if (w->rank < 2 || n == UINT64_MAX)
        return n;
    return lm_add(n / (uint64_t)w->dim[w->rank - 1], n / (uint64_t)w->dim[w->rank - 2]);
}

uint64_t optimizer_state_bytes(optimizer o, const lm_tensor *weight)
{
    switch (o) {
    case OPTIMIZER_SGD: return 0;
    case OPTIMIZER_MOMENTUM:
    case OPTIMIZER_ADAGRAD:
    case OPTIMIZER_RMSPROP: return lm_bytes(weight);
    case OPTIMIZER_ADAM:
    case OPTIMIZER_ADADELTA: return lm_mul(2, lm_bytes(weight));
    case OPTIMIZER_MUON: return lm_mul(weight->rank < 2 ? 2 : 1, lm_bytes(weight));
    case OPTIMIZER_ADAFACTOR: break;
    }
    return lm_mul(adafactor_elements(weight), lm_dtype_bytes(weight->dtype));
}

static const struct {
    int64_t operands, writes, flops;
} updates[] = {
    [OPTIMIZER_SGD] = { 2, 1, 2 },     [OPTIMIZER_MOMENTUM] = { 3, 2, 4 },
    [OPTIMIZER_ADAM] = { 4, 3, 13 },   [OPTIMIZER_ADAGRAD] = { 3, 2, 7 },
    [OPTIMIZER_RMSPROP] = { 3, 2, 9 }, [OPTIMIZER_ADADELTA] = { 4, 3, 16 },
};

#define N_UPDATES (sizeof updates / sizeof updates[0])

bool optimizer_is_measured(optimizer o)
{
    return (size_t)o < N_UPDATES;
}

lm_status optimizer_update(optimizer o, const lm_tensor *weight, lm_kernel *out, lm_error *err)
{
    const uint64_t n = lm_elements(weight);

    if (!optimizer_is_measured(o))
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "the update of %s cannot be measured: choose " OPTIMIZERS_MEASURED,
                            optimizer_name(o));
    if (lm_mul(n, 4) > INT64_MAX)
        return lm_error_set(err, LM_E_OVERFLOW, "a weight of more than 2^61 elements");
    *out = (lm_kernel){ .size   = sizeof *out,
                        .op     = LM_OP_MAP,
                        .pass   = LM_GRAD_WEIGHT,
                        .dtype  = weight->dtype,
                        .repeat = 1 };

    out->u.map.elements          = (int64_t)n;
    out->u.map.operands          = updates[o].operands;
    out->u.map.flops_per_element = updates[o].flops;
    out->u.map.writes            = updates[o].writes * (int64_t)n;
    return LM_OK;
}

bool optimizer_of_update(const lm_kernel *k, optimizer *out)
{
    for (size_t o = 0; k->op == LM_OP_MAP && o < N_UPDATES; o++)
        if (k->u.map.operands == updates[o].operands &&
            k->u.map.flops_per_element == updates[o].flops) {
            *out = (optimizer)o;
            return true;
        }
    return false;
}
