/* multi_head_attention: attention between learned projections, as
 * torch.nn.MultiheadAttention and its relatives. */
#include "attention.h"
#include "dense.h"
#include "splitting.h"

enum { HEADS, KV_HEADS, HEAD_WIDTH, CAUSAL, MEMORY, BIAS, OUTPUT_BIAS, PACKED, ROTARY, DROPOUT };
enum { YES, NO, AS_BIAS }; /* of OUTPUT_BIAS */

static const lm_param params[] = {
    [HEADS]       = { .name = "heads", .kind = LM_INT, .min = 1, .max = 1e6, .doc = "of queries" },
    [KV_HEADS]    = { .name     = "kv_heads",
                      .kind     = LM_INT,
                      .min      = 0,
                      .max      = 1e6,
                      .fallback = "0",
                      .doc      = "of keys and values; divides `heads`; 0: as many" },
    [HEAD_WIDTH]  = { .name     = "head_width",
                      .kind     = LM_INT,
                      .min      = 0,
                      .max      = 1e6,
                      .unit     = "elements",
                      .fallback = "0",
                      .doc      = "of a head's query, key and value; 0: the input's over `heads`" },
    [CAUSAL]      = ATTENTION_CAUSAL,
    [MEMORY]      = ATTENTION_MEMORY,
    [BIAS]        = { .name     = "bias",
                      .kind     = LM_BOOL,
                      .fallback = "yes",
                      .doc      = "of the projections to queries, keys and values" },
    [OUTPUT_BIAS] = { .name     = "output_bias",
                      .kind     = LM_ENUM,
                      .choices  = "yes|no|as_bias",
                      .fallback = "as_bias",
                      .doc      = "of the projection of the output" },
    [PACKED]      = { .name     = "packed",
                      .kind     = LM_BOOL,
                      .fallback = "yes",
                      .doc      = "yes: weights in one tensor and products joined as in "
                                       "torch.nn.MultiheadAttention; no: q, k, v, o each for itself" },
    [ROTARY]      = { .name     = "rotary",
                      .kind     = LM_BOOL,
                      .fallback = "no",
                      .doc      = "turn queries and keys by angles that depend on their places" },
    [DROPOUT]     = ATTENTION_DROPOUT,
};

/* Sizes of the layer. */
typedef struct heads {
    attention core;
    int64_t   q_width, kv_width;                 /* all heads side by side */
    int64_t   input_width[3];                    /* of query, key, value */
    uint32_t  input[3];                          /* their numbers among the layer's inputs */
    bool      bias, output_bias, packed, rotary; /* packed: only if the widths allow it */
} heads;

enum { Q, K, V };

static lm_status check_inputs(const lm_layer *layer)
{
    for (uint32_t i = 0; i < layer->n_inputs; i++) {
        const lm_tensor *t = &layer->input[i], *first = &layer->input[0];
        const lm_status  status = input_real(layer, i);

        if (status)
            return status;
        if (t->rank != 3)
            return lm_fail(layer, LM_E_SHAPE, "input of rank %u, expected 3: batch, rows, width",
                           (unsigned)t->rank);
        if (t->dtype != first->dtype)
            return lm_fail(layer, LM_E_SHAPE,
                           "inputs of different element types: put a cast before one of them");
        if (t->dim[0] != first->dim[0])
            return lm_fail(layer, LM_E_SHAPE, "%lld and %lld samples", (long long)first->dim[0],
                           (long long)t->dim[0]);
    }
    if (layer->n_inputs == 3 && layer->input[1].dim[1] != layer->input[2].dim[1])
        return lm_fail(layer, LM_E_SHAPE, "%lld keys, but %lld values",
                       (long long)layer->input[1].dim[1], (long long)layer->input[2].dim[1]);
    return LM_OK;
}

static lm_status check_heads(const lm_layer *layer, const heads *h)
{
    const int64_t width = h->input_width[Q];

    if (!lm_int(layer, HEAD_WIDTH) && width % h->core.heads)
        return lm_fail(layer, LM_E_SHAPE, "%lld elements do not divide into %lld heads",
                       (long long)width, (long long)h->core.heads);
    if (h->core.heads % h->core.kv_heads)
        return lm_fail(layer, LM_E_ARG, "%lld heads do not share %lld heads of keys evenly",
                       (long long)h->core.heads, (long long)h->core.kv_heads);
    if (h->rotary && h->core.width % 2)
        return lm_fail(layer, LM_E_ARG, "pairs of elements are turned: a head of %lld has no pairs",
                       (long long)h->core.width);
    if (lm_int(layer, PACKED) && (h->core.kv_heads != h->core.heads || width % h->q_width))
        return lm_fail(layer, LM_E_ARG,
                       "packed weights have as many heads of keys as of queries, which together "
                       "are as wide as the input, or a whole part of it: set packed = no");
    return LM_OK;
}

static lm_status heads_of(const lm_layer *layer, heads *out)
{
    const lm_status status      = check_inputs(layer);
    heads           h           = { .bias   = lm_int(layer, BIAS),
                                    .rotary = lm_int(layer, ROTARY),
                                    .input  = { 0, layer->n_inputs > 1, layer->n_inputs - 1 } };
    const int64_t   output_bias = lm_int(layer, OUTPUT_BIAS);

    if (status)
        return status;
    h.output_bias = output_bias == AS_BIAS ? h.bias : output_bias == YES;
    for (uint32_t i = Q; i <= V; i++)
        h.input_width[i] = layer->input[h.input[i]].dim[2];
    h.core = (attention){
        .dtype    = layer->input[0].dtype,
        .batch    = layer->input[0].dim[0],
        .heads    = lm_int(layer, HEADS),
        .kv_heads = lm_int(layer, lm_int(layer, KV_HEADS) ? KV_HEADS : HEADS),
        .queries  = layer->input[0].dim[1],
        .keys     = layer->input[h.input[K]].dim[1],
        .causal   = lm_int(layer, CAUSAL),
        .flash    = lm_int(layer, MEMORY) == ATTENTION_FLASH,
        .dropout  = lm_real(layer, DROPOUT) > 0,
    };
    h.core.width = h.core.value_width =
        lm_int(layer, HEAD_WIDTH) ? lm_int(layer, HEAD_WIDTH) : h.input_width[Q] / h.core.heads;
    h.q_width  = h.core.heads * h.core.width;
    h.kv_width = h.core.kv_heads * h.core.width;
    h.packed   = lm_int(layer, PACKED) && h.input_width[K] == h.input_width[Q] &&
               h.input_width[V] == h.input_width[Q];
    *out = h;
    return check_heads(layer, &h);
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    heads           h;
    const lm_status status = heads_of(layer, &h);

    if (!status)
        output[0] = layer->input[0];
    return status;
}

/* ---- weights --------------------------------------------------------------------------------- */

static void emit_matrix(const heads *h, lm_sink *sink, const char *role, int64_t out, int64_t in)
{
    emit_weight(sink, (lm_weight){ .role = role, .tensor = { h->core.dtype, 2, { out, in }, 0 } });
}

static void emit_vector(const heads *h, lm_sink *sink, const char *role, int64_t n, bool present)
{
    if (present)
        emit_weight(sink, (lm_weight){ .role = role, .tensor = { h->core.dtype, 1, { n }, 0 } });
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    static const char *const alone[]  = { "q.weight", "k.weight", "v.weight" };
    static const char *const biases[] = { "q.bias", "k.bias", "v.bias" };
    static const char *const apart[]  = { "q_proj_weight", "k_proj_weight", "v_proj_weight" };
    const bool               joined   = lm_int(layer, PACKED);
    heads                    h;
    const lm_status          status = heads_of(layer, &h);

    if (status)
        return status;
    if (h.packed)
        emit_matrix(&h, sink, "in_proj_weight", 3 * h.q_width, h.input_width[Q]);
    for (uint32_t i = Q; i <= V && !h.packed; i++) {
        const int64_t out = i == Q ? h.q_width : h.kv_width;

        emit_matrix(&h, sink, joined ? apart[i] : alone[i], out, h.input_width[i]);
        emit_vector(&h, sink, biases[i], out, h.bias && !joined);
    }
    emit_vector(&h, sink, "in_proj_bias", 3 * h.q_width, h.bias && joined);
    emit_matrix(&h, sink, joined ? "out_proj.weight" : "o.weight", h.input_width[Q], h.q_width);
    emit_vector(&h, sink, joined ? "out_proj.bias" : "o.bias", h.input_width[Q], h.output_bias);
    return LM_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Projections of one input. Packed ones are a single product. */
typedef struct projection {
    uint32_t input;
    dense    product;
} projection;

static uint32_t projections_of(const heads *h, projection out[3])
{
    uint32_t n = 0;

    for (uint32_t i = Q; i <= V; i++) {
        const int64_t width = i == Q ? h->q_width : h->kv_width;
        const int64_t rows  = i == Q ? h->core.queries : h->core.keys;

        if (h->packed && n && out[n - 1].input == h->input[i])
            out[n - 1].product.out += width;
        else
            out[n++] = (projection){ h->input[i],
                                     { h->core.dtype,
                                       (int64_t)lm_mul((uint64_t)h->core.batch, (uint64_t)rows),
                                       h->input_width[i], width, h->bias, 1 } };
    }
    return n;
}

static dense output_of(const heads *h)
{
    return (
        dense){ h->core.dtype,  (int64_t)lm_mul((uint64_t)h->core.batch, (uint64_t)h->core.queries),
                h->q_width,     h->input_width[Q],
                h->output_bias, 1 };
}

static uint64_t elements_of(const heads *h, bool keys)
{
    return lm_mul((uint64_t)h->core.batch, lm_mul((uint64_t)(keys ? h->core.keys : h->core.queries),
                                                  (uint64_t)(keys ? h->kv_width : h->q_width)));
}

/* Su et al. 2021 (RoFormer), eq. 34: x cos + turned x sin, for each element 2 products and a sum;
 * backward the same with the angle reversed. The tables of sines are small beside x. */
static void emit_rotation(const heads *h, lm_pass pass, lm_sink *sink)
{
    for (int keys = 0; keys <= 1 && h->rotary; keys++)
        emit(sink, (lm_kernel){ .op    = LM_OP_MAP,
                                .pass  = pass,
                                .dtype = h->core.dtype,
                                .u.map = { .elements          = (int64_t)elements_of(h, keys),
                                           .operands          = 1,
                                           .flops_per_element = 3 } });
}

/* Sums the gradients of an input with several projections. */
static void emit_input_sums(const lm_layer *layer, const projection *p, uint32_t n, lm_sink *sink)
{
    for (uint32_t input = 0; input < layer->n_inputs; input++) {
        uint32_t uses = 0;

        for (uint32_t i = 0; i < n; i++)
            uses += p[i].input == input;
        if (uses > 1 && lm_wants_gradient(layer, input))
            emit(sink,
                 (lm_kernel){ .op     = LM_OP_MAP,
                              .pass   = LM_GRAD_INPUT,
                              .dtype  = layer->input[input].dtype,
                              .repeat = uses - 1,
                              .u.map  = { .elements = (int64_t)lm_elements(&layer->input[input]),
                                          .operands = 2,
                                          .flops_per_element = 1 } });
    }
}

static bool wants_any(const lm_layer *layer)
{
    for (uint32_t i = 0; i < layer->n_inputs; i++)
        if (lm_wants_gradient(layer, i))
            return true;
    return false;
}

/* Kernels of a pass. The gradient through the output's projection and the attention belongs to
 * LM_GRAD_WEIGHT if only weights need it. */
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_pass   through = wants_any(layer) ? LM_GRAD_INPUT : LM_GRAD_WEIGHT;
    projection      p[3];
    uint32_t        n;
    dense           output;
    heads           h;
    const lm_status status = heads_of(layer, &h);

    if (status)
        return status;
    n      = projections_of(&h, p);
    output = output_of(&h);
    if (pass == through) {
        emit_dense(sink, pass, LM_GRAD_INPUT, &output);
        attention_backward(&h.core, pass, ATTENTION_ALL, sink);
        emit_rotation(&h, pass, sink);
    }
    for (uint32_t i = 0; i < n; i++)
        if (pass != LM_GRAD_INPUT || lm_wants_gradient(layer, p[i].input))
            emit_dense(sink, pass, pass, &p[i].product);
    switch ((enum lm_passes)pass) {
    case LM_FORWARD:
        emit_rotation(&h, pass, sink);
        attention_forward(&h.core, sink);
        emit_dense(sink, pass, pass, &output);
        break;
    case LM_GRAD_INPUT: emit_input_sums(layer, p, n, sink); break;
    case LM_GRAD_WEIGHT: emit_dense(sink, pass, pass, &output); break;
    case LM_N_PASSES: break;
    }
    return LM_OK;
}

/* Queries, keys (rotated if asked for), values, and the input of the output's projection. */
static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    heads           h;
    const lm_status status = heads_of(layer, &h);
    uint64_t        elements;

    if (status)
        return status;
    elements = lm_mul(2, elements_of(&h, false));
    if (!attention_repeats(&h.core))
        elements = lm_add(elements, lm_mul(2, elements_of(&h, true)));
    cost->keeps = LM_KEEPS_INPUT;
    cost->saved_bytes =
        lm_add(lm_mul(elements, lm_dtype_bytes(h.core.dtype)), attention_saved_bytes(&h.core));
    return cost_of_kernels(layer, cost);
}

/* A rank has some heads: columns of the projections before them, rows of the one behind them. */
static lm_status split(const lm_layer *layer, lm_split *s)
{
    heads     h;
    lm_status status = heads_of(layer, &h);

    if (status)
        return status;
    if (s->way != LM_HEADS)
        return split_refused(layer);
    s->sums                     = LM_SUMS_INPUT | LM_SUMS_OUTPUT;
    s->param[HEAD_WIDTH].u.i[0] = h.core.width;
    status                      = split_evenly(layer, s, HEADS, 0, "heads");
    if (!status && lm_int(layer, KV_HEADS))
        status = split_kv_heads(layer, s, KV_HEADS);
    return status;
}

const lm_layer_type attention_multi_head = {
    .size = sizeof(lm_layer_type),
    .name = "multi_head_attention",
    .doc = "attention of an input to itself; of the first to the second; or of queries to keys and "
           "values",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 3,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
    .weights    = weights,
    .lower      = lower,
    .split      = split,
};
