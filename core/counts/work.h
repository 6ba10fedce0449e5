/** Work of a layer by kind of kernel, for layers other than convolutions and products with weights
 * (shape.h). */
#ifndef COUNTS_WORK_H
#define COUNTS_WORK_H

#include "counts/table.h"
#include "network/bind.h"

/** See table.h. */
#define WORK_ENUMERATOR(kind, name) kind,
typedef enum work_kind { WORK_TABLE(WORK_ENUMERATOR) N_WORK_KINDS } work_kind;

/** "product", "conv", "pool" ... */
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

/** Adds lm_kernel_work() of a layer's kernels, times their repeats. False for layers without known
 * kernels (not lowered, opaque); `to` is then of no use. */
bool work_add(const bound_layer *l, layer_work *to);

#endif
