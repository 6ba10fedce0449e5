/* Activations: functions of one element, output shaped like the input. */
#include <layermeter/plugin.h>

/*
 * How FLOP are counted: each +, -, *, / is 1; min and max are 1; a comparison together with the
 * choice it makes is 1; a transcendental (exp, tanh, erf) is 1; constants cost nothing. s(x) is the
 * logistic function, dy the gradient of the output.
 *
 *  - relu          max(x, 0)                                        1 | dy where y > 0: 1
 *  - relu6         min(max(x, 0), 6)                                2 | dy where 0 < y < 6: 2
 *  - sigmoid       1 / (1 + exp(-x))                                4 | dy y (1 - y): 3
 *  - tanh                                                           1 | dy (1 - y y): 3
 *  - gelu none     x (1 + erf(x / sqrt 2)) / 2                      5
 *       backward   dy (P + x p), P = (1 + erf(x / sqrt 2)) / 2: 4,
 *                  p = exp(-x x / 2) / sqrt(2 pi): 4, x p, sum, product: 3             | 11
 *  - gelu tanh     x (1 + tanh(b (x + a x x x))) / 2: inner 5, tanh 1, rest 3          9
 *       backward   inner 5, t = tanh 1, (1 + t) / 2: 2, (1 - t t) x / 2: 4,
 *                  b (1 + 3 a x x) with x x at hand: 3, product, sum, times dy: 3      | 18
 *  - silu          x s(x): 4 + 1                                    5
 *       backward   dy s (1 + x (1 - s)): 4 + 5                                         | 9
 *  - hard_sigmoid  min(max(x + 3, 0), 6) / 6                        4 | dy / 6 where -3 < x < 3: 3
 *  - hard_swish    x times that                                     5
 *       backward   dy (x / 3 + 1/2) between -3 and 3: 2 + 3                            | 5
 */
enum { APPROXIMATE };
enum { EXACT, TANH, N_VARIANTS };

typedef struct activation {
    lm_layer_type type; /* first: a layer's `type` points here */
    int64_t       flops_forward[N_VARIANTS], flops_backward[N_VARIANTS]; /* per element */
    uint32_t      keeps;
} activation;

static const lm_param gelu_params[] = {
    [APPROXIMATE] = { .name     = "approximate",
                      .kind     = LM_ENUM,
                      .choices  = "none|tanh",
                      .fallback = "none",
                      .doc      = "the error function, or a formula with tanh in its place" },
};

static const activation *activation_of(const lm_layer *layer)
{
    return (const activation *)(const void *)layer->type;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    output[0] = layer->input[0];
    return LM_OK;
}

static lm_kernel kernel_of(const lm_layer *layer, lm_pass pass)
{
    const activation *self    = activation_of(layer);
    const int64_t     variant = layer->n_params ? lm_int(layer, APPROXIMATE) : EXACT;

    return (lm_kernel){
        .size   = sizeof(lm_kernel),
        .op     = LM_OP_MAP,
        .pass   = pass,
        .dtype  = layer->input[0].dtype,
        .repeat = 1,
        .u.map  = { .elements          = (int64_t)lm_elements(&layer->input[0]),
                    .operands          = pass == LM_FORWARD ? 1 : 2,
                    .flops_per_element = pass == LM_FORWARD ? self->flops_forward[variant]
                                                            : self->flops_backward[variant] },
    };
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const lm_kernel forward  = kernel_of(layer, LM_FORWARD),
                    backward = kernel_of(layer, LM_GRAD_INPUT);

    cost->pass[LM_FORWARD]    = lm_kernel_work(&forward);
    cost->pass[LM_GRAD_INPUT] = lm_kernel_work(&backward);
    cost->keeps               = activation_of(layer)->keeps;
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_kernel kernel = kernel_of(layer, pass);

    if (pass != LM_GRAD_WEIGHT)
        sink->kernel(sink, &kernel);
    return LM_OK;
}

#define ACTIVATION(type_name, type_doc)                                                 \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = 1, \
    .max_inputs = 1, .n_outputs = 1, .infer = infer, .cost = cost, .lower = lower

static const activation relu = {
    .type           = { ACTIVATION("relu", "max(x, 0)") },
    .flops_forward  = { 1 },
    .flops_backward = { 1 },
    .keeps          = LM_KEEPS_OUTPUT,
};
static const activation relu6 = {
    .type           = { ACTIVATION("relu6", "min(max(x, 0), 6)") },
    .flops_forward  = { 2 },
    .flops_backward = { 2 },
    .keeps          = LM_KEEPS_OUTPUT,
};
static const activation sigmoid = {
    .type           = { ACTIVATION("sigmoid", "1 / (1 + exp(-x))") },
    .flops_forward  = { 4 },
    .flops_backward = { 3 },
    .keeps          = LM_KEEPS_OUTPUT,
};
static const activation hyperbolic = {
    .type           = { ACTIVATION("tanh", "hyperbolic tangent") },
    .flops_forward  = { 1 },
    .flops_backward = { 3 },
    .keeps          = LM_KEEPS_OUTPUT,
};
static const activation gelu = {
    .type           = { ACTIVATION("gelu", "x times the normal distribution function of x"),
                        LM_PARAMS(gelu_params) },
    .flops_forward  = { [EXACT] = 5, [TANH] = 9 },
    .flops_backward = { [EXACT] = 11, [TANH] = 18 },
    .keeps          = LM_KEEPS_INPUT,
};
static const activation silu = {
    .type           = { ACTIVATION("silu", "x / (1 + exp(-x)), also called swish") },
    .flops_forward  = { 5 },
    .flops_backward = { 9 },
    .keeps          = LM_KEEPS_INPUT,
};
static const activation hard_swish = {
    .type           = { ACTIVATION("hard_swish", "x min(max(x + 3, 0), 6) / 6") },
    .flops_forward  = { 5 },
    .flops_backward = { 5 },
    .keeps          = LM_KEEPS_INPUT,
};
static const activation hard_sigmoid = {
    .type           = { ACTIVATION("hard_sigmoid", "min(max(x + 3, 0), 6) / 6") },
    .flops_forward  = { 4 },
    .flops_backward = { 3 },
    .keeps          = LM_KEEPS_INPUT,
};

static const lm_layer_type *const types[] = {
    &relu.type, &relu6.type, &sigmoid.type,    &hyperbolic.type,
    &gelu.type, &silu.type,  &hard_swish.type, &hard_sigmoid.type,
};

LM_PLUGIN = {
    .name    = "layermeter-activation",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
