/** Topological order: inputs precede their uses. */
#ifndef BASE_GRAPH_H
#define BASE_GRAPH_H

#include <stddef.h>

#include <layermeter/error.h>

#define GRAPH_END ((size_t)-1)

/** Nodes, and the nodes that each takes its inputs from. */
typedef struct graph {
    size_t n;
    /** Input k of a node; GRAPH_END: the node has no more. */
    size_t (*input)(const void *of, size_t node, size_t k);
    const void *of;
} graph;

/**
 * Keeps the given order where the inputs allow it.
 *
 * @param order n entries, filled on success
 * @param cycle on LM_E_SYNTAX one node of a cycle
 * @return LM_E_SYNTAX for a cycle, LM_E_NOMEM; no text is written
 */
lm_status graph_order(const graph *g, size_t *order, size_t *cycle);

#endif
