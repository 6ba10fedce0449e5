/* embedding, embedding_bag: rows of a learned table by their numbers, as torch.nn.Embedding and
 * torch.nn.EmbeddingBag with dense gradients. */
#include <stdbool.h>

#include "splitting.h"
#include "tensors.h"

enum { VOCABULARY, WIDTH, MODE }; /* MODE: of embedding_bag */
enum { SUM, MEAN, MAX };

#define TABLE_PARAMS                                             \
    [VOCABULARY] = { .name = "vocabulary",                       \
                     .kind = LM_INT,                             \
                     .min  = 1,                                  \
                     .max  = 1e12,                               \
                     .unit = "rows",                             \
                     .doc  = "of the table: numbers there are" }, \
    [WIDTH]      = { .name = "width",                            \
                     .kind = LM_INT,                             \
                     .min  = 1,                                  \
                     .max  = 1e9,                                \
                     .unit = "elements",                         \
                     .doc  = "of a row" }

static const lm_param embedding_params[] = { TABLE_PARAMS };

static const lm_param bag_params[] = {
    TABLE_PARAMS,
    [MODE] = { .name     = "mode",
               .kind     = LM_ENUM,
               .choices  = "sum|mean|max",
               .fallback = "mean",
               .doc      = "what becomes of the rows of a bag" },
};

static lm_status check_numbers(const lm_layer *layer)
{
    const lm_dtype dtype = layer->input[0].dtype;

    if (dtype != LM_I64 && dtype != LM_I32)
        return lm_fail(layer, LM_E_SHAPE,
                       "the input holds no numbers of i64 or i32: say so by `dtype =` of the layer "
                       "of type input");
    return LM_OK;
}

static lm_status embedding_infer(const lm_layer *layer, lm_tensor *output)
{
    lm_tensor       out    = layer->input[0];
    const lm_status status = check_numbers(layer);

    if (status)
        return status;
    if (out.rank == LM_MAX_RANK)
        return lm_fail(layer, LM_E_SHAPE, "an output of %d dimensions; at most %d are possible",
                       LM_MAX_RANK + 1, LM_MAX_RANK);
    out.dtype           = layer->dtype;
    out.dim[out.rank++] = lm_int(layer, WIDTH);
    output[0]           = out;
    return LM_OK;
}

static lm_status bag_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in     = &layer->input[0];
    const lm_status  status = check_numbers(layer);

    if (status)
        return status;
    if (in->rank != 2)
        return lm_fail(layer, LM_E_SHAPE, "input of rank %u, expected 2: batch, numbers in a bag",
                       (unsigned)in->rank);
    output[0] = (lm_tensor){ .dtype = layer->dtype,
                             .rank  = 2,
                             .dim   = { in->dim[0], lm_int(layer, WIDTH) } };
    return LM_OK;
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    emit_weight(sink, (lm_weight){ .role   = "weight",
                                   .tensor = { .dtype = layer->dtype,
                                               .rank  = 2,
                                               .dim   = { lm_int(layer, VOCABULARY),
                                                          lm_int(layer, WIDTH) } } });
    return LM_OK;
}

static lm_kernel kernel_of(const lm_layer *layer, lm_op op, lm_pass pass)
{
    return (lm_kernel){ .op = op, .pass = pass, .dtype = layer->dtype };
}

/* Emits the gradient of the whole table: zeros, to which the gradients of `rows` rows are added. */
static void emit_table_gradient(const lm_layer *layer, lm_sink *sink, uint64_t rows)
{
    const int64_t vocabulary = lm_int(layer, VOCABULARY), width = lm_int(layer, WIDTH);
    lm_kernel     zeros = kernel_of(layer, LM_OP_MAP, LM_GRAD_WEIGHT);
    lm_kernel     added = kernel_of(layer, LM_OP_GATHER, LM_GRAD_WEIGHT);

    zeros.u.map.elements      = (int64_t)lm_mul((uint64_t)vocabulary, (uint64_t)width);
    added.u.gather.rows       = (int64_t)rows;
    added.u.gather.width      = width;
    added.u.gather.table_rows = vocabulary;
    emit(sink, zeros);
    emit(sink, added);
}

static lm_status embedding_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const uint64_t rows = lm_elements(&layer->input[0]);
    lm_kernel      k    = kernel_of(layer, LM_OP_GATHER, pass);

    if (pass == LM_GRAD_WEIGHT)
        emit_table_gradient(layer, sink, rows);
    if (pass != LM_FORWARD)
        return LM_OK;
    k.u.gather.rows       = (int64_t)rows;
    k.u.gather.width      = lm_int(layer, WIDTH);
    k.u.gather.table_rows = lm_int(layer, VOCABULARY);
    emit(sink, k);
    return LM_OK;
}

/* Forward is a reduction: rows are summed while they are read, none is written. Backward each row
 * of a bag gets the bag's gradient, for a mean divided by their number. For a maximum each element
 * goes to the row that it came from. */
static lm_status bag_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_tensor *in   = &layer->input[0];
    const int64_t    bags = in->dim[0], width = lm_int(layer, WIDTH);
    const int64_t    elements = (int64_t)lm_elements(&layer->output[0]);
    lm_kernel        k        = kernel_of(layer, LM_OP_REDUCE, pass);

    if (pass == LM_FORWARD) {
        k.u.reduce.rows  = elements;
        k.u.reduce.group = in->dim[1];
        k.u.reduce.inner = width;
        emit(sink, k);
    }
    if (pass != LM_GRAD_WEIGHT)
        return LM_OK;
    if (lm_int(layer, MODE) == MEAN) {
        k                         = kernel_of(layer, LM_OP_MAP, pass);
        k.u.map.elements          = elements;
        k.u.map.operands          = 1;
        k.u.map.flops_per_element = 1;
        emit(sink, k);
    }
    emit_table_gradient(layer, sink, lm_int(layer, MODE) == MAX ? (uint64_t)bags : lm_elements(in));
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const bool has_mode = layer->n_params > MODE;

    cost->keeps = LM_KEEPS_INPUT;
    if (has_mode && lm_int(layer, MODE) == MAX) /* index of each maximum */
        cost->saved_bytes = lm_mul(8, lm_elements(&layer->output[0]));
    return cost_of_kernels(layer, cost);
}

#define TABLE(type_name, type_doc)                                                      \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = 1, \
    .max_inputs = 1, .n_outputs = 1, .cost = cost, .weights = weights

/* A rank yields zeros for rows that other ranks hold (Shoeybi et al. 2019, section 3). */
static lm_status embedding_split(const lm_layer *layer, lm_split *s)
{
    if (s->way == LM_COLUMNS)
        return split_evenly(layer, s, WIDTH, 0, "elements");
    if (s->way != LM_VOCABULARY)
        return split_refused(layer);
    s->sums = LM_SUMS_OUTPUT;
    split_about(s, VOCABULARY, 0);
    return LM_OK;
}

static const lm_layer_type embedding = {
    TABLE("embedding", "rows of a learned table by their numbers"),
    LM_PARAMS(embedding_params),
    .split = embedding_split,
    .infer = embedding_infer,
    .lower = embedding_lower,
};

static const lm_layer_type embedding_bag = {
    TABLE("embedding_bag", "sum, mean or maximum of some rows of a learned table"),
    LM_PARAMS(bag_params),
    .infer = bag_infer,
    .lower = bag_lower,
};

static const lm_layer_type *const types[] = { &embedding, &embedding_bag };

LM_PLUGIN = {
    .name    = "layermeter-embedding",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
