/** A catalogue: every distinct operation of networks, and how often it occurs. */
#ifndef NETWORK_OPERATIONS_H
#define NETWORK_OPERATIONS_H

#include "base/arena.h"
#include "base/names.h"
#include "network/bind.h"

/** One operation, as an observation of kind `layer` says it (OBSERVATIONS.md). */
typedef struct net_operation {
    const char        *type;
    const char        *geometry; /**< keys that differ from their defaults, in the type's order */
    const char        *input;    /**< shapes of one sample: "64x56x56", "49x64, 64x49" */
    const bound_layer *layer;    /**< its first one; lives as long as its bound network */
    uint64_t           count;    /**< in all networks */
} net_operation;

/** Zero-initialise. */
typedef struct operation_list {
    net_operation *of; /**< in the order of their first occurrence */
    size_t         n, room;
    uint64_t n_apart; /**< layers that no row of their own can say: what they take is no sample of
                             a batch, or a key has a blank in it */
    names    by_text;
    arena   *arena; /**< owns all of it */
} operation_list;

/**
 * Adds the layers of a network that do something. Inputs, and what only renames tensors, are none.
 *
 * @param net bound at a batch above 1, so that a batch is told from a dimension
 * @param chained a function that alone reads a layer is one operation with it: "conv2d; relu"
 * @param block layers of it and under it alone; NULL: all
 * @return LM_E_UNSUPPORTED for a layer that counts and that nothing can run, which the text names;
 *         LM_E_NOTFOUND for a block that is not there; LM_E_NOMEM
 */
lm_status operations_add(operation_list *list, const bound_network *net, const char *block,
                         bool chained, lm_error *err);
void      operations_free(operation_list *list);

#endif
