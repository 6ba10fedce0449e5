/* Activations: functions of one element, and gates that multiply one half of a tensor with a
 * function of the other. */
#include "inputs.h"
#include "tensors.h"

/*
 * Rules for FLOPs. Each +, -, *, / counts 1, and so do min, max and the absolute value. A
 * comparison with its choice counts 1. A transcendental function (exp, log, tanh, erf, power)
 * counts 1. Constants count nothing. s(x) is the logistic function, dy the gradient of the output.
 * Formulas are those of torch.nn.
 *
 *  - relu          max(x, 0)                                        1 | dy where y > 0: 1
 *  - relu6         min(max(x, 0), 6)                                2 | dy where 0 < y < 6: 2
 *  - hard_tanh     min(max(x, -1), 1)                               2 | dy where -1 < x < 1: 2
 *  - threshold     x where x > c, else a constant                   1 | dy where x > c: 1
 *  - leaky_relu    x where x > 0, else a x                          2 | dy times 1 or a: 2
 *  - prelu         the same; a is learned                           2 | 2, and for a: dy x where
 *       x <= 0: 2, added up by a reduction
 *  - elu           x where x > 0, else a (exp(x) - 1)               4 | dy times 1 or a exp(x): 4
 *  - celu          the same of exp(x / a)                           5 | dy times 1 or exp(x / a): 4
 *  - selu          b times elu                                      5 | dy times b or a b exp(x): 4
 *  - sigmoid       1 / (1 + exp(-x))                                4 | dy y (1 - y): 3
 *  - log_sigmoid   min(x, 0) - log(1 + exp(-|x|))                   7 | dy / (1 + exp(x)): 3
 *  - softplus      log(1 + exp(b x)) / b; x where b x > c           6
 *       backward   e = exp(b x): 2, dy e / (1 + e): 3, choice 1                        | 6
 *  - tanh                                                           1 | dy (1 - y y): 3
 *  - tanhshrink    x - tanh(x)                                      2 | dy t t, t = tanh(x) kept: 2
 *  - softsign      x / (1 + |x|)                                    3 | dy / q q, q = 1 + |x| kept:
 * 2
 *  - softshrink    x - c above c, x + c below -c, else 0            4 | dy outside -c .. c: 2
 *  - hardshrink    x above c and below -c, else 0                   2 | dy outside -c .. c: 2
 *  - gelu none     x (1 + erf(x / sqrt 2)) / 2                      5
 *       backward   dy (P + x p), P = (1 + erf(x / sqrt 2)) / 2: 4,
 *                  p = exp(-x x / 2) / sqrt(2 pi): 4, x p, sum, product: 3             | 11
 *  - gelu tanh     x (1 + tanh(b (x + a x x x))) / 2: inner 5, tanh 1, rest 3          9
 *       backward   inner 5, t = tanh 1, (1 + t) / 2: 2, (1 - t t) x / 2: 4,
 *                  b (1 + 3 a x x) with x x at hand: 3, product, sum, times dy: 3      | 18
 *  - silu          x s(x): 4 + 1                                    5
 *       backward   dy s (1 + x (1 - s)): 4 + 5                                         | 9
 *  - mish          x tanh(log(1 + exp(x)))                          5
 *       backward   t = tanh(log(1 + exp(x))): 4, s: 4, dy (t + x s (1 - t t)): 6       | 14
 *  - hard_sigmoid  min(max(x + 3, 0), 6) / 6                        4 | dy / 6 where -3 < x < 3: 3
 *  - hard_swish    x times that                                     5
 *       backward   dy (x / 3 + 1/2) between -3 and 3: 2 + 3                            | 5
 */
enum { EXACT, TANH, N_VARIANTS };
#define KEEPS_ANOTHER (UINT32_C(1) << 31) /* also keeps a tensor of the input's size */

typedef struct activation {
    lm_layer_type type; /* first: a layer's `type` points here */
    int64_t       flops_forward[N_VARIANTS], flops_backward[N_VARIANTS]; /* per element */
    uint32_t      keeps;  /* as in lm_cost, and KEEPS_ANOTHER */
    int           chosen; /* 1: the last parameter chooses the variant */
} activation;

#define APPROXIMATE_PARAM                                                                   \
    {                                                                                       \
        .name = "approximate", .kind = LM_ENUM, .choices = "none|tanh", .fallback = "none", \
        .doc = "the error function, or a formula with tanh in its place"                    \
    }

static int64_t variant_of(const lm_layer *layer, const activation *function)
{
    return function->chosen ? lm_int(layer, layer->n_params - 1) : EXACT;
}

static void emit_map(const lm_layer *layer, lm_pass pass, lm_sink *sink, uint64_t elements,
                     int64_t operands, int64_t flops)
{
    emit(sink, (lm_kernel){ .op    = LM_OP_MAP,
                            .pass  = pass,
                            .dtype = layer->input[0].dtype,
                            .u.map = { .elements          = (int64_t)elements,
                                       .operands          = operands,
                                       .flops_per_element = flops } });
}

/* Emits the function, or its gradient, for `n` elements. */
static void emit_function(const lm_layer *layer, const activation *function, lm_pass pass,
                          lm_sink *sink, uint64_t n)
{
    const int64_t variant = variant_of(layer, function);

    if (pass == LM_FORWARD)
        emit_map(layer, pass, sink, n, 1, function->flops_forward[variant]);
    else if (pass == LM_GRAD_INPUT)
        emit_map(layer, pass, sink, n, 2, function->flops_backward[variant]);
}

static const activation *activation_of(const lm_layer *layer)
{
    return (const activation *)(const void *)layer->type;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    emit_function(layer, activation_of(layer), pass, sink, lm_elements(&layer->input[0]));
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const uint32_t keeps = activation_of(layer)->keeps;

    cost->keeps = keeps & ~KEEPS_ANOTHER;
    if (keeps & KEEPS_ANOTHER)
        cost->saved_bytes = lm_bytes(&layer->input[0]);
    return cost_of_kernels(layer, cost);
}

#define ACTIVATION(type_name, type_doc)                                                 \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = 1, \
    .max_inputs = 1, .n_outputs = 1, .infer = infer_same, .cost = cost, .lower = lower

#define FUNCTION(name, forward, backward, kept, doc)  \
    static const activation name##_type = {           \
        .type           = { ACTIVATION(#name, doc) }, \
        .flops_forward  = { forward },                \
        .flops_backward = { backward },               \
        .keeps          = kept,                       \
    }

/* Kept tensors are those of PyTorch (derivatives.yaml). Its relu6 is hardtanh, which keeps the
 * input although the output would suffice. Its softsign and tanhshrink consist of several
 * functions. */
FUNCTION(relu, 1, 1, LM_KEEPS_OUTPUT, "max(x, 0)");
FUNCTION(relu6, 2, 2, LM_KEEPS_INPUT, "min(max(x, 0), 6)");
FUNCTION(hard_tanh, 2, 2, LM_KEEPS_INPUT, "min(max(x, -1), 1), or between other bounds");
FUNCTION(threshold, 1, 1, LM_KEEPS_INPUT, "x above a threshold, else a constant");
FUNCTION(leaky_relu, 2, 2, LM_KEEPS_INPUT, "x where it is positive, else a small part of it");
FUNCTION(elu, 4, 4, LM_KEEPS_INPUT, "x where it is positive, else a (exp(x) - 1)");
FUNCTION(celu, 5, 4, LM_KEEPS_INPUT, "x where it is positive, else a (exp(x / a) - 1)");
FUNCTION(selu, 5, 4, LM_KEEPS_INPUT, "elu, scaled so that signals keep mean 0 and variance 1");
FUNCTION(sigmoid, 4, 3, LM_KEEPS_OUTPUT, "1 / (1 + exp(-x))");
FUNCTION(log_sigmoid, 7, 3, LM_KEEPS_INPUT, "logarithm of 1 / (1 + exp(-x))");
FUNCTION(softplus, 6, 6, LM_KEEPS_INPUT, "log(1 + exp(b x)) / b");
FUNCTION(tanh, 1, 3, LM_KEEPS_OUTPUT, "hyperbolic tangent");
FUNCTION(tanhshrink, 2, 2, KEEPS_ANOTHER, "x - tanh(x)");
FUNCTION(softsign, 3, 2, LM_KEEPS_INPUT | KEEPS_ANOTHER, "x / (1 + |x|)");
FUNCTION(softshrink, 4, 2, LM_KEEPS_INPUT, "x moved towards 0 by a constant, 0 if nearer");
FUNCTION(hardshrink, 2, 2, LM_KEEPS_INPUT, "x, or 0 if nearer to it than a constant");
FUNCTION(silu, 5, 9, LM_KEEPS_INPUT, "x / (1 + exp(-x)), also called swish");
FUNCTION(mish, 5, 14, LM_KEEPS_INPUT, "x tanh(log(1 + exp(x)))");
FUNCTION(hard_swish, 5, 5, LM_KEEPS_INPUT, "x min(max(x + 3, 0), 6) / 6");
FUNCTION(hard_sigmoid, 4, 3, LM_KEEPS_INPUT, "min(max(x + 3, 0), 6) / 6");

static const lm_param gelu_params[] = { APPROXIMATE_PARAM };

static const activation gelu_type = {
    .type           = { ACTIVATION("gelu", "x times the normal distribution function of x"),
                        LM_PARAMS(gelu_params) },
    .flops_forward  = { [EXACT] = 5, [TANH] = 9 },
    .flops_backward = { [EXACT] = 11, [TANH] = 18 },
    .keeps          = LM_KEEPS_INPUT,
    .chosen         = 1,
};

/* ---- prelu ----------------------------------------------------------------------------------- */

enum { PER };
enum { SHARED, CHANNEL }; /* of PER */

static const lm_param prelu_params[] = {
    [PER] = { .name     = "per",
              .kind     = LM_ENUM,
              .choices  = "shared|channel",
              .fallback = "shared",
              .doc      = "learn one slope for all elements, or one per channel" },
};

static lm_status prelu_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_status status = input_rank(layer, lm_int(layer, PER) == CHANNEL ? 2 : 0, LM_MAX_RANK,
                                        "batch, channels, ...");

    if (!status)
        output[0] = layer->input[0];
    return status;
}

static int64_t slopes_of(const lm_layer *layer)
{
    return lm_int(layer, PER) == CHANNEL ? layer->input[0].dim[1] : 1;
}

static lm_status prelu_weights(const lm_layer *layer, lm_sink *sink)
{
    emit_weight(sink, (lm_weight){ .role   = "weight",
                                   .tensor = { .dtype = layer->input[0].dtype,
                                               .rank  = 1,
                                               .dim   = { slopes_of(layer) } } });
    return LM_OK;
}

static lm_status prelu_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const uint64_t n      = lm_elements(&layer->input[0]);
    const int64_t  slopes = slopes_of(layer);

    emit_function(layer, activation_of(layer), pass, sink, n);
    if (pass == LM_GRAD_WEIGHT) {
        emit_map(layer, pass, sink, n, 2, 2);
        emit(sink, (lm_kernel){ .op       = LM_OP_REDUCE,
                                .pass     = pass,
                                .dtype    = layer->input[0].dtype,
                                .u.reduce = { slopes, (int64_t)(n / (uint64_t)slopes), 1 } });
    }
    return LM_OK;
}

static const activation prelu_type = {
    .type           = { .size = sizeof(lm_layer_type),
                        .name = "prelu",
                        .doc  = "x where it is positive, else a learned part of it",
                        LM_PARAMS(prelu_params),
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .n_outputs  = 1,
                        .infer      = prelu_infer,
                        .cost       = cost,
                        .weights    = prelu_weights,
                        .lower      = prelu_lower },
    .flops_forward  = { 2 },
    .flops_backward = { 2 },
    .keeps          = LM_KEEPS_INPUT,
};

/* ---- gates ----------------------------------------------------------------------------------- */

enum { AXIS };

#define AXIS_PARAM                                                \
    {                                                             \
        .name = "axis", TENSOR_AXIS(LM_INT), .fallback = "-1",    \
        .doc = "dimension that is halved; below 0: from the last" \
    }

static const lm_param gate_params[]  = { [AXIS] = AXIS_PARAM };
static const lm_param geglu_params[] = { [AXIS] = AXIS_PARAM, APPROXIMATE_PARAM };

/*
 * One half of the input, times a function of the other half (Shazeer 2020, "GLU variants improve
 * transformer", equations 5 to 7). Forward has two launches: function and product. Backward has the
 * product's two gradients, then the function's. The function's values are kept.
 *
 * Only torch.nn.GLU is one launch per pass. It computes s = s(b) again instead of keeping it:
 * backward s 4, da = dy s 1, db = da (1 - s) a 3: 8 for a pair, 4 for each element of the input.
 */
typedef struct gate {
    lm_layer_type     type; /* first: a layer's `type` points here */
    const activation *function;
    int64_t           fused_backward; /* FLOP per element of the input; 0: not fused */
} gate;

static const gate *gate_of(const lm_layer *layer)
{
    return (const gate *)(const void *)layer->type;
}

static lm_status gate_infer(const lm_layer *layer, lm_tensor *output)
{
    lm_tensor out    = layer->input[0];
    uint32_t  axis   = 0;
    lm_status status = input_real(layer, 0);

    if (!status)
        status = tensor_axis(layer, lm_int(layer, AXIS), out.rank, &axis);
    if (status)
        return status;
    if (out.dim[axis] % 2)
        return lm_fail(layer, LM_E_SHAPE, "%lld elements in dimension %u do not divide into halves",
                       (long long)out.dim[axis], (unsigned)axis);
    out.dim[axis] /= 2;
    output[0] = out;
    return LM_OK;
}

static lm_status gate_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const gate       *self     = gate_of(layer);
    const activation *function = self->function;
    const uint64_t    n        = lm_elements(&layer->output[0]);

    if (pass == LM_GRAD_WEIGHT)
        return LM_OK;
    if (self->fused_backward && pass == LM_FORWARD)
        emit_map(layer, pass, sink, n, 2, function->flops_forward[EXACT] + 1);
    else if (self->fused_backward)
        emit_map(layer, pass, sink, lm_elements(&layer->input[0]), 2, self->fused_backward);
    else if (pass == LM_FORWARD) {
        emit_function(layer, function, pass, sink, n);
        emit_map(layer, pass, sink, n, 2, 1);
    } else {
        emit_map(layer, pass, sink, n, 2, 1);
        emit_map(layer, pass, sink, n, 2, 1);
        emit_function(layer, function, pass, sink, n);
    }
    return LM_OK;
}

static lm_status gate_cost(const lm_layer *layer, lm_cost *cost)
{
    cost->keeps = LM_KEEPS_INPUT;
    if (!gate_of(layer)->fused_backward)
        cost->saved_bytes = lm_bytes(&layer->output[0]);
    return cost_of_kernels(layer, cost);
}

#define GATE(type_name, type_doc)                                                       \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = 1, \
    .max_inputs = 1, .n_outputs = 1, .infer = gate_infer, .cost = gate_cost, .lower = gate_lower

static const gate glu = {
    .type     = { GATE("glu", "one half times the sigmoid of the other"), LM_PARAMS(gate_params) },
    .function = &sigmoid_type,
    .fused_backward = 4,
};
static const gate reglu = {
    .type     = { GATE("reglu", "one half times relu of the other"), LM_PARAMS(gate_params) },
    .function = &relu_type,
};
static const gate geglu = {
    .type     = { GATE("geglu", "one half times gelu of the other"), LM_PARAMS(geglu_params) },
    .function = &gelu_type,
};
static const gate swiglu = {
    .type     = { GATE("swiglu", "one half times silu of the other"), LM_PARAMS(gate_params) },
    .function = &silu_type,
};

static const lm_layer_type *const types[] = {
    &relu_type.type,
    &relu6_type.type,
    &leaky_relu_type.type,
    &prelu_type.type,
    &elu_type.type,
    &celu_type.type,
    &selu_type.type,
    &gelu_type.type,
    &silu_type.type,
    &mish_type.type,
    &softplus_type.type,
    &softsign_type.type,
    &sigmoid_type.type,
    &log_sigmoid_type.type,
    &tanh_type.type,
    &tanhshrink_type.type,
    &softshrink_type.type,
    &hardshrink_type.type,
    &hard_tanh_type.type,
    &hard_swish_type.type,
    &hard_sigmoid_type.type,
    &threshold_type.type,
    &glu.type,
    &reglu.type,
    &geglu.type,
    &swiglu.type,
};

LM_PLUGIN = {
    .name    = "layermeter-activation",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
