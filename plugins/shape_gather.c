/* gather: rows of a tensor by their numbers, as numpy.take. */
#include "shape.h"

enum { AXIS };
enum { DATA, INDICES };

static const lm_param params[] = {
    [AXIS] = { .name = "axis",
               TENSOR_AXIS(LM_INT),
               .fallback = "1",
               .doc      = "dimension of the first input that the second's numbers (i64 or i32) "
                           "choose from; below 0: from the last" },
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *data = &layer->input[DATA], *indices = &layer->input[INDICES];
    lm_tensor        out    = { .dtype = data->dtype };
    uint32_t         axis   = 0;
    const lm_status  status = tensor_axis(layer, lm_int(layer, AXIS), data->rank, &axis);

    if (status)
        return status;
    if (indices->dtype != LM_I64 && indices->dtype != LM_I32)
        return lm_fail(layer, LM_E_SHAPE, "the second input holds no numbers of i64 or i32");
    if (data->rank - 1 + indices->rank > LM_MAX_RANK)
        return lm_fail(layer, LM_E_SHAPE, "an output of %u dimensions; at most %d are possible",
                       (unsigned)(data->rank - 1 + indices->rank), LM_MAX_RANK);
    for (uint32_t d = 0; d < data->rank; d++) {
        if (d != axis) {
            out.dim[out.rank++] = data->dim[d];
            continue;
        }
        for (uint32_t i = 0; i < indices->rank; i++)
            out.dim[out.rank++] = indices->dim[i];
    }
    output[0] = out;
    return LM_OK;
}

/* Backward adds rows to zeros of the data's shape. */
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_tensor *data   = &layer->input[DATA];
    uint32_t         axis   = 0;
    const lm_status  status = tensor_axis(layer, lm_int(layer, AXIS), data->rank, &axis);
    int64_t          width;

    if (status || pass == LM_GRAD_WEIGHT)
        return status;
    if (pass == LM_GRAD_INPUT)
        emit(sink, (lm_kernel){ .op    = LM_OP_MAP,
                                .pass  = pass,
                                .dtype = data->dtype,
                                .u.map = { .elements = (int64_t)lm_elements(data) } });
    width = (int64_t)tensor_span(data, axis + 1, data->rank);
    emit(sink, (lm_kernel){ .op       = LM_OP_GATHER,
                            .pass     = pass,
                            .dtype    = data->dtype,
                            .u.gather = { .rows  = (int64_t)lm_elements(&layer->output[0]) / width,
                                          .width = width,
                                          .table_rows = (int64_t)lm_elements(data) / width } });
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    if (lm_wants_gradient(layer, DATA))
        cost->keeps = LM_KEEPS_ONE(INDICES);
    return cost_of_kernels(layer, cost);
}

const lm_layer_type shape_gather = {
    .size = sizeof(lm_layer_type),
    .name = "gather",
    .doc  = "rows of its first input by the numbers in its second",
    LM_PARAMS(params),
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs  = 1,
    .flags      = LM_FUNCTIONAL,
    .infer      = infer,
    .cost       = cost,
    .lower      = lower,
};
