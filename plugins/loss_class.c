/* cross_entropy, nll_loss: scores of classes against class numbers, as in torch.nn.functional.
 * cross_entropy also takes probabilities. Classes are dimension 1. */
#include "loss.h"
#include "splitting.h"

enum { FUSED };

static const lm_param params[] = {
    [FUSED] = { .name     = "fused",
                .kind     = LM_BOOL,
                .fallback = "no",
                .doc      = "the forward pass writes the gradient over the scores" },
};

/* Decisions: one for each sample and, behind the classes, each pixel. */
static lm_tensor decisions_of(const lm_layer *layer)
{
    const lm_tensor *in   = &layer->input[0];
    lm_tensor        rows = { .dtype = in->dtype, .rank = in->rank - 1, .dim = { in->dim[0] } };

    for (uint32_t d = 1; d < rows.rank; d++)
        rows.dim[d] = in->dim[d + 1];
    return rows;
}

static int has_probabilities(const lm_layer *layer)
{
    return layer->n_inputs == 2 && lm_dtype_is_real(layer->input[1].dtype);
}

static lm_status class_infer(const lm_layer *layer, lm_tensor *output)
{
    lm_status status = input_rank(layer, 2, LM_MAX_RANK, "batch, classes, ...");

    if (!status && has_probabilities(layer)) {
        status = loss_real_target(layer);
    } else if (!status && layer->n_inputs == 2) {
        const lm_tensor decisions = decisions_of(layer);

        status = loss_target(layer, &decisions);
    }
    return status ? status : loss_scalar(layer, output);
}

static lm_status nll_infer(const lm_layer *layer, lm_tensor *output)
{
    if (has_probabilities(layer))
        return lm_fail(layer, LM_E_SHAPE,
                       "target of real numbers, expected class numbers: set "
                       "'dtype = i64' where it is put in");
    return class_infer(layer, output);
}

/* The gradient over the scores: Liger Kernel (P.-L. Hsu et al., arXiv:2410.10989), Transformer
 * Engine's parallel_cross_entropy. */
static int is_fused(const lm_layer *layer)
{
    return lm_int(layer, FUSED) && !has_probabilities(layer) && lm_wants_gradient(layer, 0);
}

static void emit_softmax(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_tensor decisions = decisions_of(layer);

    emit(sink,
         (lm_kernel){ .op        = LM_OP_SOFTMAX,
                      .pass      = pass,
                      .dtype     = decisions.dtype,
                      .u.softmax = { (int64_t)lm_elements(&decisions), layer->input[0].dim[1] } });
}

/* Emits the sum of the scores of the right classes. */
static void emit_pick(const lm_layer *layer, lm_sink *sink)
{
    const lm_tensor decisions = decisions_of(layer);

    loss_emit_mean(layer, sink, (int64_t)lm_elements(&decisions));
}

/* The logarithm of a softmax, and its mean over the right classes or weighted with probabilities.
 * Of class numbers, the softmax's backward launch yields the gradient of the whole loss. A fused loss
 * reads the scores twice, and scales the gradient; its backward pass has nothing to do. */
static lm_status cross_entropy_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const int probabilities = has_probabilities(layer);

    if (pass == LM_FORWARD) {
        emit_softmax(layer, pass, sink);
        if (is_fused(layer))
            loss_emit_mean(layer, sink, (int64_t)lm_elements(&layer->input[0]));
        if (probabilities) {
            loss_emit_map(layer, pass, sink, 2, 1);
            loss_emit_mean(layer, sink, (int64_t)lm_elements(&layer->input[0]));
        } else {
            emit_pick(layer, sink);
        }
    } else if (pass == LM_GRAD_INPUT && !is_fused(layer)) {
        if (probabilities && lm_wants_gradient(layer, 1))
            loss_emit_map(layer, pass, sink, 1, 1); /* the logarithms, scaled */
        if (probabilities && lm_wants_gradient(layer, 0))
            loss_emit_map(layer, pass, sink, 1, 1); /* the probabilities, scaled */
        if (lm_wants_gradient(layer, 0))
            emit_softmax(layer, pass, sink);
    }
    return LM_OK;
}

static lm_status cross_entropy_cost(const lm_layer *layer, lm_cost *cost)
{
    if (is_fused(layer))
        cost->keeps = LM_KEEPS_ONE(0); /* the gradient */
    else
        cost->saved_bytes = lm_bytes(&layer->input[0]); /* the logarithms */
    if (layer->n_inputs == 2 && !is_fused(layer))
        cost->keeps = LM_KEEPS_ONE(1);
    return cost_of_kernels(layer, cost);
}

/* Ranks exchange three numbers per decision, in single precision: the greatest score, the sum of
 * exponentials and the right class's score (Megatron-LM, tensor_parallel/cross_entropy.py). */
static lm_status cross_entropy_split(const lm_layer *layer, lm_split *s)
{
    const lm_tensor decisions = decisions_of(layer);

    if (s->way != LM_VOCABULARY || has_probabilities(layer))
        return split_refused(layer);
    s->exchanges       = 3;
    s->exchanged_bytes = lm_mul(4, lm_elements(&decisions));
    return LM_OK;
}

/* The whole gradient is written: a constant at the right classes, else 0. */
static lm_status nll_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    if (pass == LM_FORWARD)
        emit_pick(layer, sink);
    else if (pass == LM_GRAD_INPUT)
        loss_emit_map(layer, pass, sink, 1, 0);
    return LM_OK;
}

/* PyTorch keeps the input for its shape. */
static lm_status nll_cost(const lm_layer *layer, lm_cost *cost)
{
    cost->keeps = LM_KEEPS_INPUT;
    return cost_of_kernels(layer, cost);
}

const lm_layer_type loss_cross_entropy = {
    LOSS("cross_entropy", "mean cross entropy of class scores (dimension 1); yields a scalar"),
    LM_PARAMS(params),
    .infer = class_infer,
    .cost  = cross_entropy_cost,
    .lower = cross_entropy_lower,
    .split = cross_entropy_split,
};

const lm_layer_type loss_nll = {
    LOSS("nll_loss", "mean of the right classes' logarithms of probabilities (dimension 1)"),
    .infer = nll_infer,
    .cost  = nll_cost,
    .lower = nll_lower,
};
