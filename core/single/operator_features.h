/** What residuals of single kernels are learned from: physics of a kernel, whatever its price. */
#ifndef SINGLE_OPERATOR_FEATURES_H
#define SINGLE_OPERATOR_FEATURES_H

#include "single/operators.h"
#include "single/residual_space.h"

#define OPERATOR_FEATURES 96

typedef struct operator_feature {
    named_feature of;
    double        value;
} operator_feature;

/**
 * The features that all kernels of a class have, in their order: element type and pass (flags),
 * sizes, FLOPs, bytes and their ratio (counts), what tiles and waves over `multiprocessors` (0: not
 * known, 1 is taken) leave idle, and how far sizes are from the multiples that vectors and tiles
 * want (free).
 *
 * @param seconds the kernel's price, a count as well
 * @return how many; 0 for OPERATOR_OTHER
 */
size_t operator_features(const lm_kernel *k, double multiprocessors, double seconds,
                         operator_feature out[OPERATOR_FEATURES]);

/** Their names alone. */
size_t operator_feature_names(operator_class c, named_feature out[OPERATOR_FEATURES]);

/** Kernels of one number have one shape, whatever the batch: learning judges them together. */
uint64_t operator_shape(const lm_kernel *k);

#endif
