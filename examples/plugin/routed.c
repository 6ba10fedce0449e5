/* routed: a mixture of experts, each of two linear layers with a ReLU between; a router sends every
 * token to some of them (Shazeer et al. 2017, arXiv:1701.06538, section 2).
 *
 * Shows a layer with two outputs (the second has the router's scores, for a balancing loss), experts
 * with unequal numbers of tokens, and ranks that exchange tokens within the layer. */
#include <layermeter/plugin.h>

enum { EXPERTS, TOP_K, HIDDEN, SKEW, RANKS };

#define WHOLE .kind = LM_INT, .min = 1, .max = 1e6

static const lm_param params[] = {
    [EXPERTS] = { .name = "experts", WHOLE, .doc = "networks to choose from" },
    [TOP_K]   = { .name = "top_k", WHOLE, .fallback = "1", .doc = "experts of each token" },
    [HIDDEN]  = { .name = "hidden", WHOLE, .doc = "elements between an expert's linear layers" },
    [SKEW]    = { .name     = "skew",
                  .kind     = LM_REAL,
                  .min      = 1,
                  .max      = 1e6,
                  .fallback = "1",
                  .doc      = "tokens of the fullest expert, of the mean" },
    [RANKS]   = { .name = "ranks",
                  WHOLE,
                  .fallback = "1",
                  .doc      = "devices that share the experts: this is the layer of one of them" },
};

typedef struct sizes {
    lm_dtype dtype;
    int64_t  tokens, width, experts, held, rows, hidden;
    double   skew;
} sizes;

static int64_t times(int64_t a, int64_t b)
{
    const uint64_t n = lm_mul((uint64_t)a, (uint64_t)b);

    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static sizes sizes_of(const lm_layer *layer)
{
    const lm_tensor *in = &layer->input[0];
    sizes            s  = { .dtype   = in->dtype,
                            .tokens  = 1,
                            .width   = in->dim[in->rank - 1],
                            .experts = lm_int(layer, EXPERTS),
                            .held    = lm_int(layer, EXPERTS) / lm_int(layer, RANKS),
                            .hidden  = lm_int(layer, HIDDEN),
                            .skew    = lm_real(layer, SKEW) };

    for (uint32_t d = 0; d + 1 < in->rank; d++)
        s.tokens = times(s.tokens, in->dim[d]);
    s.rows = times(s.tokens, lm_int(layer, TOP_K));
    return s;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in      = &layer->input[0];
    const int64_t    experts = lm_int(layer, EXPERTS);

    if (in->rank < 2 || in->dtype != layer->dtype)
        return lm_fail(layer, LM_E_SHAPE, "expects batch, ..., features of the network's own type");
    if (lm_int(layer, TOP_K) > experts)
        return lm_fail(layer, LM_E_ARG, "top_k %lld of %lld experts",
                       (long long)lm_int(layer, TOP_K), (long long)experts);
    if (experts % lm_int(layer, RANKS))
        return lm_fail(layer, LM_E_SHAPE, "%lld experts are no multiple of %lld ranks",
                       (long long)experts, (long long)lm_int(layer, RANKS));
    output[0] = output[1]       = *in;
    output[1].dim[in->rank - 1] = experts;
    return LM_OK;
}

static void matrix(lm_sink *sink, const sizes *s, const char *role, int64_t each, int64_t out,
                   int64_t in)
{
    lm_weight w = { .size   = sizeof w,
                    .role   = role,
                    .tensor = { .dtype = s->dtype, .rank = 2, .dim = { out, in } } };

    if (each) {
        w.tensor = (lm_tensor){ .dtype = s->dtype, .rank = 3, .dim = { each, out, in } };
        w.flags  = LM_EXPERT;
    }
    sink->weight(sink, &w);
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    const sizes s = sizes_of(layer);

    matrix(sink, &s, "router", 0, s.experts, s.width);
    matrix(sink, &s, "up", s.held, s.hidden, s.width);
    matrix(sink, &s, "down", s.held, s.width, s.hidden);
    return LM_OK;
}

/* ---- kernels: sent to a sink, or added up --------------------------------------------------- */

typedef struct emitter {
    lm_sink *sink; /* NULL: add up */
    lm_pass  pass;
    sizes    s;
    lm_work  sum;
} emitter;

static void emit(emitter *e, lm_kernel k)
{
    lm_work w;

    k.size   = sizeof k;
    k.pass   = e->pass;
    k.dtype  = e->s.dtype;
    k.repeat = 1;
    if (e->sink) {
        e->sink->kernel(e->sink, &k);
        return;
    }
    w      = lm_kernel_work(&k);
    e->sum = (lm_work){ lm_add(e->sum.flops, w.flops), lm_add(e->sum.read_bytes, w.read_bytes),
                        lm_add(e->sum.written_bytes, w.written_bytes) };
}

/* This pass's product of `rows` rows with each of `matrices` equal matrices. */
static void emit_product(emitter *e, int64_t matrices, int64_t rows, int64_t in, int64_t out)
{
    lm_kernel k = { .op = LM_OP_GEMM };

    if (matrices < 1 || rows < 1)
        return;
    k.u.gemm.batch = matrices;
    k.u.gemm.m     = e->pass == LM_GRAD_WEIGHT ? out : rows;
    k.u.gemm.n     = e->pass == LM_FORWARD ? out : in;
    k.u.gemm.k     = e->pass == LM_FORWARD ? in : e->pass == LM_GRAD_INPUT ? out : rows;
    emit(e, k);
}

/* The fullest expert is a launch of its own; the others share what is left as evenly as they can. */
static void emit_experts(emitter *e, int64_t in, int64_t out)
{
    const sizes  *s      = &e->s;
    const int64_t others = s->held - 1, least = s->rows / s->held + (s->rows % s->held > 0);
    const double  full  = (double)s->rows / (double)s->held * s->skew;
    const int64_t most  = full < (double)s->rows && full < 0x1p62 ? (int64_t)full : s->rows;
    const int64_t first = others && most > least ? most : others ? least : s->rows;
    const int64_t left  = s->rows - first;

    emit_product(e, 1, first, in, out);
    if (!others)
        return;
    emit_product(e, left % others, left / others + 1, in, out);
    emit_product(e, others - left % others, left / others, in, out);
}

static void emit_map(emitter *e, int64_t elements, int64_t operands)
{
    emit(e, (lm_kernel){
                .op    = LM_OP_MAP,
                .u.map = { .elements = elements, .operands = operands, .flops_per_element = 1 } });
}

static void emit_rows(emitter *e)
{
    emit(e, (lm_kernel){ .op = LM_OP_GATHER, .u.gather = { e->s.rows, e->s.width, e->s.tokens } });
}

static void emit_all(emitter *e)
{
    const sizes *s = &e->s;

    emit_product(e, 1, s->tokens, s->width, s->experts); /* the router */
    if (e->pass != LM_GRAD_WEIGHT) {
        emit(e, (lm_kernel){ .op = LM_OP_SOFTMAX, .u.softmax = { s->tokens, s->experts } });
        emit_rows(e);                                                          /* to the experts */
        emit_map(e, times(s->rows, s->hidden), e->pass == LM_FORWARD ? 1 : 2); /* ReLU */
        emit_map(e, times(s->rows, s->width), 2);                              /* times the score */
        emit_rows(e);                                                          /* and back */
    }
    emit_experts(e, s->width, s->hidden);
    emit_experts(e, s->hidden, s->width);
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    emitter e = { .sink = sink, .pass = pass, .s = sizes_of(layer) };

    emit_all(&e);
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const sizes s = sizes_of(layer);

    for (lm_pass pass = 0; pass < LM_N_PASSES; pass++) {
        emitter e = { .pass = pass, .s = s };

        emit_all(&e);
        cost->pass[pass] = e.sum;
    }
    cost->keeps       = LM_KEEPS_INPUT | LM_KEEPS_OUTPUT;
    cost->saved_bytes = lm_mul(lm_mul((uint64_t)s.rows, (uint64_t)(s.width + s.hidden)),
                               lm_dtype_bytes(s.dtype)); /* gathered rows, and behind the ReLU */
    return LM_OK;
}

/* Each rank holds some experts: rows go there and come back. */
static lm_status split(const lm_layer *layer, lm_split *split)
{
    const sizes s = sizes_of(layer);

    if (split->way != LM_EXPERTS || lm_int(layer, RANKS) != 1)
        return lm_fail(layer, LM_E_UNSUPPORTED, "its experts are shared, and once");
    if (s.experts % split->parts)
        return lm_fail(layer, LM_E_SHAPE, "%lld experts do not divide by %lld ranks",
                       (long long)s.experts, (long long)split->parts);
    split->param[RANKS].u.i[0] = split->parts;
    split->exchanges           = 2;
    split->exchanged_bytes =
        lm_mul(lm_mul((uint64_t)s.rows, (uint64_t)s.width), lm_dtype_bytes(s.dtype));
    return LM_OK;
}

static const lm_layer_type routed = {
    .size = sizeof(lm_layer_type),
    .name = "routed",
    .doc  = "mixture of experts; the second output has the router's scores",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 2,
    .infer      = infer,
    .cost       = cost,
    .weights    = weights,
    .lower      = lower,
    .split      = split,
};

static const lm_layer_type *const types[] = { &routed };

LM_PLUGIN = {
    .name    = "layermeter-routed",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
