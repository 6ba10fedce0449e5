/** An order in which every input precedes its use. */
#ifndef NETWORK_GRAPH_H
#define NETWORK_GRAPH_H

#include <stddef.h>

#include <layermeter/error.h>

/** Nodes and what each takes from: input[first[i]] .. input[first[i + 1] - 1]. */
typedef struct graph {
    size_t        n;
    const size_t *first; /**< n + 1 */
    const size_t *input;
} graph;

/**
 * Keeps the given order wherever the inputs allow it.
 *
 * @param order n entries, filled on success
 * @param cycle on LM_E_SYNTAX one node of a cycle
 * @return LM_E_SYNTAX for a cycle, LM_E_NOMEM; no text is written
 */
lm_status graph_order(const graph *g, size_t *order, size_t *cycle);

#endif
