/** Arithmetic on small constants. */
#ifndef ONNX_FOLD_H
#define ONNX_FOLD_H

#include "onnx/import.h"

/** A Slice of one dimension: `count` elements from `first` on, `step` apart. A negative step goes
 * backwards. */
typedef struct slice_part {
    int64_t axis, first, count, step;
} slice_part;

typedef struct slice_list {
    slice_part part[LM_MAX_RANK];
    size_t     n;
} slice_list;

/** Reads the Slice of an input with shape `in`, in one lane; false if its numbers are unknown or
 * absent. */
bool slice_read(const importer *im, const onnx_node *node, const lm_tensor *in, int lane,
                slice_list *out);

/** Computes the contents of a node's outputs, if its inputs are known. */
void fold_node(importer *im, const onnx_node *node);

#endif
