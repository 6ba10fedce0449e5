/** Shared declarations of the parts of graph.h: graph.c makes and keeps descriptors,
 * operations.c draws, plan.c chooses and runs. */
#ifndef CALIBRATE_BACKENDS_CUDA_GRAPH_PARTS_H
#define CALIBRATE_BACKENDS_CUDA_GRAPH_PARTS_H

#include "graph.h"

enum {
    GRAPH_MAX_OPERATIONS  = 48,
    GRAPH_MAX_NUMBERS     = 8,
    GRAPH_MAX_BOUND       = 24, /* tensors in memory: arguments, scratch, numbers */
    GRAPH_ALIGNMENT       = 16, /* bytes: what the fastest kernels want */
    GRAPH_SCRATCH_ALIGNED = 256,
    GRAPH_MAX_CONFIGS     = 64 /* of one heuristic */
};

typedef struct graph_engine {
    cudnnBackendDescriptor_t plan;
    int64_t                  engine, workspace;
    bool                     tensor_cores, lower_precision, varies;
} graph_engine;

/* A tensor in memory, and where. */
typedef struct bound {
    enum { BOUND_ARGUMENT, BOUND_SCRATCH, BOUND_NUMBER } kind;
    size_t place, offset; /* argument or number; bytes behind its start, or that of the scratch */
} bound;

/* Pointers once bound, as launches come again and again with the same ones. */
typedef struct pack {
    cudnnBackendDescriptor_t variant;
    const void              *key[GRAPH_MAX_BOUND + 1]; /* the pointers, and the scratch memory */
} pack;

typedef union number {
    float   f;
    int64_t i;
} number;

struct dnn_graph {
    cudnnHandle_t             handle;
    cudnnBackendDescriptor_t  properties;
    cudnnBackendDescriptor_t *owned;
    size_t                    n_owned, room;
    cudnnBackendDescriptor_t  operation[GRAPH_MAX_OPERATIONS];
    size_t                    n_operations;
    bound                     bound[GRAPH_MAX_BOUND]; /* uid: place in this list + 1 */
    size_t                    n_bound;
    int64_t                   n_virtual;
    number                    number[GRAPH_MAX_NUMBERS];
    size_t                    n_numbers, scratch_bytes;
    graph_engine              candidate[GRAPH_MAX_CANDIDATES];
    size_t                    n_candidates, chosen;
    pack                     *pack;
    size_t                    n_packs, last_pack;
    cudnnStatus_t             cause;
    char                      text[256];
};

/** Keeps the first failure, with the library's last words. */
void graph_note(dnn_graph *g, cudnnStatus_t cause, const char *what);
bool graph_failed(const dnn_graph *g);

/** A descriptor of the graph's own; NULL after a failure. */
cudnnBackendDescriptor_t graph_make(dnn_graph *g, cudnnBackendDescriptorType_t type,
                                    const char *what);
/** Destroys everything made since there were `n`. */
void graph_unmake(dnn_graph *g, size_t n);

/* After a failure these do nothing. */
void graph_set(dnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
               cudnnBackendAttributeType_t type, int64_t n, const void *values, const char *what);
void graph_set_node(dnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                    cudnnBackendDescriptor_t value, const char *what);
void graph_set_type(dnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                    cudnnDataType_t value, const char *what);
void graph_set_long(dnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                    int64_t value, const char *what);
void graph_finish(dnn_graph *g, cudnnBackendDescriptor_t d, const char *what);

#endif
