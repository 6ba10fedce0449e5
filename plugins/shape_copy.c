/* permute, roll, pixel_shuffle, pixel_unshuffle, channel_shuffle: every element moves. */
#include <stdbool.h>

#include "shape.h"

enum { ORDER };        /* of permute */
enum { SHIFTS, AXES }; /* of roll */
enum { FACTOR };       /* of the pixel shuffles */
enum { GROUPS };       /* of channel_shuffle */

static const lm_param permute_params[] = {
    [ORDER] = { .name = "order",
                TENSOR_AXIS(LM_LIST),
                .doc =
                    "the input's dimensions in the order of the output; below 0: from the last" },
};

static const lm_param roll_params[] = {
    [SHIFTS] = { .name = "shifts",
                 .kind = LM_LIST,
                 .min  = -1e12,
                 .max  = 1e12,
                 .unit = "elements",
                 .doc  = "how far, one for each of the axes; no influence on work" },
    [AXES]   = { .name = "axes",
                 TENSOR_AXIS(LM_LIST),
                 .doc = "dimensions whose elements move on, the last to the front" },
};

static const lm_param pixel_params[] = {
    [FACTOR] = { .name = "factor",
                 .kind = LM_INT,
                 .min  = 1,
                 .max  = 1e6,
                 .unit = "pixels",
                 .doc  = "pixels of height, and of width, that stand for one" },
};

static const lm_param channel_params[] = {
    [GROUPS] = { .name = "groups",
                 .kind = LM_INT,
                 .min  = 1,
                 .max  = 1e9,
                 .doc  = "parts of the channels (dimension 1) that are interleaved" },
};

lm_status shape_lower_copy(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    if (pass != LM_GRAD_WEIGHT)
        emit(sink, (lm_kernel){ .op     = LM_OP_COPY,
                                .pass   = pass,
                                .dtype  = layer->output[0].dtype,
                                .u.copy = { (int64_t)lm_bytes(&layer->output[0]) } });
    return LM_OK;
}

static lm_status permute_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in   = &layer->input[0];
    lm_tensor        out  = *in;
    uint32_t         axes = 0;
    lm_status        status;

    if (layer->param[ORDER].count != in->rank)
        return lm_fail(layer, LM_E_ARG, "an order of %u dimensions for an input of rank %u",
                       (unsigned)layer->param[ORDER].count, (unsigned)in->rank);
    status = tensor_axes(layer, ORDER, in->rank, &axes);
    if (status)
        return status;
    for (uint32_t d = 0; d < in->rank; d++) {
        const int64_t from = layer->param[ORDER].u.i[d];

        out.dim[d] = in->dim[from < 0 ? from + (int64_t)in->rank : from];
    }
    output[0] = out;
    return LM_OK;
}

static lm_status roll_infer(const lm_layer *layer, lm_tensor *output)
{
    uint32_t axes = 0;

    if (layer->param[SHIFTS].count != layer->param[AXES].count)
        return lm_fail(layer, LM_E_ARG, "%u shifts for %u axes",
                       (unsigned)layer->param[SHIFTS].count, (unsigned)layer->param[AXES].count);
    output[0] = layer->input[0];
    return tensor_axes(layer, AXES, layer->input[0].rank, &axes);
}

static lm_status pixel_infer(const lm_layer *layer, lm_tensor *output, bool apart)
{
    const uint64_t factor = (uint64_t)lm_int(layer, FACTOR);
    lm_tensor      out    = layer->input[0];
    lm_status      status;

    if (out.rank != 4)
        return lm_fail(layer, LM_E_SHAPE,
                       "input of rank %u, expected 4: batch, channels, height, width",
                       (unsigned)out.rank);
    for (uint32_t d = 1; d < 4; d++) {
        const bool     grows = apart == (d > 1);
        const uint64_t by = d > 1 ? factor : factor * factor, old = (uint64_t)out.dim[d];

        if (!grows && old % by)
            return lm_fail(layer, LM_E_SHAPE, "%llu elements of dimension %u do not divide by %llu",
                           (unsigned long long)old, (unsigned)d, (unsigned long long)by);
        status = tensor_set(layer, &out, d, grows ? lm_mul(old, by) : old / by);
        if (status)
            return status;
    }
    output[0] = out;
    return LM_OK;
}

static lm_status pixel_shuffle_infer(const lm_layer *layer, lm_tensor *output)
{
    return pixel_infer(layer, output, true);
}

static lm_status pixel_unshuffle_infer(const lm_layer *layer, lm_tensor *output)
{
    return pixel_infer(layer, output, false);
}

static lm_status channel_shuffle_infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in = &layer->input[0];

    if (in->rank < 2)
        return lm_fail(layer, LM_E_SHAPE,
                       "input of rank %u, expected 2 or more: batch, channels, ...",
                       (unsigned)in->rank);
    if (in->dim[1] % lm_int(layer, GROUPS))
        return lm_fail(layer, LM_E_SHAPE, "%lld channels do not divide into %lld groups",
                       (long long)in->dim[1], (long long)lm_int(layer, GROUPS));
    output[0] = *in;
    return LM_OK;
}

#define MOVED(name, doc) SHAPE_TYPE(name, doc), .flags = LM_FUNCTIONAL, .lower = shape_lower_copy

const lm_layer_type shape_permute = {
    MOVED("permute", "dimensions in another order, with a copy"),
    LM_PARAMS(permute_params),
    .infer = permute_infer,
};
const lm_layer_type shape_roll = {
    MOVED("roll", "elements move on along dimensions, the last to the front"),
    LM_PARAMS(roll_params),
    .infer = roll_infer,
};
const lm_layer_type shape_pixel_shuffle = {
    MOVED("pixel_shuffle", "channels become pixels: larger images of fewer channels"),
    LM_PARAMS(pixel_params),
    .infer = pixel_shuffle_infer,
};
const lm_layer_type shape_pixel_unshuffle = {
    MOVED("pixel_unshuffle", "pixels become channels: smaller images of more channels"),
    LM_PARAMS(pixel_params),
    .infer = pixel_unshuffle_infer,
};
const lm_layer_type shape_channel_shuffle = {
    MOVED("channel_shuffle", "channels of several groups, interleaved"),
    LM_PARAMS(channel_params),
    .infer = channel_shuffle_infer,
};
