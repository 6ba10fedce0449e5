/** A catalogue of the distinct operations of networks, and their numbers of uses. */
#ifndef NETWORK_OPERATIONS_H
#define NETWORK_OPERATIONS_H

#include "base/arena.h"
#include "base/names.h"
#include "network/bind.h"

/** One operation, as observations of kind `layer` describe it (OBSERVATIONS.md). */
typedef struct net_operation {
    const char *type;
    const char *geometry; /**< keys that differ from their defaults, in the type's order */
    const char *input;    /**< shapes of one sample: "64x56x56", "49x64, 64x49" */
    /** the first layer with this operation; lives as long as its bound network */
    const bound_layer *layer;
    uint64_t           count; /**< uses in all networks */
} net_operation;

/** Zero-initialise. */
typedef struct operation_list {
    net_operation *of; /**< in the order of their first occurrence */
    size_t         n, room;
    /**
     * number of layers that a row cannot describe: their input is no sample of a batch, or a key
     * contains a blank
     */
    uint64_t           n_apart;
    const bound_layer *apart; /**< the first of these; NULL: none */
    names              by_text;
    arena             *arena; /**< owns all of it */
} operation_list;

/**
 * Adds the layers of a network that do work. Inputs and layers that only rename tensors are
 * skipped.
 *
 * @param net bound with a batch above 1, so that the batch differs from a dimension of size 1
 * @param chained true: a function that is the only reader of a layer forms one operation with it:
 *                "conv2d; relu"
 * @param block only the layers of this block; NULL: all
 * @return LM_E_UNSUPPORTED for a counted layer that no backend can run (the text names it);
 *         LM_E_NOTFOUND for an unknown block; LM_E_NOMEM
 */
lm_status operations_add(operation_list *list, const bound_network *net, const char *block,
                         bool chained, lm_error *err);
void      operations_free(operation_list *list);

#endif
