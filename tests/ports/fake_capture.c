/* CUDA graphs of a device that is not there: calls that a stream captured, and their launches. */
#include <stdlib.h>

#include "fake_queue.h"

struct CUgraphExec_st {
    queue calls;
};

static size_t n_graphs; /* under the lock */

size_t fake_graphs(void)
{
    return n_graphs;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    struct CUgraph_st **capture = stream ? fake_capture_of(stream) : NULL;

    (void)mode;
    fake_enter();
    if (!capture || *capture)
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    if (!(*capture = calloc(1, sizeof **capture)))
        return fake_leave(cudaErrorMemoryAllocation);
    (*capture)->calls.end = &(*capture)->calls.first;
    n_graphs++;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    struct CUgraph_st **capture = stream ? fake_capture_of(stream) : NULL;

    fake_enter();
    if (!capture || !*capture)
        return fake_leave(cudaErrorIllegalState);
    *out     = *capture;
    *capture = NULL;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n)
{
    if (nodes)
        return cudaErrorNotSupported;
    *n = graph->n;
    return cudaSuccess;
}

/* The contexts move from the graph: it is instantiated once. */
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    struct CUgraphExec_st *g = calloc(1, sizeof *g);

    (void)flags;
    fake_enter();
    if (!g)
        return fake_leave(cudaErrorMemoryAllocation);
    g->calls = graph->calls;
    if (!g->calls.first)
        g->calls.end = &g->calls.first;
    graph->calls = (queue){ NULL, &graph->calls.first };
    n_graphs++;
    *out = g;
    return fake_leave(cudaSuccess);
}

static void run_graph(void *context)
{
    for (const item *i = (*(cudaGraphExec_t *)context)->calls.first; i && !fake_is_broken();
         i             = i->next)
        i->call(i->context);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    return fake_enqueue(stream, run_graph, &graph, sizeof graph);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    fake_enter();
    queue_free(&graph->calls);
    free(graph);
    n_graphs--;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    fake_enter();
    fake_run_all();
    queue_free(&graph->calls);
    free(graph);
    n_graphs--;
    return fake_leave(cudaSuccess);
}
