/** What any layer makes a device do, by kind of kernel: all that is known of layers whose
 * algorithms are not (shape.h knows convolutions and products with weights). */
#ifndef COUNTS_WORK_H
#define COUNTS_WORK_H

#include "network/bind.h"

typedef enum work_kind {
    WORK_PRODUCT, /**< of matrices: recurrent layers, attention */
    WORK_CONV,
    WORK_POOL,
    WORK_MAP,        /**< elementwise, copies */
    WORK_NORM,       /**< by statistics of rows that lie together: layer norm */
    WORK_BATCH_NORM, /**< of channels over the batch: few long rows, far apart */
    WORK_SCALE,      /**< by statistics that are known: batch norm in evaluation mode */
    WORK_SOFTMAX,
    WORK_GATHER,
    WORK_REDUCE,
    WORK_ATTENTION, /**< fused */
    N_WORK_KINDS
} work_kind;

/** "product", "conv", "pool", "map", "norm", "batch_norm", "scale", "softmax", "gather", "reduce",
 * "attention" */
const char *work_kind_name(work_kind k);

typedef struct kernel_work {
    double launches, bytes, flops;
    double rows;     /**< that norms and softmax take statistics of */
    double elements; /**< in these */
} kernel_work;

typedef struct layer_work {
    kernel_work of[N_WORK_KINDS][LM_N_PASSES]; /**< by the pass that launches them, in training */
    kernel_work inference[N_WORK_KINDS];       /**< the forward pass in evaluation mode */
} layer_work;

/** Adds a layer's kernels, lm_kernel_work() of each as often as it is repeated. False, and nothing
 * certain is added, where nobody knows them: layers that are not lowered, opaque kernels. */
bool work_add(const bound_layer *l, layer_work *to);

#endif
