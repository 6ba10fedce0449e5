/* Arithmetic on tensors, element by element: functions of one, two or more, with the broadcasting
 * of NumPy and PyTorch. */
#include <stdbool.h>

#include "inputs.h"
#include "tensors.h"

/*
 * FLOP are counted as at the head of activation.c; the absolute value is 1, as a maximum. a, b, c
 * are the inputs (x, where there is one), y is the output, dy its gradient. Forward | the gradient
 * of each input:
 *
 *  - add                         1 for each input after the first | handed on
 *  - multiply                    the same | dy times all others: the same
 *  - minimum, maximum the same | dy where the input is below (above) the other: 1; with more than
 *                                two inputs, where it is the output
 *  - subtract       a - b        1 | a handed on, b -dy: 1
 *  - divide         a / b        1 | a dy / b: 1, b -dy (a / b) / b: 4
 *  - pow            a ^ b        1 | a dy b a ^ (b - 1): 4, b dy y log(a): 3
 *  - compare        a < b ...    1 | none
 *  - where          a ? b : c    1 | b and c dy where they were chosen: 1
 *  - exp                         1 | dy y: 1
 *  - log                         1 | dy / x: 1
 *  - sqrt                        1 | dy / 2 y: 2
 *  - reciprocal     1 / x        1 | -dy y y: 3
 *  - abs                         1 | dy where x > 0, else -dy: 2
 *  - neg            -x           1 | -dy: 1
 *  - erf                         1 | dy 2 / sqrt(pi) exp(-x x): 5
 *  - sin                         1 | dy cos(x): 2
 *  - cos                         1 | -dy sin(x): 3
 *  - square         x x          1 | 2 x dy: 2
 *  - clip           between two constants: 2 | dy where x is between them: 2
 *  - floor, ceil, round          1 | zeros
 *  - sign                        2 | zeros
 *
 * A kernel has one element type, so masks count with the width of the compared or chosen tensors.
 * Backward sums over the dimensions that broadcasting stretched.
 */
enum { FLOPS, FLOPS_BACKWARD }; /* of scale */
enum { FUSED };                 /* of multiply */

static const lm_param multiply_params[] = {
    [FUSED] = { .name     = "fused",
                .kind     = LM_BOOL,
                .fallback = "no",
                .doc = "the backward pass computes the first input again, and does not keep it" },
};

static const lm_param scale_params[] = {
    [FLOPS]          = { .name     = "flops",
                         .kind     = LM_INT,
                         .min      = 1,
                         .max      = 1e6,
                         .unit     = "FLOP",
                         .fallback = "1",
                         .doc      = "for each element forward: one for each constant" },
    [FLOPS_BACKWARD] = { .name     = "flops_backward",
                         .kind     = LM_INT,
                         .min      = 0,
                         .max      = 1e6,
                         .unit     = "FLOP",
                         .fallback = "1",
                         .doc      = "for each element backward; 0: constants are only added, the "
                                     "gradient is handed on" },
};

/* Kinds of gradients of an input. */
typedef enum source {
    NO_GRADIENT,
    HANDED_ON, /* the gradient of the output */
    ZEROS,
    COMPUTED,  /* computed from the output's gradient and further tensors */
    OF_OTHERS, /* the product with all other inputs */
    OF_CHOSEN  /* the output's gradient, where the input was chosen */
} source;

typedef struct gradient {
    source   source;
    int64_t  flops;    /* for each element of the output */
    uint32_t reads;    /* bits of these tensors, as in lm_cost.keeps */
    int64_t  operands; /* number of tensors, with the output's gradient: see gradient_of() */
} gradient;

enum { ANY = 0, MAX_INPUTS = 3 }; /* ANY: two or more */

typedef struct elementwise {
    lm_layer_type type;  /* first: a layer's `type` points here */
    int64_t       flops; /* per element; ANY inputs: for each input after the first */
    gradient      gradient[MAX_INPUTS]; /* by input; ANY inputs: the first holds for all */
} elementwise;

static const elementwise *self_of(const lm_layer *layer)
{
    return (const elementwise *)(const void *)layer->type;
}

/* Is the first input a mask? True for three inputs: the mask chooses between the others. */
static bool has_mask(const lm_layer *layer)
{
    return layer->type->max_inputs == 3;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    lm_tensor out = layer->input[0];

    out.dtype = layer->input[layer->n_inputs - 1].dtype;
    if (has_mask(layer) && layer->input[0].dtype != LM_U8)
        return lm_fail(layer, LM_E_SHAPE,
                       "the first input is no mask of u8: compare or cast yields one");
    for (uint32_t i = 0; i < layer->n_inputs; i++) {
        const lm_tensor *in     = &layer->input[i];
        const lm_status  status = tensor_broadcast(layer, in, &out);

        if (status)
            return status;
        if (in->dtype != out.dtype && !(has_mask(layer) && i == 0))
            return lm_fail(layer, LM_E_SHAPE,
                           "inputs of different element types: put a cast before one of them");
    }
    output[0] = out;
    return LM_OK;
}

/* Shapes of functions with real values. */
static lm_status real_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_status status = input_real(layer, 0);

    return status ? status : infer(layer, output);
}

static lm_status compare_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_status status = infer(layer, output);

    if (!status)
        output[0].dtype = LM_U8;
    return status;
}

/* Emits a map that reads `reads` elements: a stretched tensor counts at its own size. */
static void emit_map(const lm_layer *layer, lm_sink *sink, lm_pass pass, int64_t operands,
                     int64_t flops, uint64_t reads)
{
    const uint64_t n = lm_elements(&layer->output[0]);

    emit(sink,
         (lm_kernel){
             .op    = LM_OP_MAP,
             .pass  = pass,
             .dtype = layer->input[layer->n_inputs - 1].dtype,
             .u.map = { .elements          = (int64_t)n,
                        .operands          = operands,
                        .flops_per_element = flops,
                        .reads = reads == lm_mul((uint64_t)operands, n) ? 0 : (int64_t)reads } });
}

static uint64_t elements_of_inputs(const lm_layer *layer)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < layer->n_inputs; i++)
        n = lm_add(n, lm_elements(&layer->input[i]));
    return n;
}

static bool is_scale(const lm_layer *layer)
{
    return layer->n_params && layer->type->max_inputs == 1;
}

static int64_t flops_of(const lm_layer *layer)
{
    const int64_t flops = is_scale(layer) ? lm_int(layer, FLOPS) : self_of(layer)->flops;

    return layer->type->max_inputs == ANY ? flops * (layer->n_inputs - 1) : flops;
}

/* Bits of all inputs except one; of all if there are more inputs than bits. */
static uint32_t others(const lm_layer *layer, uint32_t input)
{
    uint32_t reads = 0;

    if (layer->n_inputs > LM_KEEPS_MAX)
        return LM_KEEPS_INPUT;
    for (uint32_t i = 0; i < layer->n_inputs; i++)
        reads |= i == input ? 0 : LM_KEEPS_ONE(i);
    return reads;
}

static gradient gradient_of(const lm_layer *layer, uint32_t input)
{
    const uint32_t n = layer->n_inputs;
    gradient       g = self_of(layer)->gradient[layer->type->max_inputs == ANY ? 0 : input];

    switch (g.source) {
    case OF_OTHERS: return (gradient){ COMPUTED, n - 1, others(layer, input), n };
    case OF_CHOSEN:
        g = (gradient){ COMPUTED, 1, LM_KEEPS_INPUT, 3 };
        if (n > 2)
            g.reads |= LM_KEEPS_OUTPUT;
        return g;
    case COMPUTED:
        g.operands = 1;
        for (uint32_t reads = g.reads; reads; reads &= reads - 1)
            g.operands++;
        break;
    case NO_GRADIENT:
    case ZEROS:
    case HANDED_ON: return g;
    }
    if (is_scale(layer)) {
        g.flops  = lm_int(layer, FLOPS_BACKWARD);
        g.source = g.flops ? COMPUTED : HANDED_ON;
    }
    return g;
}

/* Number of elements that the gradient of an input reads. */
static uint64_t elements_read(const lm_layer *layer, uint32_t input, const gradient *g)
{
    const uint64_t out = lm_elements(&layer->output[0]), own = lm_elements(&layer->input[input]);
    const source from = self_of(layer)->gradient[layer->type->max_inputs == ANY ? 0 : input].source;
    uint64_t     n    = out;

    if (g->source != COMPUTED)
        return 0;
    if (from == OF_OTHERS)
        return lm_add(n, elements_of_inputs(layer) - own);
    if (from == OF_CHOSEN && layer->n_inputs > 2)
        return lm_add(lm_mul(2, n), own);
    if (g->reads & LM_KEEPS_INPUT)
        n = lm_add(n, elements_of_inputs(layer));
    if (g->reads & LM_KEEPS_OUTPUT)
        n = lm_add(n, out);
    for (uint32_t i = 0; i < layer->n_inputs && i < LM_KEEPS_MAX; i++)
        if (g->reads & LM_KEEPS_ONE(i))
            n = lm_add(n, lm_elements(&layer->input[i]));
    return n;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    if (pass == LM_FORWARD)
        emit_map(layer, sink, pass, layer->n_inputs, flops_of(layer), elements_of_inputs(layer));
    for (uint32_t i = 0; i < layer->n_inputs && pass == LM_GRAD_INPUT; i++) {
        const gradient g = gradient_of(layer, i);

        if (g.source == NO_GRADIENT || !lm_wants_gradient(layer, i))
            continue;
        if (g.source != HANDED_ON)
            emit_map(layer, sink, pass, g.operands, g.flops, elements_read(layer, i, &g));
        emit_sum_to(sink, pass, &layer->input[i], &layer->output[0]);
    }
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    for (uint32_t i = 0; i < layer->n_inputs; i++)
        if (lm_wants_gradient(layer, i))
            cost->keeps |= gradient_of(layer, i).reads;
    if (layer->n_params && !is_scale(layer) && lm_int(layer, FUSED))
        cost->keeps &= ~LM_KEEPS_ONE(0);
    return cost_of_kernels(layer, cost);
}

#define TYPE(type_name, type_doc, type_min, type_max, type_infer)                              \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = type_min, \
    .max_inputs = type_max, .n_outputs = 1, .flags = LM_FUNCTIONAL, .infer = type_infer,       \
    .cost = cost, .lower = lower

/* clang-format off */
#define ONE(name, doc)  { TYPE(name, doc, 1, 1, infer) }
#define REAL(name, doc) { TYPE(name, doc, 1, 1, real_infer) }
#define TWO(name, doc)  { TYPE(name, doc ", element by element", 2, 2, infer) }
#define MORE(name, doc) { TYPE(name, doc ", element by element", 2, ANY, infer) }
#define BACK(flops, reads) { COMPUTED, flops, reads, 0 }
#define ONLY(source) { source, 0, 0, 0 }
#define NONE ONLY(NO_GRADIENT)
#define SAME ONLY(HANDED_ON)
#define ZERO ONLY(ZEROS)
#define A LM_KEEPS_ONE(0)
#define B LM_KEEPS_ONE(1)
#define X LM_KEEPS_INPUT
#define Y LM_KEEPS_OUTPUT

enum {
    ADD, MULTIPLY, MINIMUM, MAXIMUM, SUBTRACT, DIVIDE, POW, COMPARE, WHERE, SCALE, EXP, LOG, SQRT,
    RECIPROCAL, ABS, NEG, ERF, SIN, COS, SQUARE, CLIP, FLOOR, CEIL, ROUND, SIGN
};

static const elementwise functions[] = {
    [ADD]        = { MORE("add", "sum of its inputs"), 1, { SAME } },
    [MULTIPLY]   = { { TYPE("multiply", "product of its inputs, element by element", 2, ANY, infer),
                       LM_PARAMS(multiply_params) }, 1, { ONLY(OF_OTHERS) } },
    [MINIMUM]    = { MORE("minimum", "the least of its inputs"), 1, { ONLY(OF_CHOSEN) } },
    [MAXIMUM]    = { MORE("maximum", "the greatest of its inputs"), 1, { ONLY(OF_CHOSEN) } },
    [SUBTRACT]   = { TWO("subtract", "a - b"), 1, { SAME, BACK(1, 0) } },
    [DIVIDE]     = { TWO("divide", "a / b"), 1, { BACK(1, B), BACK(4, A | B) } },
    [POW]        = { TWO("pow", "a to the power of b"), 1, { BACK(4, A | B), BACK(3, A | Y) } },
    [COMPARE]    = { { TYPE("compare", "a < b, a = b ...: a mask of u8, without a gradient", 2, 2,
                            compare_infer) }, 1, { NONE, NONE } },
    [WHERE]      = { { TYPE("where", "one of its second and third input, as the mask that is its "
                            "first says", 3, 3, infer) }, 1, { NONE, BACK(1, A), BACK(1, A) } },
    [SCALE]      = { { TYPE("scale", "times constants, plus constants", 1, 1, infer),
                       LM_PARAMS(scale_params) }, 1, { BACK(1, 0) } },
    [EXP]        = { REAL("exp", "exponential"), 1, { BACK(1, Y) } },
    [LOG]        = { REAL("log", "logarithm"), 1, { BACK(1, X) } },
    [SQRT]       = { REAL("sqrt", "square root"), 1, { BACK(2, Y) } },
    [RECIPROCAL] = { REAL("reciprocal", "1 / x"), 1, { BACK(3, Y) } },
    [ABS]        = { ONE("abs", "absolute value"), 1, { BACK(2, X) } },
    [NEG]        = { ONE("neg", "-x"), 1, { BACK(1, 0) } },
    [ERF]        = { REAL("erf", "error function"), 1, { BACK(5, X) } },
    [SIN]        = { REAL("sin", "sine"), 1, { BACK(2, X) } },
    [COS]        = { REAL("cos", "cosine"), 1, { BACK(3, X) } },
    [SQUARE]     = { ONE("square", "x x"), 1, { BACK(2, X) } },
    [CLIP]       = { ONE("clip", "x, but between two constants"), 2, { BACK(2, X) } },
    [FLOOR]      = { ONE("floor", "the whole number below"), 1, { ZERO } },
    [CEIL]       = { ONE("ceil", "the whole number above"), 1, { ZERO } },
    [ROUND]      = { ONE("round", "the nearest whole number"), 1, { ZERO } },
    [SIGN]       = { ONE("sign", "-1, 0 or 1"), 2, { ZERO } },
};
/* clang-format on */

#define ENTRY(function) &functions[function].type

static const lm_layer_type *const types[] = {
    ENTRY(ADD),    ENTRY(MULTIPLY), ENTRY(MINIMUM), ENTRY(MAXIMUM),    ENTRY(SUBTRACT),
    ENTRY(DIVIDE), ENTRY(POW),      ENTRY(COMPARE), ENTRY(WHERE),      ENTRY(SCALE),
    ENTRY(EXP),    ENTRY(LOG),      ENTRY(SQRT),    ENTRY(RECIPROCAL), ENTRY(ABS),
    ENTRY(NEG),    ENTRY(ERF),      ENTRY(SIN),     ENTRY(COS),        ENTRY(SQUARE),
    ENTRY(CLIP),   ENTRY(FLOOR),    ENTRY(CEIL),    ENTRY(ROUND),      ENTRY(SIGN),
};

LM_PLUGIN = {
    .name    = "layermeter-elementwise",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
