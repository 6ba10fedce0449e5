/** The contract of a layer type (see plugin.h), executed. */
#ifndef LAYERS_CHECK_H
#define LAYERS_CHECK_H

#include <stdbool.h>

#include "layers/registry.h"

typedef struct check_options {
    uint64_t seed;  /**< the same one makes up the same uses */
    uint64_t cases; /**< legal uses to try */
} check_options;

/**
 * What is known of a type. Plain data, kept up to date during the check: in memory that outlives a
 * crash it says what was being done.
 */
typedef struct check_report {
    char      type[64];
    uint64_t  legal, refused; /**< uses it accepted and that hold; uses it refused and explained */
    uint64_t  scaled;         /**< legal ones whose FLOPs were seen to go with the batch */
    lm_status status;         /**< LM_E_NOMEM: no result */
    bool      finished;
    char      step[24];       /**< callback at work; empty between them */
    char      violation[360]; /**< the first one; empty: none */
    char      snippet[2048];  /**< the use at work, or that of the violation, as a model file */
} check_report;

/**
 * Makes up uses of a type and asks its callbacks about each of them, twice and in other orders, and
 * at other batches:
 *
 *  - they succeed, or refuse with a reason; at least one use is legal
 *  - the answer depends on parameters and input shapes alone: not on earlier calls, their order,
 * the layer's name, or memory beyond what is given
 *  - nothing given is written to: descriptors, parameters, inputs
 *  - outputs, weights and kernels are well formed
 *  - FLOPs and bytes of the kernels of a pass are those of cost(), and not less; without
 *    LM_OP_OPAQUE and where lower() is there
 *  - where the outputs are in proportion to the batch, so are FLOPs; where the outputs stay the
 * same, FLOPs rise in equal steps (LM_FIXED_PART: they do not fall); bytes do not fall; beyond 64
 * bits they saturate
 *  - a view has neither work nor kernels in the forward pass
 *
 * `report` is all that changes. Not safe against a plugin that crashes: run it in a process of its
 * own.
 */
void check_type(const registry_entry *entry, const check_options *o, check_report *report);

#endif
