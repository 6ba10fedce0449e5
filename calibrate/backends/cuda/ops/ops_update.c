/* Updates of optimizers: in one pass over the weights, or in those that torch.optim makes of it. */
#include <math.h>
#include <stdio.h>

#include "cuda_loops.h"
#include "ops/ops.h"

/* So small that weights do not change over any number of repetitions. */
#define RATE 1e-12f

/* ---- one pass ---- */

static lm_status run_update(const cuda_kernel *k, const cuda_device *device, void *const *at,
                            lm_error *err)
{
    static const cuda_loop loops[] = {
        [OPTIMIZER_SGD] = LOOP_SGD,           [OPTIMIZER_MOMENTUM] = LOOP_MOMENTUM,
        [OPTIMIZER_ADAM] = LOOP_ADAM,         [OPTIMIZER_ADAGRAD] = LOOP_ADAGRAD,
        [OPTIMIZER_ADADELTA] = LOOP_ADADELTA, [OPTIMIZER_RMSPROP] = LOOP_RMSPROP
    };
    loop_args args = { .n = k->base.kernel.u.map.elements, .scale = RATE };
    optimizer o    = OPTIMIZER_SGD;

    optimizer_of_update(&k->base.kernel, &o); /* ops_update() refuses all others */
    for (size_t i = 0; i < k->base.n_slots; i++)
        args.at[i] = at[i];
    return cuda_loop_run(device, loops[o], k->base.kernel.dtype, &args, err);
}

/* ---- several passes ---- */

/* Buffers of a pass: weights, gradients, what is kept, and two that only last from pass to pass. */
typedef enum { W, G, S, U, T, V, NONE } operand;

typedef struct step_pass {
    cuda_loop loop;
    operand   to, from[3];
    float     scale, kept; /* kept EPSILON: the least that is added before a division */
} step_pass;

#define EPSILON   (-1.0f)
#define MOST      11
#define SCALED(x) x, { x, NONE, NONE }

/*
 * As the functions _multi_tensor_* of torch/optim (2.0 and later) make them, without decay of weights: each a
 * call of torch._foreach_*. Adam's moments by lerp, mul and addcmul; then sqrt, div, add, addcdiv.
 */
static const step_pass passes[][MOST] = {
    [OPTIMIZER_SGD]      = { { LOOP_PASS_LINEAR, W, { W, G, NONE }, -RATE, 1 } },
    [OPTIMIZER_MOMENTUM] = { { LOOP_PASS_AFFINE, SCALED(S), 0.9f, 0 },
                             { LOOP_PASS_LINEAR, S, { S, G, NONE }, 1, 1 },
                             { LOOP_PASS_LINEAR, W, { W, S, NONE }, -RATE, 1 } },
    [OPTIMIZER_ADAM]     = { { LOOP_PASS_LINEAR, S, { S, G, NONE }, 0.1f, 0.9f },
                             { LOOP_PASS_AFFINE, SCALED(U), 0.999f, 0 },
                             { LOOP_PASS_PRODUCT, U, { U, G, G }, 0.001f, 0 },
                             { LOOP_PASS_ROOT, T, { U, NONE, NONE }, 0, 0 },
                             { LOOP_PASS_AFFINE, SCALED(T), 1, 0 },
                             { LOOP_PASS_AFFINE, SCALED(T), 1, EPSILON },
                             { LOOP_PASS_QUOTIENT, W, { W, S, T }, -RATE, 0 } },
    [OPTIMIZER_ADAGRAD]  = { { LOOP_PASS_PRODUCT, S, { S, G, G }, 1, 0 },
                             { LOOP_PASS_ROOT, T, { S, NONE, NONE }, 0, 0 },
                             { LOOP_PASS_AFFINE, SCALED(T), 1, EPSILON },
                             { LOOP_PASS_AFFINE, V, { G, NONE, NONE }, -1, 0 },
                             { LOOP_PASS_QUOTIENT, W, { W, V, T }, RATE, 0 } },
    [OPTIMIZER_RMSPROP]  = { { LOOP_PASS_AFFINE, SCALED(S), 0.99f, 0 },
                             { LOOP_PASS_PRODUCT, S, { S, G, G }, 0.01f, 0 },
                             { LOOP_PASS_ROOT, T, { S, NONE, NONE }, 0, 0 },
                             { LOOP_PASS_AFFINE, SCALED(T), 1, EPSILON },
                             { LOOP_PASS_QUOTIENT, W, { W, G, T }, -RATE, 0 } },
    [OPTIMIZER_ADADELTA] = { { LOOP_PASS_AFFINE, SCALED(S), 0.9f, 0 },
                             { LOOP_PASS_PRODUCT, S, { S, G, G }, 0.1f, 0 },
                             { LOOP_PASS_AFFINE, T, { S, NONE, NONE }, 1, 1e-6f },
                             { LOOP_PASS_ROOT, T, { T, NONE, NONE }, 0, 0 },
                             { LOOP_PASS_AFFINE, V, { U, NONE, NONE }, 1, 1e-6f },
                             { LOOP_PASS_ROOT, V, { V, NONE, NONE }, 0, 0 },
                             { LOOP_PASS_OVER, V, { V, T, NONE }, 0, 0 },
                             { LOOP_PASS_TIMES, V, { V, G, NONE }, 0, 0 },
                             { LOOP_PASS_AFFINE, SCALED(U), 0.9f, 0 },
                             { LOOP_PASS_PRODUCT, U, { U, V, V }, 0.1f, 0 },
                             { LOOP_PASS_LINEAR, W, { W, V, NONE }, -RATE, 1 } },
};

/* No pass is LOOP_RELU, which is 0. */
static size_t count_passes(optimizer o)
{
    size_t n = 0;

    while (n < MOST && passes[o][n].loop)
        n++;
    return n;
}

/* 16 bits have no 1e-8: the least normal number of f16 keeps a quotient finite. */
static float added(const step_pass *p, lm_dtype type)
{
    if (p->kept >= 0)
        return p->kept;
    return type == LM_F32 ? 1e-8f : 6.1035156e-5f;
}

/* Places of the buffers in `at`: the kept ones lie behind the gradients, the others in the last slot. */
static void *buffer(const cuda_kernel *k, void *const *at, operand which)
{
    const size_t each = (k->base.slot[0].bytes + 15) / 16 * 16;

    if (which < T)
        return at[which];
    return (char *)at[k->base.kernel.u.map.operands] + (which == V ? each : 0);
}

static lm_status run_passes(const cuda_kernel *k, const cuda_device *device, void *const *at,
                            lm_error *err)
{
    const lm_kernel *m      = &k->base.kernel;
    lm_status        status = LM_OK;
    optimizer        o      = OPTIMIZER_SGD;

    optimizer_of_update(m, &o);
    for (size_t i = 0; i < count_passes(o) && !status; i++) {
        const step_pass *p    = &passes[o][i];
        loop_args        args = { .n     = m->u.map.elements,
                                  .scale = p->scale,
                                  .kept  = added(p, m->dtype) };
        size_t           n    = 0;

        for (; n < 3 && p->from[n] != NONE; n++)
            args.at[n] = buffer(k, at, p->from[n]);
        args.at[n] = buffer(k, at, p->to);
        status     = cuda_loop_run(device, p->loop, m->dtype, &args, err);
    }
    return status;
}

/* How many buffers last from pass to pass. */
static uint64_t temporary(optimizer o)
{
    uint64_t most = 0;

    for (size_t i = 0; i < count_passes(o); i++) {
        most = passes[o][i].to == T && most < 1 ? 1 : most;
        most = passes[o][i].to == V ? 2 : most;
    }
    return most;
}

/* ---- an update ---- */

static bool in_one_pass(const settings *how)
{
    uint8_t fused = 0;

    return !how->value[SETTING_UPDATE] ||
           (!setting_parse(SETTING_UPDATE, "fused", &fused, NULL) && how->value[SETTING_UPDATE] == fused);
}

lm_status ops_update(const cuda_device *device, const settings *how, cuda_kernel *k, lm_error *err)
{
    const lm_kernel *m        = &k->base.kernel;
    const int64_t    operands = m->u.map.operands;
    const uint64_t   bytes    = lm_mul((uint64_t)m->u.map.elements, lm_dtype_bytes(m->dtype));
    const fill       zero     = { .kind = FILL_ZERO, .type = m->dtype };
    optimizer        o;

    (void)device;
    if (!cuda_loops_know(m->dtype))
        return cuda_unsupported(k, "the backend cudnn", "element type", err);
    if (!optimizer_of_update(m, &o))
        return cuda_unsupported(k, "the backend cudnn", "none of " OPTIMIZERS_MEASURED, err);
    cuda_add_slot(k, CUDA_WEIGHTS, ROLE_WEIGHT, bytes, cuda_normal(m->dtype, 1.0));
    cuda_add_slot(k, CUDA_DIFF_WEIGHTS, ROLE_GRADIENT, bytes, cuda_normal(m->dtype, 1.0));
    for (int64_t i = 2; i < operands; i++)
        cuda_add_slot(k, (cuda_argument)(CUDA_OPERAND + (int)i), ROLE_MOMENTUM, bytes, zero);
    if (in_one_pass(how)) {
        k->run = run_update;
        snprintf(k->implementation, sizeof k->implementation, "own update");
        return LM_OK;
    }
    cuda_add_slot(k, CUDA_SCRATCH, ROLE_SCRATCH, lm_mul(temporary(o), lm_add(bytes, 15) / 16 * 16),
                  (fill){ .kind = FILL_NONE });
    k->run = run_passes;
    snprintf(k->implementation, sizeof k->implementation, "own update in %zu passes", count_passes(o));
    return LM_OK;
}
