/* flatten, reshape, squeeze, unsqueeze, identity: another shape of the same memory. */
#include "shape.h"
#include "splitting.h"

enum { START, END }; /* of flatten */
enum { SHAPE };      /* of reshape */
enum { AXIS };       /* of squeeze and unsqueeze */

static const lm_param flatten_params[] = {
    [START] = { .name = "start",
                TENSOR_AXIS(LM_INT),
                .fallback = "1",
                .doc      = "first dimension to join; below 0: from the last" },
    [END]   = { .name = "end",
                TENSOR_AXIS(LM_INT),
                .fallback = "-1",
                .doc      = "last dimension to join; below 0: from the last" },
};

static const lm_param reshape_params[] = {
    [SHAPE] = { .name = "shape",
                .kind = LM_LIST,
                .min  = -1,
                .max  = 1e12,
                .unit = "elements",
                .doc = "the new dimensions, batch included; 0 copies the input's dimension at that "
                       "place, one -1 is what is left" },
};

static const lm_param squeeze_params[] = {
    [AXIS] = { .name = "axis",
               TENSOR_AXIS(LM_LIST),
               .doc = "dimensions of 1 to leave out; below 0: from the last" },
};

static const lm_param unsqueeze_params[] = {
    [AXIS] = { .name = "axis",
               TENSOR_AXIS(LM_LIST),
               .doc = "dimensions of the output that are a new 1; below 0: from the last" },
};

static lm_status flatten_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in    = &layer->input[0];
    lm_tensor        out   = { .dtype = in->dtype };
    uint32_t         start = 0, end = 0;
    lm_status        status = tensor_axis(layer, lm_int(layer, START), in->rank, &start);

    if (!status)
        status = tensor_axis(layer, lm_int(layer, END), in->rank, &end);
    if (status)
        return status;
    if (start > end)
        return lm_fail(layer, LM_E_ARG, "start at dimension %u comes after end at %u",
                       (unsigned)start, (unsigned)end);
    for (uint32_t d = 0; d < in->rank; d++)
        if (d <= start || d > end)
            out.dim[out.rank++] = in->dim[d];
    status = tensor_set(layer, &out, start, tensor_span(in, start, end + 1));
    if (!status)
        output[0] = out;
    return status;
}

static lm_status reshape_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in    = &layer->input[0];
    const lm_value  *list  = &layer->param[SHAPE];
    const uint64_t   all   = lm_elements(in);
    lm_tensor        out   = { .dtype = in->dtype, .rank = list->count };
    uint32_t         open  = LM_MAX_RANK; /* the place of a -1 */
    uint64_t         known = 1;

    for (uint32_t d = 0; d < list->count; d++) {
        out.dim[d] = list->u.i[d];
        if (out.dim[d] == 0 && d >= in->rank)
            return lm_fail(layer, LM_E_ARG, "shape: no dimension %u in the input to copy",
                           (unsigned)d);
        if (out.dim[d] == -1 && open < LM_MAX_RANK)
            return lm_fail(layer, LM_E_ARG, "shape: more than one -1");
        if (out.dim[d] == 0)
            out.dim[d] = in->dim[d];
        if (out.dim[d] == -1)
            open = d;
        else
            known = lm_mul(known, (uint64_t)out.dim[d]);
    }
    if (open < LM_MAX_RANK ? all % known != 0 : all != known)
        return lm_fail(layer, LM_E_SHAPE, "%llu elements do not fit a shape of %s%llu",
                       (unsigned long long)all, open < LM_MAX_RANK ? "a multiple of " : "",
                       (unsigned long long)known);
    if (open < LM_MAX_RANK)
        out.dim[open] = (int64_t)(all / known);
    output[0] = out;
    return LM_OK;
}

/* Splits classes: the last dimension. */
static lm_status reshape_split(const lm_layer *layer, lm_split *s)
{
    const uint32_t last = layer->param[SHAPE].count - 1;

    if (s->way != LM_VOCABULARY)
        return split_refused(layer);
    if (layer->param[SHAPE].u.i[last] > 0)
        split_about(s, SHAPE, last);
    return LM_OK;
}

static lm_status squeeze_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in     = &layer->input[0];
    lm_tensor        out    = { .dtype = in->dtype };
    uint32_t         axes   = 0;
    const lm_status  status = tensor_axes(layer, AXIS, in->rank, &axes);

    if (status)
        return status;
    for (uint32_t d = 0; d < in->rank; d++)
        if (!(axes >> d & 1))
            out.dim[out.rank++] = in->dim[d];
        else if (in->dim[d] != 1)
            return lm_fail(layer, LM_E_SHAPE, "dimension %u has %lld elements, not 1", (unsigned)d,
                           (long long)in->dim[d]);
    output[0] = out;
    return LM_OK;
}

static lm_status unsqueeze_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in   = &layer->input[0];
    lm_tensor        out  = { .dtype = in->dtype, .rank = in->rank + layer->param[AXIS].count };
    uint32_t         axes = 0, from = 0;
    lm_status        status;

    if (out.rank > LM_MAX_RANK)
        return lm_fail(layer, LM_E_SHAPE, "an output of %u dimensions; at most %d are possible",
                       (unsigned)out.rank, LM_MAX_RANK);
    status = tensor_axes(layer, AXIS, out.rank, &axes);
    if (status)
        return status;
    for (uint32_t d = 0; d < out.rank; d++)
        out.dim[d] = axes >> d & 1 ? 1 : in->dim[from++];
    output[0] = out;
    return LM_OK;
}

static lm_status identity_infer(const lm_layer *layer, lm_tensor *output)
{
    output[0] = layer->input[0];
    return LM_OK;
}

#define VIEW(name, doc) \
    SHAPE_TYPE(name, doc), .flags = LM_FUNCTIONAL | LM_VIEW, .lower = lower_nothing

const lm_layer_type shape_flatten = {
    VIEW("flatten", "joins neighbouring dimensions into one"),
    LM_PARAMS(flatten_params),
    .infer = flatten_infer,
};
const lm_layer_type shape_reshape = {
    VIEW("reshape", "the same elements under another shape"),
    LM_PARAMS(reshape_params),
    .infer = reshape_infer,
    .split = reshape_split,
};
const lm_layer_type shape_squeeze = {
    VIEW("squeeze", "leaves out dimensions of 1"),
    LM_PARAMS(squeeze_params),
    .infer = squeeze_infer,
};
const lm_layer_type shape_unsqueeze = {
    VIEW("unsqueeze", "puts in dimensions of 1"),
    LM_PARAMS(unsqueeze_params),
    .infer = unsqueeze_infer,
};
const lm_layer_type shape_identity = {
    VIEW("identity", "its input"),
    .infer = identity_infer,
};
