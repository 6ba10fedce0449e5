/* moe: a mixture of experts, which replaces a transformer's two or three linear layers. */
#include "dense.h"
#include "inputs.h"
#include "splitting.h"
#include "tensors.h"

enum {
    EXPERTS,
    TOP_K,
    HIDDEN,
    SHARED,
    GATED,
    ACTIVATION,
    SCORE,
    NORMALISE,
    SCORE_BIAS,
    CAPACITY,
    RANKS,
    IMBALANCE,
    GATHERED
};
enum { SILU, GELU, RELU };
enum { SOFTMAX, SIGMOID };

static const lm_param params[] = {
    [EXPERTS]    = { .name = "experts",
                     .kind = LM_INT,
                     .min  = 1,
                     .max  = 1e6,
                     .doc  = "networks of which a router chooses some for each token" },
    [TOP_K]      = { .name = "top_k",
                     .kind = LM_INT,
                     .min  = 1,
                     .max  = 1e6,
                     .doc  = "experts that a token goes to" },
    [HIDDEN]     = { .name = "hidden",
                     .kind = LM_INT,
                     .min  = 1,
                     .max  = 1e9,
                     .unit = "elements",
                     .doc  = "between the linear layers of an expert" },
    [SHARED]     = { .name     = "shared",
                     .kind     = LM_INT,
                     .min      = 0,
                     .max      = 1e9,
                     .unit     = "elements",
                     .fallback = "0",
                     .doc      = "between the linear layers of experts that see every token, all of "
                                     "them together" },
    [GATED]      = { .name     = "gated",
                     .kind     = LM_BOOL,
                     .fallback = "yes",
                     .doc = "three linear layers: the first, activated, times the second; else two" },
    [ACTIVATION] = { .name     = "activation",
                     .kind     = LM_ENUM,
                     .choices  = "silu|gelu|relu",
                     .fallback = "silu",
                     .doc      = "of an expert, as the layer types of these names" },
    [SCORE]      = { .name     = "score",
                     .kind     = LM_ENUM,
                     .choices  = "softmax|sigmoid",
                     .fallback = "softmax",
                     .doc      = "of the router's outputs" },
    [NORMALISE]  = { .name     = "normalise",
                     .kind     = LM_BOOL,
                     .fallback = "yes",
                     .doc      = "scale the scores of a token's experts to the sum 1" },
    [SCORE_BIAS] = { .name     = "score_bias",
                     .kind     = LM_BOOL,
                     .fallback = "no",
                     .doc      = "add a number to each expert's score before the choice; it has no "
                                 "gradient" },
    [CAPACITY]   = { .name     = "capacity",
                     .kind     = LM_REAL,
                     .min      = 0,
                     .max      = 1e6,
                     .fallback = "0",
                     .doc = "rows of an expert, of the mean: padded up to, tokens above dropped; "
                              "0: as many as come" },
    [RANKS]      = { .name     = "ranks",
                     .kind     = LM_INT,
                     .min      = 1,
                     .max      = 1e6,
                     .fallback = "1",
                     .doc      = "devices that share the experts, each with an equal part, and send "
                                      "each other tokens: this is the layer of one of them" },
    [IMBALANCE]  = { .name     = "imbalance",
                     .kind     = LM_REAL,
                     .min      = 1,
                     .max      = 1e6,
                     .fallback = "1",
                     .doc = "tokens of the fullest of `ranks`, of the mean; without `capacity`" },
    [GATHERED]   = { .name     = "gathered",
                     .kind     = LM_INT,
                     .min      = 1,
                     .max      = 1e6,
                     .fallback = "1",
                     .doc      = "devices with tokens of their own and a part of every expert, which "
                                   "gather rows at the experts: this is the layer of one of them" },
};

/*
 * A token's row goes to `top_k` experts. Rows are gathered by expert. Each linear layer of all
 * experts is then one grouped product, a launch of products of equal sizes: GEMM with `batch`
 * experts, and one more launch if rows do not divide evenly. The outputs return, multiplied by the
 * scores and summed.
 *
 * Shazeer et al. 2017, "Outrageously large neural networks", section 2; Fedus et al. 2021, "Switch
 * transformers", section 2.2 (capacity); Gale et al. 2022, "MegaBlocks", section 2 (grouped
 * products, no token dropped); DeepSeek-AI 2024, arXiv:2401.06066, section 3 (shared experts).
 *
 * FLOPs beside the products, as in activation.c and kernel.h:
 *  - choice        1 for each score: the largest are found
 *  - normalise     sum and divide: 2 | multiply, add, subtract, divide: 4, for each chosen
 *  - combine       multiply and add: 2 | dy score: 1, and dy out added up: 2, for each element
 *  - gated         1 | 1 for each of both factors
 *  - shared        added: 1 | handed on
 */
typedef struct moe {
    lm_dtype dtype;
    int64_t  tokens, width, experts, top_k, hidden, shared;
    int64_t  held;     /* experts of this rank */
    int64_t  sent;     /* rows of this rank's tokens */
    int64_t  seen;     /* tokens that the shared experts of this rank see */
    int64_t  received; /* rows of this rank's experts */
    int64_t  used;     /* experts of this rank that rows go to */
    bool     gated;
} moe;

static const struct {
    int64_t forward, backward;
} function[] = { [SILU] = { 5, 9 }, [GELU] = { 5, 11 }, [RELU] = { 1, 1 } };

static int64_t times(int64_t a, int64_t b)
{
    const uint64_t n = lm_mul((uint64_t)a, (uint64_t)b);

    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static int64_t plus(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* n times a factor, rounded up. A tolerance covers rounding: 1.1 x 10 is 11. */
static int64_t scaled(int64_t n, double factor)
{
    const double  exact = (double)n * factor;
    const int64_t below = exact < 0x1p62 ? (int64_t)exact : INT64_MAX / 2;

    return factor == 1 ? n : exact - (double)below > 1e-9 * exact ? below + 1 : below;
}

/* x to a whole number n, without libm. */
static double power(double x, uint64_t n)
{
    double product = 1;

    for (; n; n >>= 1, x *= x)
        product *= n & 1 ? x : 1;
    return product;
}

/* Experts of this rank that at least one of so many tokens goes to, if each token chooses its experts
 * at random: the expected number of occupied urns (Johnson and Kotz 1977, "Urn models and their
 * application", section 3.1), rounded. Few tokens, as in decoding, read few experts. */
static int64_t used_experts(const moe *m, uint64_t tokens)
{
    const double  none = power(1 - (double)m->top_k / (double)m->experts, tokens);
    const int64_t used = (int64_t)((double)m->held * (1 - none) + 0.5);
    const int64_t most = m->received < m->held ? m->received : m->held;

    return used < 1 ? 1 : used > most && most > 0 ? most : used;
}

static moe moe_of(const lm_layer *layer)
{
    const lm_tensor *in = &layer->input[0];
    moe              m  = { .dtype   = in->dtype,
                            .tokens  = (int64_t)tensor_span(in, 0, in->rank - 1),
                            .width   = in->dim[in->rank - 1],
                            .experts = lm_int(layer, EXPERTS),
                            .top_k   = lm_int(layer, TOP_K),
                            .hidden  = lm_int(layer, HIDDEN),
                            .shared  = lm_int(layer, SHARED),
                            .held    = lm_int(layer, EXPERTS) / lm_int(layer, RANKS),
                            .gated   = lm_int(layer, GATED) };

    m.sent = times(m.tokens, m.top_k);
    if (lm_real(layer, CAPACITY) > 0) {
        m.sent     = times(m.experts, scaled(m.sent, lm_real(layer, CAPACITY) / (double)m.experts));
        m.received = times(m.sent, lm_int(layer, GATHERED));
    } else {
        m.received = times(m.sent, lm_int(layer, GATHERED));
        if (lm_int(layer, RANKS) > 1)
            m.received = scaled(m.received, lm_real(layer, IMBALANCE));
    }
    m.seen = times(m.tokens, lm_int(layer, GATHERED));
    m.used = lm_real(layer, CAPACITY) > 0
                 ? m.held
                 : used_experts(&m, lm_mul((uint64_t)m.seen, (uint64_t)lm_int(layer, RANKS)));
    return m;
}

/* ---- shapes and weights ---------------------------------------------------------------------- */

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const int64_t experts = lm_int(layer, EXPERTS), ranks = lm_int(layer, RANKS);
    lm_status     status = input_rank(layer, 2, LM_MAX_RANK, "batch, ..., features");

    if (status)
        return status;
    if (lm_int(layer, TOP_K) > experts)
        return lm_fail(layer, LM_E_ARG, "top_k %lld of %lld experts",
                       (long long)lm_int(layer, TOP_K), (long long)experts);
    if (experts % ranks)
        return lm_fail(layer, LM_E_ARG, "%lld experts are no multiple of %lld ranks",
                       (long long)experts, (long long)ranks);
    output[0] = layer->input[0];
    return LM_OK;
}

static void emit_matrix(const moe *m, lm_sink *sink, const char *role, int64_t matrices,
                        int64_t out, int64_t in)
{
    lm_tensor t = { .dtype = m->dtype, .rank = 2, .dim = { out, in } };

    if (matrices)
        t = (lm_tensor){ .dtype = m->dtype, .rank = 3, .dim = { matrices, out, in } };
    emit_weight(sink, (lm_weight){ .role = role, .tensor = t, .flags = matrices ? LM_EXPERT : 0 });
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    const moe m = moe_of(layer);

    emit_matrix(&m, sink, "gate", 0, m.experts, m.width);
    if (lm_int(layer, SCORE_BIAS))
        emit_weight(sink,
                    (lm_weight){ .role   = "gate_bias",
                                 .tensor = { .dtype = m.dtype, .rank = 1, .dim = { m.experts } },
                                 .flags  = LM_FROZEN });
    if (m.gated)
        emit_matrix(&m, sink, "gate_proj", m.held, m.hidden, m.width);
    emit_matrix(&m, sink, "up_proj", m.held, m.hidden, m.width);
    emit_matrix(&m, sink, "down_proj", m.held, m.width, m.hidden);
    if (!m.shared)
        return LM_OK;
    if (m.gated)
        emit_matrix(&m, sink, "shared_gate_proj", 0, m.shared, m.width);
    emit_matrix(&m, sink, "shared_up_proj", 0, m.shared, m.width);
    emit_matrix(&m, sink, "shared_down_proj", 0, m.width, m.shared);
    return LM_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void emit_map(const moe *m, lm_sink *sink, lm_pass pass, int64_t elements, int64_t operands,
                     int64_t flops)
{
    emit(sink,
         (lm_kernel){
             .op    = LM_OP_MAP,
             .pass  = pass,
             .dtype = m->dtype,
             .u.map = { .elements = elements, .operands = operands, .flops_per_element = flops } });
}

/* Emits rows that are copied or added by number. */
static void emit_rows(const moe *m, lm_sink *sink, lm_pass pass, int64_t rows, int64_t width,
                      int64_t table)
{
    emit(sink, (lm_kernel){ .op       = LM_OP_GATHER,
                            .pass     = pass,
                            .dtype    = m->dtype,
                            .u.gather = { .rows = rows, .width = width, .table_rows = table } });
}

/* Emits one of the three products of `experts` linear layers with so many rows each. */
static void emit_group(const moe *m, lm_sink *sink, lm_pass pass, lm_pass product, int64_t experts,
                       int64_t rows, int64_t in, int64_t out)
{
    lm_kernel k = { .op = LM_OP_GEMM, .pass = pass, .dtype = m->dtype };

    if (!experts || !rows)
        return;
    k.u.gemm.batch = experts;
    k.u.gemm.m     = product == LM_GRAD_WEIGHT ? out : rows;
    k.u.gemm.n     = product == LM_FORWARD ? out : in;
    k.u.gemm.k     = product == LM_FORWARD ? in : product == LM_GRAD_INPUT ? out : rows;
    emit(sink, k);
}

/* The same for all experts that rows go to, with rows as equal as possible. */
static void emit_experts(const moe *m, lm_sink *sink, lm_pass pass, lm_pass product, int64_t in,
                         int64_t out)
{
    const int64_t each = m->received / m->used, more = m->received % m->used;

    emit_group(m, sink, pass, product, more, plus(each, 1), in, out);
    emit_group(m, sink, pass, product, m->used - more, each, in, out);
}

/* The same for shared experts, which see every token: one linear layer. */
static void emit_shared(const moe *m, lm_sink *sink, lm_pass pass, lm_pass product, int64_t in,
                        int64_t out)
{
    const dense d = { .dtype = m->dtype, .rows = m->seen, .in = in, .out = out };

    emit_dense(sink, pass, product, &d);
}

/* The same for the router, which sees this rank's tokens. */
static void emit_router(const moe *m, lm_sink *sink, lm_pass pass, lm_pass product)
{
    const dense d = { .dtype = m->dtype, .rows = m->tokens, .in = m->width, .out = m->experts };

    emit_dense(sink, pass, product, &d);
}

typedef void (*emit_product)(const moe *, lm_sink *, lm_pass, lm_pass, int64_t, int64_t);

/* Emits the linear layers around an activation of `rows` rows of `hidden` elements. */
static void forward_of(const moe *m, lm_sink *sink, emit_product product, int64_t rows,
                       int64_t hidden, int64_t activation)
{
    const int64_t n = times(rows, hidden);

    for (int i = 0; i < 1 + m->gated; i++)
        product(m, sink, LM_FORWARD, LM_FORWARD, m->width, hidden);
    emit_map(m, sink, LM_FORWARD, n, 1, function[activation].forward);
    if (m->gated)
        emit_map(m, sink, LM_FORWARD, n, 2, 1);
    product(m, sink, LM_FORWARD, LM_FORWARD, hidden, m->width);
}

/* Emits the gradient at the outputs of the first linear layers, and with `input` at their input. */
static void backward_of(const moe *m, lm_sink *sink, lm_pass pass, emit_product product,
                        int64_t rows, int64_t hidden, int64_t activation, bool input)
{
    const int64_t n = times(rows, hidden);

    product(m, sink, pass, LM_GRAD_INPUT, hidden, m->width);
    for (int i = 0; i < 2 * m->gated; i++)
        emit_map(m, sink, pass, n, 2, 1);
    emit_map(m, sink, pass, n, 2, function[activation].backward);
    for (int i = 0; i < 1 + m->gated && input; i++)
        product(m, sink, pass, LM_GRAD_INPUT, m->width, hidden);
    if (m->gated && input)
        emit_map(m, sink, pass, times(rows, m->width), 2, 1);
}

static void weights_of(const moe *m, lm_sink *sink, emit_product product, int64_t hidden)
{
    for (int i = 0; i < 1 + m->gated; i++)
        product(m, sink, LM_GRAD_WEIGHT, LM_GRAD_WEIGHT, m->width, hidden);
    product(m, sink, LM_GRAD_WEIGHT, LM_GRAD_WEIGHT, hidden, m->width);
}

/* Emits a pass of the scores of all experts. */
static void emit_scores(const moe *m, lm_sink *sink, lm_pass pass, int64_t score)
{
    const bool forward = pass == LM_FORWARD;

    if (score == SIGMOID)
        emit_map(m, sink, pass, times(m->tokens, m->experts), forward ? 1 : 2, forward ? 4 : 3);
    else
        emit(sink, (lm_kernel){ .op        = LM_OP_SOFTMAX,
                                .pass      = pass,
                                .dtype     = m->dtype,
                                .u.softmax = { m->tokens, m->experts } });
}

static void router_forward(const lm_layer *layer, const moe *m, lm_sink *sink)
{
    const int64_t scores = times(m->tokens, m->experts);

    emit_router(m, sink, LM_FORWARD, LM_FORWARD);
    emit_scores(m, sink, LM_FORWARD, lm_int(layer, SCORE));
    if (lm_int(layer, SCORE_BIAS))
        emit(sink, (lm_kernel){ .op    = LM_OP_MAP,
                                .pass  = LM_FORWARD,
                                .dtype = m->dtype,
                                .u.map = { .elements          = scores,
                                           .operands          = 2,
                                           .flops_per_element = 1,
                                           .reads             = plus(scores, m->experts) } });
    emit(sink, (lm_kernel){ .op       = LM_OP_REDUCE,
                            .pass     = LM_FORWARD,
                            .dtype    = m->dtype,
                            .u.reduce = { m->tokens, m->experts, 1 } });
    if (lm_int(layer, NORMALISE))
        emit_map(m, sink, LM_FORWARD, times(m->tokens, m->top_k), 1, 2);
}

/* Emits the router's gradient: that of the chosen scores among zeros, then back to its outputs. */
static void router_backward(const lm_layer *layer, const moe *m, lm_sink *sink, lm_pass pass,
                            bool input)
{
    const int64_t chosen = times(m->tokens, m->top_k), all = times(m->tokens, m->experts);

    if (lm_int(layer, NORMALISE))
        emit_map(m, sink, pass, chosen, 2, 4);
    emit_map(m, sink, pass, all, 0, 0);
    emit_rows(m, sink, pass, chosen, 1, all);
    emit_scores(m, sink, pass, lm_int(layer, SCORE));
    if (input)
        emit_router(m, sink, pass, LM_GRAD_INPUT);
}

static void lower_forward(const lm_layer *layer, const moe *m, lm_sink *sink)
{
    const int64_t activation = lm_int(layer, ACTIVATION), rows = times(m->sent, m->width);
    const int64_t out = times(m->tokens, m->width);

    router_forward(layer, m, sink);
    emit_rows(m, sink, LM_FORWARD, m->sent, m->width, m->tokens);
    forward_of(m, sink, emit_experts, m->received, m->hidden, activation);
    emit(sink, (lm_kernel){ .op    = LM_OP_MAP,
                            .pass  = LM_FORWARD,
                            .dtype = m->dtype,
                            .u.map = { .elements          = rows,
                                       .operands          = 2,
                                       .flops_per_element = 2,
                                       .reads             = plus(rows, m->sent),
                                       .writes            = out } });
    if (!m->shared)
        return;
    forward_of(m, sink, emit_shared, m->seen, m->shared, activation);
    emit_map(m, sink, LM_FORWARD, out, 2, 1);
}

/* Emits all gradients except those of weights. `input`: also that of the layer's input, a sum over
 * its readers. */
static void lower_through(const lm_layer *layer, const moe *m, lm_pass pass, bool input,
                          lm_sink *sink)
{
    const int64_t activation = lm_int(layer, ACTIVATION), rows = times(m->sent, m->width);
    const int64_t out = times(m->tokens, m->width);

    if (m->shared)
        backward_of(m, sink, pass, emit_shared, m->seen, m->shared, activation, input);
    emit(sink, (lm_kernel){ .op    = LM_OP_MAP,
                            .pass  = pass,
                            .dtype = m->dtype,
                            .u.map = { .elements          = rows,
                                       .operands          = 2,
                                       .flops_per_element = 3,
                                       .reads             = plus(plus(out, rows), m->sent),
                                       .writes            = plus(rows, m->sent) } });
    backward_of(m, sink, pass, emit_experts, m->received, m->hidden, activation, input);
    router_backward(layer, m, sink, pass, input);
    if (!input)
        return;
    emit_map(m, sink, pass, out, 0, 0);
    emit_rows(m, sink, pass, m->sent, m->width, m->tokens);
    for (int i = 0; i < 1 + (m->shared > 0); i++)
        emit_map(m, sink, pass, out, 2, 1);
}

/* Kernels of a pass. Gradients that only weights need belong to LM_GRAD_WEIGHT. */
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const moe  m     = moe_of(layer);
    const bool input = lm_wants_gradient(layer, 0);

    if (pass == LM_FORWARD)
        lower_forward(layer, &m, sink);
    if (pass == (input ? LM_GRAD_INPUT : LM_GRAD_WEIGHT))
        lower_through(layer, &m, pass, input, sink);
    if (pass == LM_GRAD_WEIGHT) {
        if (m.shared)
            weights_of(&m, sink, emit_shared, m.shared);
        weights_of(&m, sink, emit_experts, m.hidden);
        emit_router(&m, sink, pass, LM_GRAD_WEIGHT);
    }
    return LM_OK;
}

/* Kept tensors: inputs and outputs of experts; rows between their linear layers, before and behind
 * the activation, with a gate both factors and their product; all scores; the chosen scores and
 * their numbers of 8 bytes. */
static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const moe      m       = moe_of(layer);
    const uint64_t between = m.gated ? 4 : 2;
    const uint64_t hidden  = lm_add(lm_mul((uint64_t)m.received, (uint64_t)m.hidden),
                                    lm_mul((uint64_t)m.seen, (uint64_t)m.shared));
    const uint64_t rows = lm_mul(lm_add((uint64_t)m.received, (uint64_t)m.sent), (uint64_t)m.width);
    const uint64_t scores = lm_mul((uint64_t)m.tokens, (uint64_t)(m.experts + m.top_k));

    cost->keeps       = LM_KEEPS_INPUT;
    cost->saved_bytes = lm_add(
        lm_mul(lm_dtype_bytes(m.dtype), lm_add(lm_add(lm_mul(between, hidden), rows), scores)),
        lm_mul(8, (uint64_t)times(m.tokens, m.top_k)));
    if (lm_int(layer, GATHERED) > 1) /* outputs of the rank's part of the experts, a summand */
        cost->workspace_bytes =
            lm_mul(lm_dtype_bytes(m.dtype), lm_mul((uint64_t)m.received, (uint64_t)m.width));
    return cost_of_kernels(layer, cost);
}

/* Splits experts among ranks. Tokens of all ranks travel to the experts and back; the fullest
 * rank's rows count. */
static lm_status split_experts(const lm_layer *layer, lm_split *s)
{
    const moe m    = moe_of(layer);
    int64_t   rows = m.sent;

    if (lm_int(layer, RANKS) > 1)
        return lm_fail(layer, LM_E_ARG, "ranks = %lld share the experts already",
                       (long long)lm_int(layer, RANKS));
    if (m.experts % s->parts)
        return lm_fail(layer, LM_E_SHAPE, "%lld experts are no multiple of ep %lld",
                       (long long)m.experts, (long long)s->parts);
    s->param[RANKS].u.i[0] = s->parts;
    if (!(lm_real(layer, CAPACITY) > 0))
        rows = scaled(rows, lm_real(layer, IMBALANCE));
    s->exchanged_bytes = lm_mul(lm_dtype_bytes(m.dtype), lm_mul((uint64_t)rows, (uint64_t)m.width));
    s->exchanges       = 2;
    return LM_OK;
}

/* Rows that ranks with parts of the same experts gather: each sends those of its own tokens. The
 * order of Megatron Core's MoEAlltoAllTokenDispatcher: all-to-all among ranks of experts, all-gather
 * among those of one expert; back, reduce-scatter and all-to-all. Shared experts gather the tokens.
 */
static void gather_rows(const lm_layer *layer, lm_split *s)
{
    const moe      m    = moe_of(layer);
    const uint64_t wide = lm_mul(lm_dtype_bytes(m.dtype), (uint64_t)m.width);
    int64_t        rows = times(m.sent, s->parts);

    if (!(lm_real(layer, CAPACITY) > 0))
        rows = scaled(rows, lm_real(layer, IMBALANCE));
    s->param[GATHERED].u.i[0] = s->parts;
    s->exchanged_bytes        = lm_mul(wide, (uint64_t)rows);
    s->exchanges              = 1 + (m.shared > 0);
    s->sizes[1]               = lm_mul(wide, (uint64_t)times(m.tokens, s->parts));
    s->own_bytes              = lm_mul(wide, (uint64_t)m.experts);
}

/* Splits every expert among ranks, as Megatron-LM's column and row parallel layers. All ranks have
 * the router. */
static lm_status split(const lm_layer *layer, lm_split *s)
{
    lm_status status;

    if (s->way == LM_EXPERTS)
        return split_experts(layer, s);
    status = s->way == LM_COLUMNS || s->way == LM_ROUTED
                 ? split_evenly(layer, s, HIDDEN, 0, "elements of an expert")
                 : split_refused(layer);
    if (status || (lm_int(layer, SHARED) && split_evenly(layer, s, SHARED, 0, "shared elements")))
        return status ? status : LM_E_SHAPE;
    if (s->way == LM_ROUTED)
        gather_rows(layer, s);
    else
        s->sums = LM_SUMS_INPUT | LM_SUMS_OUTPUT;
    return LM_OK;
}

static const lm_layer_type moe_type = {
    .size = sizeof(lm_layer_type),
    .name = "moe",
    .doc  = "mixture of experts: a router, the experts it chooses for each token, and shared ones",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .flags      = LM_FIXED_PART, /* rows of `capacity` are rounded up */
    .infer      = infer,
    .cost       = cost,
    .weights    = weights,
    .lower      = lower,
    .split      = split,
};

static const lm_layer_type *const types[] = { &moe_type };

LM_PLUGIN = {
    .name    = "layermeter-moe",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
