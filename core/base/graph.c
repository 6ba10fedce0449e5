/* An order in which every input precedes its use: depth first, without recursion. */
#include "base/graph.h"

#include <stdlib.h>

#include "base/no_memory.h"

enum { UNSEEN, OPEN, DONE };

lm_status graph_order(const graph *g, size_t *order, size_t *cycle)
{
    unsigned char *state  = calloc(g->n ? g->n : 1, 1);
    size_t        *stack  = malloc((g->n + 1) * sizeof *stack);
    size_t        *next   = malloc((g->n + 1) * sizeof *next); /* input to look at next */
    size_t         placed = 0;
    lm_status      status = LM_OK;

    if (!state || !stack || !next) {
        status = LM_E_NOMEM;
        goto out;
    }
    for (size_t root = 0; root < g->n; root++) {
        size_t depth = 0;

        if (state[root] != UNSEEN)
            continue;
        stack[depth] = root;
        next[root]   = 0;
        state[root]  = OPEN;
        for (;;) {
            const size_t node = stack[depth], input = g->input(g->of, node, next[node]++);

            if (input == GRAPH_END) {
                state[node]     = DONE;
                order[placed++] = node;
                if (depth-- == 0)
                    break;
                continue;
            }
            if (state[input] == OPEN) {
                *cycle = input;
                status = LM_E_SYNTAX;
                goto out;
            }
            if (state[input] == UNSEEN) {
                state[input]   = OPEN;
                next[input]    = 0;
                stack[++depth] = input;
            }
        }
    }
out:
    free_all(state, stack, next);
    return status;
}
