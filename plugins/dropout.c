/* dropout, alpha_dropout: switch off random elements in training, as in torch.nn; stochastic_depth:
 * switches off random samples, as torchvision.ops.StochasticDepth (Huang et al. 2016). */
#include "inputs.h"

enum { P, MODE };    /* MODE: of stochastic_depth */
enum { ROW, BATCH }; /* of MODE */

#define P_PARAM                                                               \
    {                                                                         \
        .name = "p", .kind = LM_REAL, .min = 0, .max = 1, .fallback = "0.5",  \
        .doc = "probability of being switched off; 0: the layer does nothing" \
    }

static const lm_param element_params[] = { [P] = P_PARAM };

static const lm_param depth_params[] = {
    [P]    = P_PARAM,
    [MODE] = { .name     = "mode",
               .kind     = LM_ENUM,
               .choices  = "row|batch",
               .fallback = "row",
               .doc      = "row: each sample for itself; batch: all or none" },
};

typedef struct dropout_type {
    lm_layer_type type; /* first: a layer's `type` points here */
    int64_t       flops_forward;
    int           noise; /* 1: keeps factors instead of a mask */
} dropout_type;

static const dropout_type *dropout_of(const lm_layer *layer)
{
    return (const dropout_type *)(const void *)layer->type;
}

static lm_kernel map_of(const lm_layer *layer, lm_pass pass, uint64_t elements, int64_t operands,
                        int64_t flops)
{
    return (lm_kernel){
        .op    = LM_OP_MAP,
        .pass  = pass,
        .dtype = layer->input[0].dtype,
        .u.map = { .elements          = (int64_t)elements,
                   .operands          = operands,
                   .flops_per_element = flops },
    };
}

/*
 * Forward 2 FLOPs per element: compare a random number with p, scale. alpha_dropout adds a constant
 * to all: 3. Backward 1: scale where the mask is set. Random numbers count nothing: generators
 * differ, and none needs memory.
 */
static lm_status element_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const uint64_t n = lm_elements(&layer->input[0]);

    if (lm_real(layer, P) == 0)
        return LM_OK;
    if (pass == LM_FORWARD)
        emit(sink, map_of(layer, pass, n, 1, dropout_of(layer)->flops_forward));
    else if (pass == LM_GRAD_INPUT)
        emit(sink, map_of(layer, pass, n, 2, 1));
    return LM_OK;
}

/* Keeps a mask of one byte per element, or factors in the tensor's type. */
static lm_status element_cost(const lm_layer *layer, lm_cost *cost)
{
    const lm_tensor *in = &layer->input[0];

    if (lm_real(layer, P) > 0)
        cost->saved_bytes = dropout_of(layer)->noise ? lm_bytes(in) : lm_elements(in);
    return cost_of_kernels(layer, cost);
}

/* Number of random numbers. */
static uint64_t draws_of(const lm_layer *layer)
{
    return lm_int(layer, MODE) == ROW ? (uint64_t)layer->input[0].dim[0] : 1;
}

/* Each random number is compared with p, scaled, and multiplied with all its elements. Backward
 * multiplies again. */
static lm_status depth_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    if (lm_real(layer, P) == 0 || pass == LM_GRAD_WEIGHT)
        return LM_OK;
    if (pass == LM_FORWARD)
        emit(sink, map_of(layer, pass, draws_of(layer), 1, 2));
    emit(sink, map_of(layer, pass, lm_elements(&layer->input[0]), 1, 1));
    return LM_OK;
}

static lm_status depth_cost(const lm_layer *layer, lm_cost *cost)
{
    if (lm_real(layer, P) > 0)
        cost->saved_bytes = lm_mul(draws_of(layer), lm_dtype_bytes(layer->input[0].dtype));
    return cost_of_kernels(layer, cost);
}

static lm_status depth_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_status status = input_rank(layer, 1, LM_MAX_RANK, "batch, ...");

    if (!status)
        output[0] = layer->input[0];
    return status;
}

#define DROPOUT(type_name, type_doc)                                                    \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = 1, \
    .max_inputs = 1, .n_outputs = 1

static const dropout_type dropout = {
    .type          = { DROPOUT("dropout", "sets elements to 0 at random and scales the others up"),
                       LM_PARAMS(element_params), .flags = LM_TRAINING_ONLY, .infer = infer_same,
                       .cost = element_cost, .lower = element_lower },
    .flops_forward = 2,
};
static const dropout_type alpha_dropout = {
    .type          = { DROPOUT("alpha_dropout",
                               "sets elements to a constant at random; mean and variance stay"),
                       LM_PARAMS(element_params), .flags = LM_TRAINING_ONLY, .infer = infer_same,
                       .cost = element_cost, .lower = element_lower },
    .flops_forward = 3,
    .noise         = 1,
};
static const lm_layer_type stochastic_depth = {
    DROPOUT("stochastic_depth", "sets samples to 0 at random and scales the others up"),
    LM_PARAMS(depth_params),
    .flags = LM_TRAINING_ONLY | LM_FIXED_PART, /* one number for a whole batch */
    .infer = depth_infer,
    .cost  = depth_cost,
    .lower = depth_lower,
};

static const lm_layer_type *const types[] = { &dropout.type, &alpha_dropout.type,
                                              &stochastic_depth };

LM_PLUGIN = {
    .name    = "layermeter-dropout",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
