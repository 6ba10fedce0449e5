/* expand, tile: repetitions of a tensor; backward sums over them. */
#include <stdbool.h>

#include "shape.h"
#include "splitting.h"

enum { SHAPE };   /* of expand */
enum { REPEATS }; /* of tile */

static const lm_param expand_params[] = {
    [SHAPE] = { .name = "shape",
                .kind = LM_LIST,
                .min  = -2,
                .max  = 1e12,
                .unit = "elements",
                .doc  = "the dimensions to stretch to, aligned at the last; 0 or -1 keeps the "
                        "input's; -2 takes a second input's at that place" },
};

static const lm_param tile_params[] = {
    [REPEATS] = { .name = "repeats",
                  .kind = LM_LIST,
                  .min  = 1,
                  .max  = 1e9,
                  .doc  = "how often each dimension, aligned at the last" },
};

static lm_status expand_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_value  *list = &layer->param[SHAPE];
    const lm_tensor *in   = &layer->input[0];
    lm_tensor        out  = { .dtype = in->dtype, .rank = list->count };

    if (out.rank < in->rank)
        return lm_fail(layer, LM_E_ARG, "%u dimensions for an input of rank %u", (unsigned)out.rank,
                       (unsigned)in->rank);
    for (uint32_t d = 0; d < out.rank; d++) {
        const uint32_t added  = out.rank - in->rank;
        const int64_t  old    = d < added ? 1 : in->dim[d - added];
        const bool     copied = list->u.i[d] == -2;
        int64_t        wanted = list->u.i[d];

        if (copied && (layer->n_inputs < 2 || d >= layer->input[1].rank))
            return lm_fail(layer, LM_E_ARG, "dimension %u: no second input has it", (unsigned)d);
        wanted = copied ? layer->input[1].dim[d] : wanted;
        if (wanted <= 0 && d < added)
            return lm_fail(layer, LM_E_ARG, "dimension %u is new: nothing to keep", (unsigned)d);
        out.dim[d] = wanted <= 0 ? old : wanted;
        if (old != 1 && old != out.dim[d])
            return lm_fail(layer, LM_E_SHAPE,
                           "%lld elements do not stretch to %lld in dimension %u: only a 1 does",
                           (long long)old, (long long)wanted, (unsigned)d);
    }
    output[0] = out;
    return LM_OK;
}

static lm_status expand_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    if (pass == LM_GRAD_INPUT)
        emit_sum_to(sink, pass, &layer->input[0], &layer->output[0]);
    return LM_OK;
}

/* A tensor shared by all heads becomes a copy for each head of the rank: given dimensions are
 * heads. */
static lm_status expand_split(const lm_layer *layer, lm_split *s)
{
    const lm_value *list   = &layer->param[SHAPE];
    lm_status       status = LM_OK;

    if (s->way != LM_HEADS)
        return split_refused(layer);
    for (uint32_t d = 0; d < list->count && !status; d++)
        if (list->u.i[d] > 0)
            status = split_evenly(layer, s, SHAPE, d, "heads");
    s->sums = LM_SUMS_INPUT;
    return status;
}

static lm_status tile_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_value  *list = &layer->param[REPEATS];
    const lm_tensor *in   = &layer->input[0];
    const uint32_t   rank = list->count > in->rank ? list->count : in->rank;
    lm_tensor        out  = { .dtype = in->dtype, .rank = rank };

    for (uint32_t back = 1; back <= rank; back++) {
        const uint64_t  old    = back <= in->rank ? (uint64_t)in->dim[in->rank - back] : 1;
        const uint64_t  times  = back <= list->count ? (uint64_t)list->u.i[list->count - back] : 1;
        const lm_status status = tensor_set(layer, &out, rank - back, lm_mul(old, times));

        if (status)
            return status;
    }
    output[0] = out;
    return LM_OK;
}

/* A copy that reads less than it writes. */
static lm_status tile_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const int64_t in = (int64_t)lm_elements(&layer->input[0]);
    const int64_t n  = (int64_t)lm_elements(&layer->output[0]);

    if (pass != LM_FORWARD)
        return expand_lower(layer, pass, sink);
    emit(sink, (lm_kernel){ .op    = LM_OP_MAP,
                            .pass  = pass,
                            .dtype = layer->output[0].dtype,
                            .u.map = { .elements = n, .operands = 1, .reads = n == in ? 0 : in } });
    return LM_OK;
}

const lm_layer_type shape_expand = {
    .size = sizeof(lm_layer_type),
    .name = "expand",
    .doc  = "stretches dimensions of 1, without a copy",
    LM_PARAMS(expand_params),
    .min_inputs = 1,
    .max_inputs = 2,
    .n_outputs  = 1,
    .flags      = LM_FUNCTIONAL | LM_VIEW,
    .infer      = expand_infer,
    .cost       = cost_of_kernels,
    .lower      = expand_lower,
    .split      = expand_split,
};
const lm_layer_type shape_tile = {
    SHAPE_TYPE("tile", "its input several times, side by side"),
    LM_PARAMS(tile_params),
    .flags = LM_FUNCTIONAL,
    .infer = tile_infer,
    .lower = tile_lower,
};
