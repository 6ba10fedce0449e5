/**
 * Work of a layer by kind of kernel, for layers other than convolutions and products with weights
 * (shape.h).
 */
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
    double rows;     /**< rows with statistics, of norms and softmax */
    double elements; /**< elements in these rows */
} kernel_work;

typedef struct layer_work {
    kernel_work of[N_WORK_KINDS][LM_N_PASSES]; /**< by the pass that launches them, in training */
    kernel_work inference[N_WORK_KINDS];       /**< forward pass in evaluation mode */
} layer_work;

/**
 * Adds lm_kernel_work() of a layer's kernels, times their repeats. False if the kernels are unknown
 * (not lowered, opaque); then `to` is invalid.
 */
bool work_add(const bound_layer *l, layer_work *to);

#endif
