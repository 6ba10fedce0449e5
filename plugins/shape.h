/** Layer types that move elements: one table over several files. */
#ifndef PLUGINS_SHAPE_H
#define PLUGINS_SHAPE_H

#include "tensors.h"

extern const lm_layer_type shape_concat; /* shape_concat.c */
extern const lm_layer_type shape_flatten, shape_reshape, shape_squeeze, shape_unsqueeze,
    shape_identity;                                             /* shape_view.c */
extern const lm_layer_type shape_slice, shape_chunk, shape_pad; /* shape_part.c */
extern const lm_layer_type shape_expand, shape_tile;            /* shape_repeat.c */
extern const lm_layer_type shape_permute, shape_roll, shape_pixel_shuffle, shape_pixel_unshuffle,
    shape_channel_shuffle;                                          /* shape_copy.c */
extern const lm_layer_type shape_upsample;                          /* shape_upsample.c */
extern const lm_layer_type shape_gather, shape_cast, shape_traffic; /* shape_gather.c, ... */

/** Emits a copy of the output forward, and of its gradient backward: for types that only move
 * elements. */
lm_status shape_lower_copy(const lm_layer *layer, lm_pass pass, lm_sink *sink);

#define SHAPE_TYPE(type_name, type_doc)                                                 \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = 1, \
    .max_inputs = 1, .n_outputs = 1, .cost = cost_of_kernels

#endif
