/* slice, chunk: a part of a tensor; pad: a tensor as a part of a larger one. */
#include "shape.h"

enum { AXIS, START, END, STEP }; /* of slice */
enum { PARTS = AXIS + 1, PART }; /* of chunk */
enum { BEFORE, AFTER };          /* of pad */

#define AXIS_PARAM                                             \
    {                                                          \
        .name = "axis", TENSOR_AXIS(LM_INT), .fallback = "1",  \
        .doc = "dimension that is cut; below 0: from the last" \
    }

static const lm_param slice_params[] = {
    [AXIS]  = AXIS_PARAM,
    [START] = { .name     = "start",
                .kind     = LM_INT,
                .min      = -1e12,
                .max      = 1e12,
                .unit     = "elements",
                .fallback = "0",
                .doc      = "the first that is taken; below 0: from the end, at most all of them" },
    [END]   = { .name     = "end",
                .kind     = LM_INT,
                .min      = -1e12,
                .max      = 1e12,
                .unit     = "elements",
                .fallback = "0",
                .doc      = "the first behind what is taken; below 0: from the end; 0 or beyond: "
                              "the end" },
    [STEP]  = { .name     = "step",
                .kind     = LM_INT,
                .min      = 1,
                .max      = 1e12,
                .unit     = "elements",
                .fallback = "1",
                .doc      = "from one that is taken to the next" },
};

static const lm_param chunk_params[] = {
    [AXIS]  = AXIS_PARAM,
    [PARTS] = { .name = "parts",
                .kind = LM_INT,
                .min  = 1,
                .max  = 1e9,
                .doc  = "how many; the last is smaller where they do not divide the dimension" },
    [PART]  = { .name     = "part",
                .kind     = LM_INT,
                .min      = 0,
                .max      = 1e9,
                .fallback = "0",
                .doc      = "which of them, from 0" },
};

#define MARGIN_PARAM(param_name, where)                                                        \
    {                                                                                          \
        .name = param_name, .kind = LM_LIST, .min = 0, .max = 1e9, .unit = "elements",         \
        .fallback = "0",                                                                       \
        .doc      = "added " where " each dimension; fewer numbers than there are dimensions " \
                    "speak of the last ones"                                                   \
    }

static const lm_param pad_params[] = {
    [BEFORE] = MARGIN_PARAM("before", "in front of"),
    [AFTER]  = MARGIN_PARAM("after", "behind"),
};

static lm_status slice_infer(const lm_layer *layer, lm_tensor *output)
{
    lm_tensor out    = layer->input[0];
    uint32_t  axis   = 0;
    lm_status status = tensor_axis(layer, lm_int(layer, AXIS), out.rank, &axis);
    int64_t   n, start = lm_int(layer, START), end = lm_int(layer, END);

    if (status)
        return status;
    n = out.dim[axis];
    if (start < 0)
        start = start + n < 0 ? 0 : start + n;
    if (end < 0)
        end += n;
    else if (end == 0 || end > n)
        end = n;
    if (start >= end)
        return lm_fail(layer, LM_E_ARG, "nothing from %lld to %lld in dimension %u of %lld",
                       (long long)lm_int(layer, START), (long long)lm_int(layer, END),
                       (unsigned)axis, (long long)n);
    out.dim[axis] = (end - start - 1) / lm_int(layer, STEP) + 1;
    output[0]     = out;
    return LM_OK;
}

/* As torch.chunk: all parts but the last have ceil(n / parts) elements. */
static lm_status chunk_infer(const lm_layer *layer, lm_tensor *output)
{
    const int64_t parts = lm_int(layer, PARTS), part = lm_int(layer, PART);
    lm_tensor     out    = layer->input[0];
    uint32_t      axis   = 0;
    lm_status     status = tensor_axis(layer, lm_int(layer, AXIS), out.rank, &axis);
    int64_t       n, size;

    if (status)
        return status;
    n    = out.dim[axis];
    size = (n - 1) / parts + 1;
    if (part >= parts || part > (n - 1) / size)
        return lm_fail(layer, LM_E_ARG, "no part %lld: %lld elements in parts of %lld are %lld",
                       (long long)part, (long long)n, (long long)size,
                       (long long)((n - 1) / size + 1));
    out.dim[axis] = part == (n - 1) / size ? n - part * size : size;
    output[0]     = out;
    return LM_OK;
}

/* Forward: a view. Backward: the gradient of the whole tensor, zeros and then a copy of the
 * part. */
static lm_status part_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    if (pass != LM_GRAD_INPUT)
        return LM_OK;
    emit(sink, (lm_kernel){ .op    = LM_OP_MAP,
                            .pass  = pass,
                            .dtype = layer->input[0].dtype,
                            .u.map = { .elements = (int64_t)lm_elements(&layer->input[0]) } });
    return shape_lower_copy(layer, pass, sink);
}

/* Margin of dimension d in a list of margins. */
static int64_t margin(const lm_value *list, uint32_t d, uint32_t rank)
{
    const uint32_t first = rank - list->count;

    return d < first ? 0 : list->u.i[d - first];
}

static lm_status pad_infer(const lm_layer *layer, lm_tensor *output)
{
    lm_tensor out = layer->input[0];

    for (uint32_t i = BEFORE; i <= AFTER; i++)
        if (layer->param[i].count > out.rank)
            return lm_fail(layer, LM_E_ARG, "%u margins for an input of rank %u",
                           (unsigned)layer->param[i].count, (unsigned)out.rank);
    for (uint32_t d = 0; d < out.rank; d++) {
        const int64_t more =
            margin(&layer->param[BEFORE], d, out.rank) + margin(&layer->param[AFTER], d, out.rank);
        const lm_status status = tensor_set(layer, &out, d, (uint64_t)out.dim[d] + (uint64_t)more);

        if (status)
            return status;
    }
    output[0] = out;
    return LM_OK;
}

/* Forward: the margins' value everywhere, then a copy of the input. Backward: a copy out of the
 * gradient. */
static lm_status pad_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    if (pass == LM_FORWARD)
        emit(sink, (lm_kernel){ .op    = LM_OP_MAP,
                                .pass  = pass,
                                .dtype = layer->input[0].dtype,
                                .u.map = { .elements = (int64_t)lm_elements(&layer->output[0]) } });
    if (pass != LM_GRAD_WEIGHT)
        emit(sink, (lm_kernel){ .op     = LM_OP_COPY,
                                .pass   = pass,
                                .dtype  = layer->input[0].dtype,
                                .u.copy = { (int64_t)lm_bytes(&layer->input[0]) } });
    return LM_OK;
}

const lm_layer_type shape_slice = {
    SHAPE_TYPE("slice", "elements of one dimension from a first to a last"),
    LM_PARAMS(slice_params),
    .flags = LM_FUNCTIONAL | LM_VIEW,
    .infer = slice_infer,
    .lower = part_lower,
};
const lm_layer_type shape_chunk = {
    SHAPE_TYPE("chunk", "one of the equal parts of a dimension"),
    LM_PARAMS(chunk_params),
    .flags = LM_FUNCTIONAL | LM_VIEW,
    .infer = chunk_infer,
    .lower = part_lower,
};
const lm_layer_type shape_pad = {
    SHAPE_TYPE("pad", "puts a margin around its input"),
    LM_PARAMS(pad_params),
    .flags = LM_FUNCTIONAL,
    .infer = pad_infer,
    .lower = pad_lower,
};
