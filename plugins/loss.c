/* Losses that compare a tensor with a target element by element, as in torch.nn. */
#include "loss.h"

/*
 * FLOP for each element, counted as in activation.c; the sum is one more, by a reduction. x is the
 * input, t the target, d = x - t, g the gradient of the sum over the number of elements.
 *
 *  - mse_loss             d d                                 2 | 2 g d, 2 g at hand: 2
 *  - l1_loss              |d|                                 2 | g sign(d), d kept: 2
 *  - smooth_l1_loss       d d / 2 b where |d| < b, else |d| - b / 2: difference, absolute value,
 *                         square, two factors, difference, choice                    7
 *       backward          g where d > b, -g where d < -b, else g d / b: 1 + 2 + 2      | 5
 *  - bce_loss             -(t log(x) + (1 - t) log(1 - x)), logarithms of at least -100:
 *                         log 1, max 1; 1 - x, log, max 3; 1 - t 1; products 2, sum, sign   10
 *       backward          g d / max(x (1 - x), c): 1 + 2 + 1 + 1 + 1                   | 6
 *       of the target     g (log(1 - x) - log(x)), bounded as above: 5 + 1 + 1         | 7
 *  - bce_with_logits_loss (1 - t) x - log s(x): log s(x) 7, the rest 3              10
 *       backward          g (s(x) - t): 4 + 1 + 1                                      | 6
 *       of the target     -g x                                                         | 1
 *  - kl_div_loss          t (log(t) - x), 0 where t is 0      4 | -g t: 1
 *       of the target     g (log(t) + 1 - x)                                           | 4
 *
 * If a network computes the target, the target's gradient of the first three is that of the input
 * with the opposite sign.
 */
typedef enum loss_kept { BOTH, TARGET, DIFFERENCE } loss_kept; /* kept, as in PyTorch */

typedef struct loss_type {
    lm_layer_type type; /* first: a layer's `type` points here */
    int64_t       flops_forward;
    loss_kept     kept;
    struct {
        int64_t operands, flops;
    } backward[2]; /* of the input, of the target */
} loss_type;

static const loss_type *loss_of(const lm_layer *layer)
{
    return (const loss_type *)(const void *)layer->type;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    lm_status status = input_real(layer, 0);

    if (!status && layer->n_inputs == 2 && (status = input_real(layer, 1)) == LM_OK)
        status = loss_real_target(layer);
    return status ? status : loss_scalar(layer, output);
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const loss_type *self = loss_of(layer);

    if (pass == LM_FORWARD) {
        loss_emit_map(layer, pass, sink, 2, self->flops_forward);
        loss_emit_mean(layer, sink, (int64_t)lm_elements(&layer->input[0]));
    } else if (pass == LM_GRAD_INPUT) {
        for (uint32_t i = 0; i < layer->n_inputs; i++)
            if (lm_wants_gradient(layer, i))
                loss_emit_map(layer, pass, sink, self->backward[i].operands,
                              self->backward[i].flops);
    }
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const loss_kept kept = loss_of(layer)->kept;

    if (kept == BOTH || (kept == TARGET && layer->n_inputs == 2 && lm_wants_gradient(layer, 1)))
        cost->keeps = LM_KEEPS_INPUT;
    else if (kept == TARGET && layer->n_inputs == 2)
        cost->keeps = LM_KEEPS_ONE(1);
    else if (kept == DIFFERENCE)
        cost->saved_bytes = lm_bytes(&layer->input[0]);
    return cost_of_kernels(layer, cost);
}

#define READS(operands, flops) \
    {                          \
        (operands), (flops)    \
    }
#define ELEMENTWISE(ident, forward, of_input, of_target, keeps, doc)                          \
    static const loss_type ident = {                                                          \
        .type          = { LOSS(#ident, doc), .infer = infer, .cost = cost, .lower = lower }, \
        .flops_forward = (forward),                                                           \
        .kept          = (keeps),                                                             \
        .backward      = { of_input, of_target },                                             \
    }

ELEMENTWISE(mse_loss, 2, READS(2, 2), READS(2, 2), BOTH, "mean of squared differences");
ELEMENTWISE(l1_loss, 2, READS(1, 2), READS(1, 2), DIFFERENCE, "mean of absolute differences");
ELEMENTWISE(smooth_l1_loss, 7, READS(2, 5), READS(2, 5), BOTH,
            "mean of differences, squared where they are small");
ELEMENTWISE(bce_loss, 10, READS(2, 6), READS(1, 7), BOTH,
            "mean binary cross entropy of probabilities");
ELEMENTWISE(bce_with_logits_loss, 10, READS(2, 6), READS(1, 1), BOTH,
            "mean binary cross entropy of sigmoids of its input");
ELEMENTWISE(kl_div_loss, 4, READS(1, 1), READS(2, 4), TARGET,
            "mean Kullback-Leibler divergence of logarithms of probabilities from probabilities");

static const lm_layer_type *const types[] = {
    &loss_cross_entropy, &loss_nll,
    &loss_ctc,           &mse_loss.type,
    &l1_loss.type,       &smooth_l1_loss.type,
    &bce_loss.type,      &bce_with_logits_loss.type,
    &kl_div_loss.type,
};

LM_PLUGIN = {
    .name    = "layermeter-loss",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
