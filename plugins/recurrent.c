/* rnn, lstm, gru: recurrent layers, as torch.nn.RNN, LSTM and GRU. */
#include "dense.h"
#include "inputs.h"

enum { HIDDEN, LAYERS, BIDIRECTIONAL, BIAS, DROPOUT, NONLINEARITY, PROJECTION = NONLINEARITY };
enum { TANH, RELU };

#define RECURRENT_PARAMS                                                                           \
    [HIDDEN]        = { .name = "hidden",                                                          \
                        .kind = LM_INT,                                                            \
                        .min  = 1,                                                                 \
                        .max  = 1e9,                                                               \
                        .unit = "elements",                                                        \
                        .doc  = "of the state" },                                                   \
    [LAYERS]        = { .name     = "layers",                                                      \
                        .kind     = LM_INT,                                                        \
                        .min      = 1,                                                             \
                        .max      = 1e3,                                                           \
                        .fallback = "1",                                                           \
                        .doc      = "one on top of the other" },                                        \
    [BIDIRECTIONAL] = { .name     = "bidirectional",                                               \
                        .kind     = LM_BOOL,                                                       \
                        .fallback = "no",                                                          \
                        .doc      = "a second walk from the end, with weights of its own" },            \
    [BIAS]    = { .name = "bias", .kind = LM_BOOL, .fallback = "yes", .doc = "of both products" }, \
    [DROPOUT] = { .name     = "dropout",                                                           \
                  .kind     = LM_REAL,                                                             \
                  .min      = 0,                                                                   \
                  .max      = 1,                                                                   \
                  .fallback = "0",                                                                 \
                  .doc      = "probability of being switched off, between layers" }

static const lm_param rnn_params[] = {
    RECURRENT_PARAMS,
    [NONLINEARITY] = { .name     = "nonlinearity",
                       .kind     = LM_ENUM,
                       .choices  = "tanh|relu",
                       .fallback = "tanh",
                       .doc      = "of the state" },
};

static const lm_param lstm_params[] = {
    RECURRENT_PARAMS,
    [PROJECTION] = { .name     = "projection",
                     .kind     = LM_INT,
                     .min      = 0,
                     .max      = 1e9,
                     .unit     = "elements",
                     .fallback = "0",
                     .doc      = "that the state is projected to before it is used; 0: it is not" },
};

static const lm_param gru_params[] = { RECURRENT_PARAMS };

/*
 * A step sums two products for each gate and applies the formulas of the documentation of torch.nn
 * to each element of the state. FLOPs count as in activation.c: logistic function s 4, tanh 1;
 * their gradients 3 each, relu's 1. dh is the sum of the gradients from above and from the next
 * step: 1.
 *
 *  - rnn   h = tanh(a): sum 1, tanh 1                                                        2
 *          dh 1, da = dh (1 - h h): 3 (relu: 1)                                              4 (2)
 *  - lstm  sums 4, s(i) s(f) s(o) 12, tanh g 1, c' = f c + i g: 3, h = o tanh(c'): 2         22
 *          dh 1, tanh(c') again 1, do 1, dc += dh o (1 - tanh tanh): 5, di df dg and
 *          dc handed back 4, through s 9, through tanh 3                                     24
 *  - gru   r, z: sum and s 5 each; n = tanh(a + r b): 3; h' = (1 - z) n + z h: 4             17
 *          dh 1 and what the step itself hands back 1, dn = dh (1 - z): 2, dz = dh (h - n): 2,
 *          dh z 1, through tanh 3, dr = da b: 1, db = da r: 1, through s 6                   18
 *
 * A kernel reads each gate's two sums and the last state (lstm: the cell). Backward it reads the
 * gradient from above, that from the next step (lstm: and the cell's; gru: its two parts), and the
 * kept gates and both states.
 */
typedef struct cell {
    int64_t flops_forward, flops_backward;       /* per element of the state */
    int64_t operands_forward, operands_backward; /* tensors of the state's size that are read */
} cell;

typedef struct recurrent {
    lm_layer_type type; /* first: a layer's `type` points here */
    int64_t       gates;
    uint64_t      kept;    /* tensors of the state's size that a step keeps, beside its output */
    cell          cell[2]; /* by nonlinearity */
} recurrent;

static const recurrent rnn, lstm, gru;

static const recurrent *self_of(const lm_layer *layer)
{
    return (const recurrent *)(const void *)layer->type;
}

/* Sizes of the layer. */
typedef struct sizes {
    lm_dtype dtype;
    int64_t  samples, steps, input, hidden, layers, directions, gates;
    int64_t  output; /* of a direction: width of the state, or of its projection */
    bool     bias, projected, dropout;
    cell     cell;
} sizes;

static sizes sizes_of(const lm_layer *layer)
{
    const lm_tensor *in         = &layer->input[0];
    const recurrent *self       = self_of(layer);
    const int64_t    projection = self == &lstm ? lm_int(layer, PROJECTION) : 0;

    return (sizes){
        .dtype      = in->dtype,
        .samples    = in->dim[0],
        .steps      = in->dim[1],
        .input      = in->dim[2],
        .hidden     = lm_int(layer, HIDDEN),
        .layers     = lm_int(layer, LAYERS),
        .directions = lm_int(layer, BIDIRECTIONAL) ? 2 : 1,
        .gates      = self->gates,
        .output     = projection ? projection : lm_int(layer, HIDDEN),
        .bias       = lm_int(layer, BIAS),
        .projected  = projection > 0,
        .dropout    = lm_real(layer, DROPOUT) > 0,
        .cell       = self->cell[self == &rnn ? lm_int(layer, NONLINEARITY) : 0],
    };
}

static lm_tensor state_of(const sizes *s, int64_t width)
{
    return (lm_tensor){ .dtype = s->dtype,
                        .rank  = 3,
                        .dim   = { s->samples, s->layers * s->directions, width } };
}

/* Checks the initial states, if they are inputs. */
static lm_status check_states(const lm_layer *layer, const lm_tensor *states)
{
    if (layer->n_inputs != 1 && layer->n_inputs != layer->n_outputs)
        return lm_fail(layer, LM_E_SHAPE, "a state to begin with, but no cell");
    for (uint32_t i = 1; i < layer->n_inputs; i++) {
        const lm_tensor *is = &layer->input[i], *want = &states[i];

        if (is->dtype != want->dtype || is->rank != 3 || is->dim[0] != want->dim[0] ||
            is->dim[1] != want->dim[1] || is->dim[2] != want->dim[2])
            return lm_fail(layer, LM_E_SHAPE,
                           "a state to begin with has to be %lldx%lldx%lld of the sequence's type: "
                           "batch, layers times directions, elements",
                           (long long)want->dim[0], (long long)want->dim[1],
                           (long long)want->dim[2]);
    }
    return LM_OK;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    lm_tensor out[3];
    lm_status status = input_rank(layer, 3, 3, "batch, steps, elements");
    sizes     s;

    if (status)
        return status;
    s = sizes_of(layer);
    if (s.projected && s.output >= s.hidden)
        return lm_fail(layer, LM_E_ARG, "a projection to %lld of a state of %lld is none",
                       (long long)s.output, (long long)s.hidden);
    if (s.steps > UINT32_MAX / 2)
        return lm_fail(layer, LM_E_OVERFLOW, "%lld steps; at most 2^31 are possible",
                       (long long)s.steps);
    out[0]        = layer->input[0];
    out[0].dim[2] = s.directions * s.output;
    out[1]        = state_of(&s, s.output);
    out[2]        = state_of(&s, s.hidden);
    status        = check_states(layer, out);
    for (uint32_t i = 0; i < layer->n_outputs && !status; i++)
        output[i] = out[i];
    return status;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Number of input elements of layer `at`. */
static int64_t input_of(const sizes *s, int64_t at)
{
    return at ? s->directions * s->output : s->input;
}

static void emit_named(const sizes *s, lm_sink *sink, const char *name, int64_t at, bool reverse,
                       lm_tensor tensor)
{
    char role[48], digits[20];
    int  n = 0, length = 0;

    do
        digits[n++] = (char)('0' + at % 10);
    while (at /= 10);
    for (; *name; name++)
        role[length++] = *name;
    while (n)
        role[length++] = digits[--n];
    for (const char *c = reverse ? "_reverse" : ""; *c; c++)
        role[length++] = *c;
    role[length] = '\0';
    tensor.dtype = s->dtype;
    emit_weight(sink, (lm_weight){ .role = role, .tensor = tensor });
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    const sizes   s    = sizes_of(layer);
    const int64_t rows = s.gates * s.hidden;

    for (int64_t i = 0; i < s.layers * s.directions; i++) {
        const int64_t   at      = i / s.directions;
        const bool      reverse = i % s.directions;
        const lm_tensor vector  = { .rank = 1, .dim = { rows } };

        emit_named(&s, sink, "weight_ih_l", at, reverse,
                   (lm_tensor){ .rank = 2, .dim = { rows, input_of(&s, at) } });
        emit_named(&s, sink, "weight_hh_l", at, reverse,
                   (lm_tensor){ .rank = 2, .dim = { rows, s.output } });
        if (s.bias) {
            emit_named(&s, sink, "bias_ih_l", at, reverse, vector);
            emit_named(&s, sink, "bias_hh_l", at, reverse, vector);
        }
        if (s.projected)
            emit_named(&s, sink, "weight_hr_l", at, reverse,
                       (lm_tensor){ .rank = 2, .dim = { s.output, s.hidden } });
    }
    return LM_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static int64_t all_rows(const sizes *s)
{
    return (int64_t)lm_mul((uint64_t)s->samples, (uint64_t)s->steps);
}

/* Product of layer `at`'s input with the gates' weights, for all steps at once. */
static dense input_product(const sizes *s, int64_t at)
{
    return (dense){ s->dtype,        all_rows(s),
                    input_of(s, at), s->gates * s->hidden,
                    s->bias,         (uint32_t)s->directions };
}

/* Product from state to gates. `at_once`: all steps in one product, for weight gradients; else step
 * by step. */
static dense state_product(const sizes *s, bool at_once)
{
    return (dense){ s->dtype,  at_once ? all_rows(s) : s->samples,
                    s->output, s->gates * s->hidden,
                    s->bias,   (uint32_t)(s->directions * (at_once ? 1 : s->steps)) };
}

static dense projection_product(const sizes *s, bool at_once)
{
    dense d = state_product(s, at_once);

    d.in   = s->hidden;
    d.out  = s->output;
    d.bias = false;
    return d;
}

static void emit_map(const sizes *s, lm_sink *sink, lm_pass pass, int64_t rows, int64_t width,
                     int64_t repeat, int64_t operands, int64_t flops)
{
    emit(sink, (lm_kernel){ .op     = LM_OP_MAP,
                            .pass   = pass,
                            .dtype  = s->dtype,
                            .repeat = (uint32_t)repeat,
                            .u.map = { .elements = (int64_t)lm_mul((uint64_t)rows, (uint64_t)width),
                                       .operands = operands,
                                       .flops_per_element = flops } });
}

static bool drops_after(const sizes *s, int64_t at)
{
    return s->dropout && at + 1 < s->layers;
}

static void emit_forward(const sizes *s, lm_sink *sink)
{
    for (int64_t at = 0; at < s->layers; at++) {
        const dense input = input_product(s, at), state = state_product(s, false),
                    projection = projection_product(s, false);

        emit_dense(sink, LM_FORWARD, LM_FORWARD, &input);
        emit_dense(sink, LM_FORWARD, LM_FORWARD, &state);
        emit_map(s, sink, LM_FORWARD, s->samples, s->hidden, state.repeat, s->cell.operands_forward,
                 s->cell.flops_forward);
        if (s->projected)
            emit_dense(sink, LM_FORWARD, LM_FORWARD, &projection);
        if (drops_after(s, at)) /* as in dropout.c */
            emit_map(s, sink, LM_FORWARD, all_rows(s), s->directions * s->output, 1, 1, 2);
    }
}

/* Emits the gradient of layer `at`'s input, from all its directions. */
static void emit_input_gradient(const sizes *s, lm_pass pass, int64_t at, lm_sink *sink)
{
    const dense input = input_product(s, at);

    emit_dense(sink, pass, LM_GRAD_INPUT, &input);
    if (s->directions == 2)
        emit_map(s, sink, pass, input.rows, input.in, 1, 2, 1);
}

/* Emits the backward steps of all layers. With a projection dh is summed before it. */
static void emit_through_time(const sizes *s, lm_pass pass, lm_sink *sink)
{
    const dense state = state_product(s, false), projection = projection_product(s, false);

    for (int64_t at = s->layers; at-- > 0;) {
        if (drops_after(s, at))
            emit_map(s, sink, pass, all_rows(s), s->directions * s->output, 1, 2, 1);
        if (s->projected) {
            emit_map(s, sink, pass, s->samples, s->output, state.repeat, 2, 1);
            emit_dense(sink, pass, LM_GRAD_INPUT, &projection);
        }
        emit_map(s, sink, pass, s->samples, s->hidden, state.repeat,
                 s->cell.operands_backward - s->projected, s->cell.flops_backward - s->projected);
        emit_dense(sink, pass, LM_GRAD_INPUT, &state);
        if (at)
            emit_input_gradient(s, pass, at, sink);
    }
}

static void emit_weight_gradients(const sizes *s, lm_sink *sink)
{
    const dense state = state_product(s, true), projection = projection_product(s, true);

    for (int64_t at = s->layers; at-- > 0;) {
        const dense input = input_product(s, at);

        emit_dense(sink, LM_GRAD_WEIGHT, LM_GRAD_WEIGHT, &input);
        emit_dense(sink, LM_GRAD_WEIGHT, LM_GRAD_WEIGHT, &state);
        if (s->projected)
            emit_dense(sink, LM_GRAD_WEIGHT, LM_GRAD_WEIGHT, &projection);
    }
}

/* Kernels of a pass. If only weights need the gradient through the steps, it belongs to
 * LM_GRAD_WEIGHT. */
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const sizes s       = sizes_of(layer);
    lm_pass     through = LM_GRAD_WEIGHT;

    for (uint32_t i = 0; i < layer->n_inputs; i++)
        if (lm_wants_gradient(layer, i))
            through = LM_GRAD_INPUT;
    if (pass == LM_FORWARD)
        emit_forward(&s, sink);
    if (pass == through)
        emit_through_time(&s, pass, sink);
    if (pass == LM_GRAD_INPUT && lm_wants_gradient(layer, 0))
        emit_input_gradient(&s, pass, 0, sink);
    if (pass == LM_GRAD_WEIGHT)
        emit_weight_gradients(&s, sink);
    return LM_OK;
}

/* Kept tensors: gates and cells of all steps; outputs between layers, and with dropout those after
 * it and a mask of one byte each; projected states. */
static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const sizes    s       = sizes_of(layer);
    const uint64_t element = lm_dtype_bytes(s.dtype);
    const uint64_t states =
        lm_mul((uint64_t)(s.layers * s.directions * s.hidden), (uint64_t)all_rows(&s));
    const uint64_t between =
        lm_mul((uint64_t)((s.layers - 1) * s.directions * s.output), (uint64_t)all_rows(&s));

    cost->keeps       = LM_KEEPS_INPUT | LM_KEEPS_OUTPUT;
    cost->saved_bytes = lm_add(lm_mul(states, element * (self_of(layer)->kept + s.projected)),
                               lm_mul(between, s.dropout ? 2 * element + 1 : element));
    return cost_of_kernels(layer, cost);
}

#define RECURRENT(type_name, type_doc, states)                                           \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = 1,  \
    .max_inputs = 1 + (states), .n_outputs = 1 + (states), .infer = infer, .cost = cost, \
    .weights = weights, .lower = lower

static const recurrent rnn = {
    .type  = { RECURRENT("rnn",
                         "recurrent layers of one gate; yields the sequence and the last states", 1),
               LM_PARAMS(rnn_params) },
    .gates = 1,
    .kept  = 0,
    .cell  = { [TANH] = { 2, 4, 2, 3 }, [RELU] = { 2, 2, 2, 3 } },
};
static const recurrent lstm = {
    .type  = { RECURRENT("lstm",
                         "long short-term memory; yields the sequence, the last states and cells",
                         2),
               LM_PARAMS(lstm_params) },
    .gates = 4,
    .kept  = 5,
    .cell  = { { 22, 24, 9, 9 } },
};
static const recurrent gru = {
    .type  = { RECURRENT("gru", "gated recurrent unit; yields the sequence and the last states", 1),
               LM_PARAMS(gru_params) },
    .gates = 3,
    .kept  = 4,
    .cell  = { { 17, 18, 7, 8 } },
};

static const lm_layer_type *const types[] = { &rnn.type, &lstm.type, &gru.type };

LM_PLUGIN = {
    .name    = "layermeter-recurrent",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
