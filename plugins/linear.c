/* linear, bilinear: fully connected layers on the last dimension, as in torch.nn. */
#include "dense.h"
#include "inputs.h"
#include "splitting.h"
#include "tensors.h"

enum { FEATURES, BIAS, HEADS, GROUPS };

#define FEATURES_AND_BIAS                                                                         \
    [FEATURES] = { .name = "features",                                                            \
                   .kind = LM_INT,                                                                \
                   .min  = 1,                                                                     \
                   .max  = 1e9,                                                                   \
                   .unit = "elements",                                                            \
                   .doc  = "size of the output's last dimension" },                                \
    [BIAS]     = {                                                                                \
            .name = "bias", .kind = LM_BOOL, .fallback = "yes", .doc = "add a number per feature" \
    }

static const lm_param linear_params[] = {
    FEATURES_AND_BIAS,
    [HEADS]  = { .name     = "heads",
                 .kind     = LM_INT,
                 .min      = 0,
                 .max      = 1e6,
                 .fallback = "0",
                 .doc      = "of keys or values that the features are: with `split = columns` ranks "
                              "beyond their number hold copies of a head; 0: features only" },
    [GROUPS] = { .name     = "groups",
                 .kind     = LM_INT,
                 .min      = 1,
                 .max      = 1e6,
                 .fallback = "1",
                 .doc = "into which inputs and features are cut: each group of features sees its "
                        "own inputs, as heads with a matrix each do" },
};

static const lm_param bilinear_params[] = { FEATURES_AND_BIAS };

static int64_t features_in(const lm_layer *layer, uint32_t i)
{
    return layer->input[i].dim[layer->input[i].rank - 1];
}

/* Rows of the product: all dimensions except the last. */
static int64_t rows_of(const lm_layer *layer)
{
    return (int64_t)tensor_span(&layer->input[0], 0, layer->input[0].rank - 1);
}

/* The product with so many columns over the features of input i. */
static dense dense_of(const lm_layer *layer, uint32_t i, int64_t columns, int64_t bias)
{
    return (dense){ .dtype = layer->input[0].dtype,
                    .rows  = rows_of(layer),
                    .in    = features_in(layer, i),
                    .out   = columns,
                    .bias  = bias != 0 };
}

static void emit_weights(const lm_layer *layer, lm_sink *sink, lm_tensor weight)
{
    emit_weight(sink, (lm_weight){ .role = "weight", .tensor = weight });
    if (lm_int(layer, BIAS))
        emit_weight(sink, (lm_weight){ .role   = "bias",
                                       .tensor = { .dtype = weight.dtype,
                                                   .rank  = 1,
                                                   .dim   = { lm_int(layer, FEATURES) } } });
}

/* ---- linear ---------------------------------------------------------------------------------- */

static int64_t inputs_of_group(const lm_layer *layer)
{
    return features_in(layer, 0) / lm_int(layer, GROUPS);
}

static lm_status linear_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_status status = input_rank(layer, 2, LM_MAX_RANK, "batch, ..., features");

    if (status)
        return status;
    if (features_in(layer, 0) % lm_int(layer, GROUPS) ||
        lm_int(layer, FEATURES) % lm_int(layer, GROUPS))
        return lm_fail(layer, LM_E_SHAPE,
                       "%lld inputs and %lld features do not divide into %lld groups",
                       (long long)features_in(layer, 0), (long long)lm_int(layer, FEATURES),
                       (long long)lm_int(layer, GROUPS));
    output[0]                         = layer->input[0];
    output[0].dim[output[0].rank - 1] = lm_int(layer, FEATURES);
    return LM_OK;
}

static lm_status linear_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const int64_t groups = lm_int(layer, GROUPS);
    dense         d = dense_of(layer, 0, lm_int(layer, FEATURES) / groups, lm_int(layer, BIAS));

    d.in = inputs_of_group(layer);
    emit_grouped(sink, pass, pass, &d, groups);
    return LM_OK;
}

static lm_status linear_cost(const lm_layer *layer, lm_cost *cost)
{
    cost->keeps = LM_KEEPS_INPUT;
    return cost_of_kernels(layer, cost);
}

static lm_status linear_weights(const lm_layer *layer, lm_sink *sink)
{
    emit_weights(layer, sink,
                 (lm_tensor){ .dtype = layer->input[0].dtype,
                              .rank  = 2,
                              .dim   = { lm_int(layer, FEATURES), inputs_of_group(layer) } });
    return LM_OK;
}

/* Some groups, with their inputs. */
static lm_status split_groups(const lm_layer *layer, lm_split *s)
{
    const lm_status status = split_evenly(layer, s, GROUPS, 0, "groups");

    return status ? status : split_evenly(layer, s, FEATURES, 0, "features");
}

/* Some columns; of more ranks than heads each has the columns of one (split_kv_heads()). */
static lm_status split_columns(const lm_layer *layer, lm_split *s)
{
    const int64_t heads = lm_int(layer, HEADS), features = lm_int(layer, FEATURES);

    if (!heads || heads >= s->parts || s->parts % heads)
        return split_evenly(layer, s, FEATURES, 0, "features");
    if (features % heads)
        return lm_fail(layer, LM_E_SHAPE, "%lld features are no multiple of %lld heads",
                       (long long)features, (long long)heads);
    s->param[FEATURES].u.i[0] = features / heads;
    s->param[HEADS].u.i[0]    = 1;
    return LM_OK;
}

/* Megatron-LM's column and row parallel layers (Shoeybi et al. 2019, section 3). */
static lm_status linear_split(const lm_layer *layer, lm_split *s)
{
    if (s->way == LM_HEADS && lm_int(layer, GROUPS) > 1)
        return split_groups(layer, s);
    if (lm_int(layer, GROUPS) > 1)
        return split_refused(layer);
    switch ((enum lm_ways)s->way) {
    case LM_ROWS: s->sums = LM_SUMS_OUTPUT; return LM_OK;
    case LM_COLUMNS: s->sums = LM_SUMS_INPUT; return split_columns(layer, s);
    case LM_VOCABULARY:
        s->sums = LM_SUMS_INPUT;
        split_about(s, FEATURES, 0);
        return LM_OK;
    case LM_WHOLE:
    case LM_HEADS:
    case LM_TOKENS:
    case LM_RING:
    case LM_ULYSSES:
    case LM_EXPERTS:
    case LM_ROUTED: break;
    }
    return split_refused(layer);
}

#define bilinear_split NULL

/* ---- bilinear: y_k = a^T W_k b + c_k --------------------------------------------------------- */

static lm_status bilinear_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *a = &layer->input[0], *b = &layer->input[1];
    lm_status        status = input_rank(layer, 2, LM_MAX_RANK, "batch, ..., features");

    if (!status)
        status = input_real(layer, 1);
    if (status)
        return status;
    if (a->dtype != b->dtype)
        return lm_fail(layer, LM_E_SHAPE, "inputs of different element types");
    if (a->rank != b->rank)
        return lm_fail(layer, LM_E_SHAPE, "inputs of rank %u and %u", (unsigned)a->rank,
                       (unsigned)b->rank);
    for (uint32_t d = 0; d + 1 < a->rank; d++)
        if (a->dim[d] != b->dim[d])
            return lm_fail(layer, LM_E_SHAPE, "%lld and %lld elements do not fit in dimension %u",
                           (long long)a->dim[d], (long long)b->dim[d], (unsigned)d);
    output[0]                  = *a;
    output[0].dim[a->rank - 1] = lm_int(layer, FEATURES);
    return LM_OK;
}

/* Length of a row of pairs: the products of a row with the matrix of each feature, or the gradient
 * of each feature times the row. */
static int64_t pairs_of(const lm_layer *layer, uint32_t i)
{
    return (int64_t)lm_mul((uint64_t)lm_int(layer, FEATURES), (uint64_t)features_in(layer, i));
}

static void emit_pairs(const lm_layer *layer, lm_pass pass, lm_sink *sink, uint32_t i)
{
    const uint64_t rows = (uint64_t)rows_of(layer);
    const uint64_t row  = (uint64_t)lm_int(layer, FEATURES) + (uint64_t)features_in(layer, i);

    emit(sink,
         (lm_kernel){ .op    = LM_OP_MAP,
                      .pass  = pass,
                      .dtype = layer->input[0].dtype,
                      .u.map = { .elements = (int64_t)lm_mul(rows, (uint64_t)pairs_of(layer, i)),
                                 .operands = 2,
                                 .flops_per_element = 1,
                                 .reads             = (int64_t)lm_mul(rows, row) } });
}

/* Forward: a W for all features at once, then the product of each row with b, both activations. */
static void bilinear_forward(const lm_layer *layer, lm_sink *sink)
{
    const dense d = dense_of(layer, 0, pairs_of(layer, 1), 0);

    emit_dense(sink, LM_FORWARD, LM_FORWARD, &d);
    emit(sink, (lm_kernel){ .op     = LM_OP_GEMM,
                            .pass   = LM_FORWARD,
                            .dtype  = d.dtype,
                            .u.gemm = { .batch       = d.rows,
                                        .m           = 1,
                                        .n           = lm_int(layer, FEATURES),
                                        .k           = features_in(layer, 1),
                                        .bias        = lm_int(layer, BIAS),
                                        .activations = 1 } });
}

/* Backward with pairs dy b: da = (dy b) W^T, dW = (dy b)^T a. db likewise, with dy a. */
static lm_status bilinear_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const int64_t features = lm_int(layer, FEATURES);

    if (pass == LM_FORWARD)
        bilinear_forward(layer, sink);
    for (uint32_t i = 0; i < 2 && pass != LM_FORWARD; i++) {
        const dense d = dense_of(layer, i, pairs_of(layer, 1 - i), 0);

        if (pass == LM_GRAD_WEIGHT ? i == 0 : lm_wants_gradient(layer, i)) {
            emit_pairs(layer, pass, sink, 1 - i);
            emit_dense(sink, pass, pass, &d);
        }
    }
    if (pass == LM_GRAD_WEIGHT && lm_int(layer, BIAS))
        emit(sink, (lm_kernel){ .op       = LM_OP_REDUCE,
                                .pass     = pass,
                                .dtype    = layer->input[0].dtype,
                                .u.reduce = { features, rows_of(layer), features } });
    return LM_OK;
}

static lm_status bilinear_cost(const lm_layer *layer, lm_cost *cost)
{
    const int64_t a = features_in(layer, 0), b = features_in(layer, 1), longer = a > b ? a : b;

    cost->keeps           = LM_KEEPS_INPUT;
    cost->workspace_bytes = lm_mul(lm_bytes(&layer->output[0]), (uint64_t)longer); /* the pairs */
    return cost_of_kernels(layer, cost);
}

static lm_status bilinear_weights(const lm_layer *layer, lm_sink *sink)
{
    emit_weights(layer, sink,
                 (lm_tensor){ .dtype = layer->input[0].dtype,
                              .rank  = 3,
                              .dim   = { lm_int(layer, FEATURES), features_in(layer, 0),
                                         features_in(layer, 1) } });
    return LM_OK;
}

#define LINEAR(ident, n, type_doc)       \
    static const lm_layer_type ident = { \
        .size = sizeof(lm_layer_type),   \
        .name = #ident,                  \
        .doc  = type_doc,                \
        LM_PARAMS(ident##_params),       \
        .min_inputs = (n),               \
        .max_inputs = (n),               \
        .n_outputs  = 1,                 \
        .infer      = ident##_infer,     \
        .cost       = ident##_cost,      \
        .weights    = ident##_weights,   \
        .lower      = ident##_lower,     \
        .split      = ident##_split,     \
    }

LINEAR(linear, 1, "product with a weight matrix along the last dimension");
LINEAR(bilinear, 2, "product of two inputs with a weight matrix for each feature between them");

static const lm_layer_type *const types[] = { &linear, &bilinear };

LM_PLUGIN = {
    .name    = "layermeter-linear",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
