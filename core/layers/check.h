/** The contract of a layer type (see plugin.h), executed. */
#ifndef LAYERS_CHECK_H
#define LAYERS_CHECK_H

#include <stdbool.h>

#include "layers/registry.h"

typedef struct check_options {
    uint64_t seed;  /**< equal seeds generate equal uses */
    uint64_t cases; /**< legal uses to try */
} check_options;

/**
 * Findings about a type. Plain data, updated during the check: in shared memory it survives a crash
 * and names the current step.
 */
typedef struct check_report {
    char      type[64];
    uint64_t  legal, refused; /**< accepted uses without violation; refused uses with a reason */
    uint64_t  scaled;         /**< legal uses whose FLOPs scale with the batch */
    lm_status status;         /**< LM_E_NOMEM: no result */
    bool      finished;
    bool      idle;           /**< all uses were refused: the violation says no more than that */
    char      step[24];       /**< current callback; empty between callbacks */
    char      violation[360]; /**< the first one; empty: none */
    char      snippet[2048];  /**< the current use, or that of the violation, as a model file */
} check_report;

/**
 * Generates uses of a type and calls its callbacks for each use: twice, in other orders and at
 * other batches. It checks:
 *
 *  - they succeed, or refuse with a reason; at least one use is legal
 *  - the answer depends on parameters and input shapes alone: not on earlier calls, their order,
 *    the layer's name, or other memory
 *  - callbacks do not write to descriptors, parameters, inputs, or behind their results
 *  - outputs, weights and kernels are well formed
 *  - FLOPs and bytes of the kernels of a pass are those of cost(), and not less; without
 *    LM_OP_OPAQUE and where lower() is there
 *  - if the outputs are in proportion to the batch, so are FLOPs; if the outputs stay the same,
 *    FLOPs rise in equal steps (LM_FIXED_PART: they do not fall); bytes do not fall; counts
 *    saturate beyond 64 bits
 *  - a view has neither work nor kernels in the forward pass
 *
 * Only `report` changes. A crash of the plugin ends the process: use a process of its own.
 */
void check_type(const registry_entry *entry, const check_options *o, check_report *report);

#endif
