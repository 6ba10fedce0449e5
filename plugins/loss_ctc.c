/* ctc_loss: connectionist temporal classification (Graves et al. 2006), in logarithms as
 * torch.nn.CTCLoss. */
#include "loss.h"

enum { LENGTH };

static const lm_param params[] = {
    [LENGTH] = { .name     = "length",
                 .kind     = LM_INT,
                 .min      = 0,
                 .max      = 1e9,
                 .fallback = "0",
                 .unit     = "symbols",
                 .doc      = "of a target, blanks left out; 0: as long as the second input says" },
};

static uint64_t symbols_of(const lm_layer *layer)
{
    const int64_t length = lm_int(layer, LENGTH);

    return (uint64_t)(length || layer->n_inputs < 2 ? length : layer->input[1].dim[1]);
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in     = &layer->input[0];
    lm_status        status = input_rank(layer, 3, 3, "batch, steps, classes");
    lm_tensor        target = { .rank = 2 };

    if (status)
        return status;
    if (layer->n_inputs == 2) {
        target.dim[0] = in->dim[0];
        target.dim[1] = (int64_t)symbols_of(layer);
        status        = loss_numbers(layer);
        if (!status)
            status = loss_target(layer, &target);
    } else if (!lm_int(layer, LENGTH)) {
        return lm_fail(layer, LM_E_ARG,
                       "targets of unknown length: set 'length =' or give the target as second "
                       "input");
    }
    return status ? status : loss_scalar(layer, output);
}

/*
 * An estimate: the network does not know the padding of a batch, so every sample has all steps and
 * symbols. With T steps, C classes and S symbols there are T (2 S + 1) states: blanks lie between
 * and around the symbols.
 *
 * Forward, each alpha is the logarithm of a sum of three exponentials and a score (equations 6, 7):
 * which of them are allowed 1, max 2, subtract 3, exp 3, add 2, log 1, max and score 2: 14. It
 * reads the classes that occur in each step, at most C and at most S + 1, and writes the alphas,
 * which are kept.
 *
 * Backward, each beta is the same (equations 9, 10), and alpha and beta of a state are added to its
 * class's sum, again in logarithms: 1 + 8. Each score then takes 6 (equation 16): two exponentials,
 * three sums, a factor. It reads scores and alphas, and writes a gradient for every score.
 */
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_tensor *in      = &layer->input[0];
    const uint64_t   classes = (uint64_t)in->dim[2], symbols = symbols_of(layer);
    const uint64_t   steps = tensor_span(in, 0, 2), element = lm_dtype_bytes(in->dtype);
    const uint64_t   states = lm_mul(steps, 2 * symbols + 1);
    const uint64_t   scores = lm_elements(in);
    const uint64_t   read   = lm_mul(steps, classes < symbols + 1 ? classes : symbols + 1);
    lm_kernel        k      = { .op = LM_OP_OPAQUE, .pass = pass, .dtype = in->dtype };

    if (pass == LM_FORWARD)
        k.u.opaque =
            (lm_work){ lm_mul(14, states), lm_mul(read, element), lm_mul(states, element) };
    else if (pass == LM_GRAD_INPUT)
        k.u.opaque = (lm_work){ lm_add(lm_mul(14 + 9, states), lm_mul(6, scores)),
                                lm_mul(lm_add(scores, states), element), lm_mul(scores, element) };
    else
        return LM_OK;
    emit(sink, k);
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const lm_tensor *in = &layer->input[0];

    cost->keeps = LM_KEEPS_INPUT;
    cost->saved_bytes =
        lm_mul(lm_mul(tensor_span(in, 0, 2), 2 * symbols_of(layer) + 1), lm_dtype_bytes(in->dtype));
    cost->workspace_bytes = cost->saved_bytes; /* the betas, in the same number as alphas */
    return cost_of_kernels(layer, cost);
}

const lm_layer_type loss_ctc = {
    LOSS("ctc_loss", "mean loss of all ways to read a sequence of symbols; work is an estimate"),
    LM_PARAMS(params),
    .infer = infer,
    .cost  = cost,
    .lower = lower,
};
