/** Converters of the operator table; each converts im->node. */
#ifndef ONNX_OPERATORS_H
#define ONNX_OPERATORS_H

#include "onnx/import.h"

/** Status of an operator that could not be converted. */
lm_status import_failed(const importer *im);

/* attributes, with ONNX's defaults */
int64_t     node_int(const importer *im, const char *name, int64_t fallback);
double      node_real(const importer *im, const char *name, double fallback);
const char *node_text(const importer *im, const char *name, const char *fallback);
/** A list that is an attribute or, in newer versions, input `input`; false if it is absent or
 * unknown. */
bool node_list(const importer *im, const char *name, size_t input, int64_t *out, size_t *n);
/** Is the list present, as attribute or input? */
bool node_has_list(const importer *im, const char *name, size_t input);
/** Input i; sets the error if it is left out. */
value *need_input(importer *im, size_t i);
/** The same for an input that must be a weight. */
value *need_weight(importer *im, size_t i);
/** Adds a product with a weight of `features` columns, and a bias if n is 2. */
lm_status emit_linear(importer *im, value *in, int64_t features, value *const *weight, size_t n,
                      value **out);
/** Adds a product of two tensors. Each may be transposed in its last two dimensions. */
lm_status emit_matmul(importer *im, value *a, value *b, bool transpose_a, bool transpose_b,
                      value **out);
/** Adds a margin of zeros; without a margin *out is the value. */
lm_status emit_pad(importer *im, value *in, const int64_t *before, const int64_t *after,
                   value **out);
/** Expands a value of the network, such as a class token, to one for each sample. */
lm_status expand_to_batch(importer *im, value *v, value **out);
/** Converts a negative dimension, counted from the last; false if there is no such dimension. */
bool axis_from_front(int64_t *axis, uint32_t rank);
/** Adds a slice of one dimension. Drops lanes in which the layer cannot express it. */
lm_status emit_slice(importer *im, value *v, uint32_t axis, const int64_t *first,
                     const int64_t *end, int64_t step, value **out);
/** What the node yields: these n tensors behind each other, which it may change. */
lm_status join_tensors(importer *im, conversion *c, value **in, size_t n, int64_t axis);
/** The recurrent layer of the node alone; its sequence is N, L, directions x H. */
lm_status emit_recurrent(importer *im, conversion *c);
/** Swaps the first two of three dimensions. */
lm_status samples_first(importer *im, value *v, value **out);
/** A constant of bytes: dimensions of `shape` that differ between lanes, else 1. It makes a tensor
 * without samples depend on samples. NULL: no memory. */
value *sizes_like(importer *im, const lm_tensor *shape);
/** Adds a layer `r` of type traffic that reads the node's tensors and writes one of this shape, in
 * all lanes. */
lm_status convert_traffic(importer *im, recipe *r, const lm_tensor *shape);
/** Adds a layer with one output, under the name of the node's first output. */
lm_status convert_into(importer *im, const recipe *r, value *const *in, size_t n_in,
                       value *const *weight, size_t n_weights);
/** The same for one input and no weights. */
lm_status convert_one(importer *im, const recipe *r, value *in);
/** The same with emit_lazy(). */
lm_status convert_lazily(importer *im, const recipe *r, value *in);
/** Reads all inputs. LM_E_SYNTAX for a missing one, LM_E_UNSUPPORTED beyond INPUTS_MAX. */
lm_status all_inputs(importer *im, value *in[INPUTS_MAX]);

/* operators_math.c */
converter convert_plain, convert_binary, convert_pow, convert_clip, convert_reduce, convert_softmax,
    convert_prelu, convert_gelu, convert_shrink, convert_mean, convert_cast, convert_where,
    convert_log_sum, convert_loss;
/* operators_constant.c */
converter convert_identity, convert_constant_node, convert_shape, convert_size, convert_fill,
    convert_range, convert_nonzero, convert_if, convert_loop;
/* operators_traffic.c */
converter convert_like_first, convert_like_second, convert_map, convert_test, convert_random_like,
    convert_gather_nd, convert_one_hot, convert_top_k, convert_roi_align, convert_grid_sample;
/* operators_shape.c */
converter convert_reshape, convert_flatten, convert_squeeze, convert_unsqueeze, convert_transpose;
/* operators_slice.c */
converter convert_concat, convert_slice, convert_split, convert_gather;
/* operators_sequence.c */
converter convert_sequence, convert_sequence_at, convert_sequence_change, convert_split_to_sequence,
    convert_concat_sequence;
/* operators_resize.c */
converter convert_expand, convert_tile, convert_pad, convert_resize, convert_depth_to_space;
/* operators_window.c */
converter convert_conv, convert_conv_transpose, convert_pool;
/* operators_norm.c */
converter convert_norm, convert_layer_norm, convert_group_norm, convert_lrn, convert_dropout;
/* operators_product.c */
converter convert_gemm, convert_matmul;
/* operators_einsum.c */
converter convert_einsum;
/* operators_recurrent.c */
converter convert_recurrent;

#endif
