/* selective_scan: h[t] = exp(d[t] A) h[t-1] + d[t] B[t] x[t],  y[t] = C[t] h[t] + D x[t]
 * for each channel and state (Gu and Dao 2023, "Mamba", arXiv:2312.00752, algorithm 2).
 *
 * Shows work that is a chain of steps, each of which waits for the one before: `repeat` launches, or
 * one kernel of a kind that the program does not know, priced by its FLOPs and bytes. */
#include <stdbool.h>

#include <layermeter/plugin.h>

enum { STATES, FUSED };

static const lm_param params[] = {
    [STATES] = { .name     = "states",
                 .kind     = LM_INT,
                 .min      = 1,
                 .max      = 1e6,
                 .fallback = "16",
                 .doc      = "of each channel" },
    [FUSED]  = { .name     = "fused",
                 .kind     = LM_BOOL,
                 .fallback = "yes",
                 .doc      = "one kernel that keeps the states in registers; else a launch a step" },
};

/* FLOPs of each step, by channel and state, and by channel alone.
 * Forward: d A, exp, (d x) B, h times and plus 2, C h and its sum 2; d x, D x and its sum 2.
 * Backward: the first five again; dC, dB, the sum's gradient, h's, and what goes to d, A and h[t-1],
 * two each but the last: 15; dx 3, and what goes to d and D 4. */
enum { EACH_STATE = 7, EACH_CHANNEL = 3, BACK_STATE = 20, BACK_CHANNEL = 7 };

typedef struct sizes {
    lm_dtype dtype;
    uint64_t batch, steps, channels, states;
} sizes;

static sizes sizes_of(const lm_layer *layer)
{
    const lm_tensor *x = &layer->input[0];

    return (sizes){ x->dtype, (uint64_t)x->dim[0], (uint64_t)x->dim[1], (uint64_t)x->dim[2],
                    (uint64_t)lm_int(layer, STATES) };
}

/* Inputs: x and d, batch x steps x channels; B and C, batch x steps x states. */
static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *x = &layer->input[0];

    for (uint32_t i = 0; i < 4; i++) {
        const lm_tensor *in   = &layer->input[i];
        const int64_t    last = i < 2 ? x->dim[2] : lm_int(layer, STATES);

        if (x->rank != 3 || in->rank != 3 || in->dtype != layer->dtype || in->dim[0] != x->dim[0] ||
            in->dim[1] != x->dim[1] || in->dim[2] != last)
            return lm_fail(layer, LM_E_SHAPE,
                           "input %u: expected batch x steps x %s, batch and steps of all alike", i,
                           i < 2 ? "channels" : "states");
    }
    output[0] = *x;
    return LM_OK;
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    const sizes     s = sizes_of(layer);
    const lm_weight a = {
        .size   = sizeof a,
        .role   = "A_log",
        .tensor = { .dtype = s.dtype, .rank = 2, .dim = { (int64_t)s.channels, (int64_t)s.states } }
    };
    const lm_weight d = { .size   = sizeof d,
                          .role   = "D",
                          .tensor = {
                              .dtype = s.dtype, .rank = 1, .dim = { (int64_t)s.channels } } };

    sink->weight(sink, &a);
    sink->weight(sink, &d);
    return LM_OK;
}

static uint64_t product(uint64_t a, uint64_t b, uint64_t c)
{
    return lm_mul(lm_mul(a, b), c);
}

/* Of all steps, and of one of them with its states before and behind it. */
static lm_work work_of(const sizes *s, bool backward, bool step)
{
    const uint64_t steps = step ? 1 : s->steps, bytes = lm_dtype_bytes(s->dtype);
    const uint64_t x    = product(s->batch, steps, s->channels);
    const uint64_t b    = product(s->batch, steps, s->states);
    const uint64_t a    = lm_mul(s->channels, lm_add(s->states, 1));
    const uint64_t h    = step ? product(s->batch, s->channels, s->states) : 0;
    const uint64_t in   = lm_add(lm_mul(2, lm_add(x, b)), a);
    const uint64_t each = backward ? BACK_STATE : EACH_STATE;
    const uint64_t more = backward ? BACK_CHANNEL : EACH_CHANNEL;

    return (lm_work){
        .flops         = lm_mul(x, lm_add(lm_mul(each, s->states), more)),
        .read_bytes    = lm_mul(bytes, lm_add(in, lm_add(backward ? x : 0, h))),
        .written_bytes = lm_mul(bytes, lm_add(backward ? in : x, h)),
    };
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const sizes s = sizes_of(layer);

    cost->pass[LM_FORWARD]    = work_of(&s, false, false);
    cost->pass[LM_GRAD_INPUT] = work_of(&s, true, false);
    cost->keeps               = LM_KEEPS_INPUT;
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const sizes s     = sizes_of(layer);
    const int   fused = lm_int(layer, FUSED) != 0;
    lm_kernel   k     = {
              .size = sizeof k, .op = LM_OP_OPAQUE, .pass = pass, .dtype = s.dtype, .repeat = 1
    };

    if (pass == LM_GRAD_WEIGHT) /* with the gradients of the inputs */
        return LM_OK;
    if (!fused && s.steps > UINT32_MAX)
        return lm_fail(layer, LM_E_OVERFLOW, "more than 2^32 steps");
    k.repeat   = fused ? 1 : (uint32_t)s.steps;
    k.u.opaque = work_of(&s, pass != LM_FORWARD, !fused);
    sink->kernel(sink, &k);
    return LM_OK;
}

static const lm_layer_type selective_scan = {
    .size = sizeof(lm_layer_type),
    .name = "selective_scan",
    .doc  = "state space model whose step sizes and matrices follow from the input",
    LM_PARAMS(params),
    .min_inputs = 4,
    .max_inputs = 4,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
    .weights    = weights,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &selective_scan };

LM_PLUGIN = {
    .name    = "layermeter-selective-scan",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
