/* Optimizers: the size of their state, and the kernel of an update. */
#include "network/optimizer.h"

#include <string.h>

#include "network/bind.h"

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
                        "expected " OPTIMIZERS_PRICED ", " OPTIMIZERS_MEASURED ", found '%.40s'",
                        name);
}

const char *optimizer_name(optimizer o)
{
    return optimizer_names[o];
}

/*
 * Adafactor without a first moment (Shazeer & Stern 2018, "Adafactor", algorithm 4): the second
 * moment of an n x m matrix as n sums over rows and m over columns, of a vector in full (algorithm
 * 5). As in torch.optim.Adafactor, a tensor of higher rank is a stack of matrices.
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

lm_status optimizer_check_measured(optimizer o, lm_error *err)
{
    return optimizer_is_measured(o)
               ? LM_OK
               : lm_error_set(err, LM_E_UNSUPPORTED,
                              "the update of %s cannot be measured: choose " OPTIMIZERS_MEASURED,
                              optimizer_name(o));
}

optimizer optimizer_of_layer(optimizer o, const bound_layer *l)
{
    const bool table = l->n_kernels[LM_FORWARD] && l->kernels[LM_FORWARD][0].op == LM_OP_GATHER;

    return o == OPTIMIZER_MUON && (table || l->decl->way == LM_VOCABULARY) ? OPTIMIZER_ADAM : o;
}

/* Fills in a map kernel over n elements; further arguments: other elements that it reads and
 * writes. */
static void put_map(lm_kernel *out, uint64_t n, int64_t operands, int64_t writes, int64_t flops,
                    uint64_t more)
{
    out->u.map.elements          = (int64_t)n;
    out->u.map.operands          = operands;
    out->u.map.flops_per_element = flops;
    out->u.map.reads             = more ? operands * (int64_t)n + (int64_t)more : 0;
    out->u.map.writes            = writes * (int64_t)n + (int64_t)more;
}

lm_status optimizer_update(optimizer o, const lm_tensor *weight, lm_kernel *out, lm_error *err)
{
    const uint64_t n = lm_elements(weight);

    if (lm_mul(n, 8) > INT64_MAX)
        return lm_error_set(err, LM_E_OVERFLOW, "a weight of more than 2^60 elements");
    *out = (lm_kernel){ .size   = sizeof *out,
                        .op     = LM_OP_MAP,
                        .pass   = LM_GRAD_WEIGHT,
                        .dtype  = weight->dtype,
                        .repeat = 1 };
    if (o == OPTIMIZER_MUON && weight->rank < 2)
        o = OPTIMIZER_ADAM;
    if (o == OPTIMIZER_MUON)
        put_map(out, n, 4, 3, 8, 0);
    else if (o == OPTIMIZER_ADAFACTOR && weight->rank < 2)
        put_map(out, n, 4, 2, 10, 0);
    else if (o == OPTIMIZER_ADAFACTOR)
        put_map(out, n, 4, 1, 11, adafactor_elements(weight));
    else
        put_map(out, n, updates[o].operands, updates[o].writes, updates[o].flops, 0);
    return LM_OK;
}

static lm_kernel product(int64_t batch, int64_t m, int64_t n, int64_t k)
{
    lm_kernel out = { .size   = sizeof out,
                      .op     = LM_OP_GEMM,
                      .pass   = LM_FORWARD,
                      .dtype  = LM_BF16,
                      .repeat = OPTIMIZER_MUON_STEPS };

    out.u.gemm.batch       = batch;
    out.u.gemm.m           = m;
    out.u.gemm.n           = n;
    out.u.gemm.k           = k;
    out.u.gemm.activations = 1; /* neither factor is a weight of a pass */
    return out;
}

static lm_kernel map(uint32_t repeat, int64_t elements, int64_t operands, int64_t flops)
{
    lm_kernel out = {
        .size = sizeof out, .op = LM_OP_MAP, .pass = LM_FORWARD, .dtype = LM_BF16, .repeat = repeat
    };

    out.u.map.elements          = elements;
    out.u.map.operands          = operands;
    out.u.map.flops_per_element = flops;
    return out;
}

size_t optimizer_products(optimizer o, const lm_tensor *weight, lm_kernel out[OPTIMIZER_PRODUCTS])
{
    const int64_t all = (int64_t)lm_elements(weight);
    int64_t       batch, rows, columns, n, m;

    if (o != OPTIMIZER_MUON || weight->rank < 2 || all < 1)
        return 0;
    batch   = weight->rank == 3 ? weight->dim[0] : 1;
    rows    = weight->rank == 3 ? weight->dim[1] : weight->dim[0];
    columns = all / batch / rows;
    n       = rows < columns ? rows : columns;
    m       = rows < columns ? columns : rows;
    out[0]  = map(1, all, 2, 3); /* the sum of squares, and the division by its root */
    out[1]  = product(batch, n, n, m);
    out[2]  = product(batch, n, n, n);
    out[3]  = map(OPTIMIZER_MUON_STEPS, batch * n * n, 2, 3);
    out[4]  = product(batch, n, m, n);
    out[5]  = map(OPTIMIZER_MUON_STEPS, all, 2, 2);
    return OPTIMIZER_PRODUCTS;
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
