/* scaled_dot_product_attention: attention on given queries, keys and values, as
 * torch.nn.functional.scaled_dot_product_attention. */
#include "attention.h"
#include "splitting.h"

enum { HEADS, KV_HEADS, CAUSAL, MEMORY, DROPOUT, PAST, RING, VALUES };
enum { APART, IN_KEYS }; /* of VALUES */
enum { Q, K, V };

static const lm_param params[] = {
    [HEADS]    = { .name     = "heads",
                   .kind     = LM_INT,
                   .min      = 0,
                   .max      = 1e6,
                   .fallback = "0",
                   .doc      = "into which the last dimension of N,L,E inputs is cut; 0: inputs are "
                                  "N,H,L,D" },
    [KV_HEADS] = { .name     = "kv_heads",
                   .kind     = LM_INT,
                   .min      = 0,
                   .max      = 1e6,
                   .fallback = "0",
                   .doc = "of keys and values, of N,L,E inputs; divides `heads`; 0: as `heads`" },
    [CAUSAL]   = ATTENTION_CAUSAL,
    [MEMORY]   = ATTENTION_MEMORY,
    [DROPOUT]  = ATTENTION_DROPOUT,
    [PAST]     = { .name     = "past",
                   .kind     = LM_INT,
                   .min      = 0,
                   .max      = 1e9,
                   .fallback = "0",
                   .doc = "with `causal`: tokens before the only one, whose keys and values lie in a "
                              "cache; it sees them all, and writes its own behind them" },
    [RING]     = { .name     = "ring",
                   .kind     = LM_INT,
                   .min      = 1,
                   .max      = 1e6,
                   .fallback = "1",
                   .doc = "devices that share the tokens evenly and hand keys and values on: this is "
                              "the layer of one of them, which sees an equal part of all pairs" },
    [VALUES]   = { .name     = "values",
                   .kind     = LM_ENUM,
                   .choices  = "apart|in_keys",
                   .fallback = "apart",
                   .doc =
                       "in_keys: the values are the first elements of the keys, so a cache has keys "
                         "only, as of latent attention (DeepSeek-AI 2024, arXiv:2405.04434, "
                         "section 2.1)" },
};

/* An input as samples, heads, rows and width of a row. */
typedef struct rows {
    int64_t samples, heads, rows, width;
} rows;

static lm_status rows_of(const lm_layer *layer, uint32_t input, rows *out)
{
    const lm_tensor *t     = &layer->input[input];
    int64_t          heads = lm_int(layer, HEADS);

    if (!heads) {
        *out = (rows){ t->dim[0], t->dim[1], t->dim[2], t->dim[3] };
        return LM_OK;
    }
    if (input != Q && lm_int(layer, KV_HEADS))
        heads = lm_int(layer, KV_HEADS);
    if (t->dim[2] % heads)
        return lm_fail(layer, LM_E_SHAPE, "%lld elements do not divide into %lld heads",
                       (long long)t->dim[2], (long long)heads);
    *out = (rows){ t->dim[0], heads, t->dim[1], t->dim[2] / heads };
    return LM_OK;
}

static lm_status check_inputs(const lm_layer *layer)
{
    const uint32_t rank = lm_int(layer, HEADS) ? 3 : 4;

    for (uint32_t i = Q; i <= V; i++) {
        const lm_status status = input_real(layer, i);

        if (status)
            return status;
        if (layer->input[i].rank != rank)
            return lm_fail(layer, LM_E_SHAPE, "input of rank %u, expected %u: %s",
                           (unsigned)layer->input[i].rank, (unsigned)rank,
                           rank == 4 ? "batch, heads, rows, width (or set `heads`)"
                                     : "batch, rows, heads times width (or leave out `heads`)");
        if (layer->input[i].dtype != layer->input[Q].dtype)
            return lm_fail(layer, LM_E_SHAPE,
                           "inputs of different element types: put a cast before one of them");
    }
    return LM_OK;
}

/* Refuses a cache with more than one query: the query is the last token of its sequence. */
static lm_status check_past(const lm_layer *layer, int64_t queries, int64_t keys)
{
    if (!lm_int(layer, PAST))
        return LM_OK;
    if (!lm_int(layer, CAUSAL))
        return lm_fail(layer, LM_E_SHAPE, "past = %lld: goes with causal = yes",
                       (long long)lm_int(layer, PAST));
    if (queries != 1 || keys != 1)
        return lm_fail(layer, LM_E_SHAPE,
                       "past = %lld: goes with one query and one key, not %lld and %lld",
                       (long long)lm_int(layer, PAST), (long long)queries, (long long)keys);
    return LM_OK;
}

/* Refuses a ring that is not fused, has a cache, or, if causal, does not divide into two equal
 * halves. */
static lm_status check_ring(const lm_layer *layer, int64_t queries, int64_t keys)
{
    const long long ring = lm_int(layer, RING);

    if (ring == 1)
        return LM_OK;
    if (lm_int(layer, MEMORY) != ATTENTION_FLASH || lm_int(layer, PAST))
        return lm_fail(layer, LM_E_SHAPE, "ring = %lld: goes with memory = flash and past = 0",
                       ring);
    if (lm_int(layer, CAUSAL) && (queries != keys || keys % 2))
        return lm_fail(layer, LM_E_SHAPE,
                       "ring = %lld: %lld causal queries of %lld keys are no two halves of as many",
                       ring, (long long)queries, (long long)keys);
    return LM_OK;
}

static lm_status attention_of(const lm_layer *layer, attention *out)
{
    rows      q = { 0 }, k = { 0 }, v = { 0 };
    lm_status status = check_inputs(layer);

    if (status || (status = rows_of(layer, Q, &q)) || (status = rows_of(layer, K, &k)) ||
        (status = rows_of(layer, V, &v)))
        return status;
    if (q.samples != k.samples || k.samples != v.samples)
        return lm_fail(layer, LM_E_SHAPE, "%lld, %lld and %lld samples", (long long)q.samples,
                       (long long)k.samples, (long long)v.samples);
    if (k.heads != v.heads || k.rows != v.rows)
        return lm_fail(layer, LM_E_SHAPE, "%lld heads of %lld keys, but %lld heads of %lld values",
                       (long long)k.heads, (long long)k.rows, (long long)v.heads,
                       (long long)v.rows);
    if (q.width != k.width)
        return lm_fail(layer, LM_E_SHAPE, "queries of %lld elements, keys of %lld",
                       (long long)q.width, (long long)k.width);
    if (q.heads % k.heads)
        return lm_fail(layer, LM_E_SHAPE, "%lld heads do not share %lld heads of keys evenly",
                       (long long)q.heads, (long long)k.heads);
    if (lm_int(layer, VALUES) == IN_KEYS && (v.width > k.width || !lm_int(layer, PAST)))
        return lm_fail(
            layer, LM_E_SHAPE,
            "values = in_keys: goes with past, and values of at most %lld elements, not %lld",
            (long long)k.width, (long long)v.width);
    if ((status = check_past(layer, q.rows, k.rows)) ||
        (status = check_ring(layer, q.rows, k.rows)))
        return status;
    *out = (attention){ .dtype       = layer->input[Q].dtype,
                        .batch       = q.samples,
                        .heads       = q.heads,
                        .kv_heads    = k.heads,
                        .queries     = q.rows,
                        .keys        = k.rows + lm_int(layer, PAST),
                        .past        = lm_int(layer, PAST),
                        .ring        = lm_int(layer, RING),
                        .width       = q.width,
                        .value_width = v.width,
                        .causal      = lm_int(layer, CAUSAL) && !lm_int(layer, PAST),
                        .flash       = lm_int(layer, MEMORY) == ATTENTION_FLASH,
                        .dropout     = lm_real(layer, DROPOUT) > 0,
                        .latent      = lm_int(layer, VALUES) == IN_KEYS };
    return LM_OK;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    lm_tensor       out = layer->input[Q];
    attention       a;
    const lm_status status = attention_of(layer, &a);

    if (status)
        return status;
    out.dim[out.rank - 1] =
        out.rank == 4 ? a.value_width : (int64_t)lm_mul((uint64_t)a.heads, (uint64_t)a.value_width);
    output[0] = out;
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    attention       a;
    unsigned        wanted = 0;
    const lm_status status = attention_of(layer, &a);

    if (status)
        return status;
    for (uint32_t i = Q; i <= V; i++)
        wanted |= (unsigned)lm_wants_gradient(layer, i) << i;
    if (pass == LM_FORWARD)
        attention_forward(&a, sink);
    else if (pass == LM_GRAD_INPUT)
        attention_backward(&a, pass, wanted, sink);
    return LM_OK;
}

/* Bytes of keys and values that a rank passes on. */
static uint64_t chunk_bytes(const lm_layer *layer)
{
    return lm_add(lm_bytes(&layer->input[K]), lm_bytes(&layer->input[V]));
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    attention       a;
    const lm_status status = attention_of(layer, &a);

    if (status)
        return status;
    cost->keeps       = a.flash                 ? LM_KEEPS_INPUT | LM_KEEPS_OUTPUT
                        : attention_repeats(&a) ? LM_KEEPS_ONE(Q)
                                                : LM_KEEPS_INPUT;
    cost->saved_bytes = attention_saved_bytes(&a);
    if (a.ring > 1) /* the incoming chunk, beside the one in use */
        cost->workspace_bytes = lm_mul(2, chunk_bytes(layer));
    cost->cached_bytes = attention_cached_bytes(&a);
    return cost_of_kernels(layer, cost);
}

static lm_status split_ring(const lm_layer *layer, lm_split *s)
{
    if (lm_int(layer, MEMORY) != ATTENTION_FLASH || lm_int(layer, PAST))
        return lm_fail(layer, LM_E_SHAPE,
                       "a ring of %lld ranks takes fused attention (memory = flash): or "
                       "--cp-kind ulysses",
                       (long long)s->parts);
    s->param[RING].u.i[0] = s->parts;
    s->exchanged_bytes    = chunk_bytes(layer);
    s->exchanges          = (uint32_t)s->parts - 1;
    return LM_OK;
}

/* All-to-alls of queries, keys, values and output (Jacobs et al. 2023, arXiv:2309.14509, section
 * 3). */
static lm_status exchange_heads(const lm_layer *layer, lm_split *s)
{
    lm_tensor       out;
    const lm_status status = infer(layer, &out);

    if (status)
        return status;
    s->exchanges = 4;
    for (uint32_t i = 0; i < 3; i++)
        s->sizes[i] = lm_bytes(&layer->input[i]);
    s->sizes[3]        = lm_bytes(&out);
    s->exchanged_bytes = s->sizes[3];
    return LM_OK;
}

/* A rank's inputs have some heads only. Inputs of N,H,L,D show it by their shape. */
static lm_status split(const lm_layer *layer, lm_split *s)
{
    lm_status status = LM_OK;

    if (s->way == LM_RING)
        return split_ring(layer, s);
    if (s->way != LM_HEADS && s->way != LM_ULYSSES)
        return split_refused(layer);
    if (s->way == LM_ULYSSES && (status = exchange_heads(layer, s)))
        return status;
    if (lm_int(layer, HEADS))
        status = split_evenly(layer, s, HEADS, 0, "heads");
    if (!status && lm_int(layer, KV_HEADS))
        status = split_kv_heads(layer, s, KV_HEADS);
    return status;
}

const lm_layer_type attention_scaled_dot_product = {
    .size = sizeof(lm_layer_type),
    .name = "scaled_dot_product_attention",
    .doc  = "attention of queries to keys and values, its three inputs",
    LM_PARAMS(params),
    .min_inputs = 3,
    .max_inputs = 3,
    .n_outputs  = 1,
    .flags      = LM_FUNCTIONAL,
    .infer      = infer,
    .cost       = cost,
    .lower      = lower,
    .split      = split,
};
