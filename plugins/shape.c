/* Layer types that only move or convert elements. */
#include "shape.h"

static const lm_layer_type *const types[] = {
    &shape_concat,
    &shape_flatten,
    &shape_reshape,
    &shape_squeeze,
    &shape_unsqueeze,
    &shape_identity,
    &shape_slice,
    &shape_chunk,
    &shape_pad,
    &shape_expand,
    &shape_tile,
    &shape_permute,
    &shape_roll,
    &shape_pixel_shuffle,
    &shape_pixel_unshuffle,
    &shape_channel_shuffle,
    &shape_upsample,
    &shape_gather,
    &shape_cast,
    &shape_traffic,
};

LM_PLUGIN = {
    .name    = "layermeter-shape",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
