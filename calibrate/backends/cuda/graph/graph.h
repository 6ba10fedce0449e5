/**
 * cuDNN's graph API ("backend API") in C: tensors and operations become a graph, the graph becomes
 * plans, one plan is run.
 *
 * A graph owns its descriptors. Errors stick: after the first one all calls do nothing, and
 * graph_plan() returns it. Calls before need no check.
 */
#ifndef CALIBRATE_BACKENDS_CUDA_GRAPH_H
#define CALIBRATE_BACKENDS_CUDA_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cudnn.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>

typedef struct dnn_graph         dnn_graph;
typedef cudnnBackendDescriptor_t graph_node; /**< a tensor of a graph; NULL after an error */

enum { GRAPH_MAX_RANK = 5, GRAPH_MAX_CANDIDATES = 10 };

/** Sizes and strides in elements, the outermost first: N, C, ... for any memory layout. */
typedef struct graph_layout {
    int     rank;
    int64_t dim[GRAPH_MAX_RANK], stride[GRAPH_MAX_RANK];
} graph_layout;

/** Row-major: the last axis is adjacent in memory. */
graph_layout graph_packed(int rank, const int64_t *dim);
/** N, C, spatial axes; with `nhwc` channels are adjacent in memory. */
graph_layout graph_image(int rank, const int64_t *dim, bool nhwc);
/** Number of elements from the first to the last. */
uint64_t graph_elements(const graph_layout *layout);

/** Sliding windows, outermost axis first. */
typedef struct graph_window {
    int     axes;
    int64_t size[3], stride[3], dilation[3], before[3], after[3];
} graph_window;

/**
 * @param handle      plans are for its device and run in its stream
 * @param properties  describes an absent device if `handle` is NULL
 *                    (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR): plans can be made, but not run
 * @return NULL: out of memory. Release with graph_free().
 */
dnn_graph *graph_new(cudnnHandle_t handle, cudnnBackendDescriptor_t properties);
/** NULL is fine. */
void graph_free(dnn_graph *g);

/* ---- tensors --------------------------------------------------------------------------------- */

/** A tensor at at[argument] of graph_run(). */
graph_node graph_argument(dnn_graph *g, size_t argument, const graph_layout *layout,
                          cudnnDataType_t type);
/** A tensor `offset` bytes behind at[argument]. */
graph_node graph_part(dnn_graph *g, size_t argument, size_t offset, const graph_layout *layout,
                      cudnnDataType_t type);
/** A tensor between operations, never in memory. */
graph_node graph_virtual(dnn_graph *g, const graph_layout *layout, cudnnDataType_t type);
/** A tensor in the graph's scratch memory. */
graph_node graph_scratch(dnn_graph *g, const graph_layout *layout, cudnnDataType_t type);
/** A number, of shape 1,1,...; passed with each run. */
graph_node graph_number(dnn_graph *g, int rank, float value);

/* ---- operations ------------------------------------------------------------------------------ */

/** The product of `pass`: it writes one of the three tensors and reads the other two. */
void graph_conv(dnn_graph *g, lm_pass pass, const graph_window *w, graph_node image,
                graph_node filter, graph_node result);
/** y = x OP b; b and select are NULL if the mode has fewer operands. */
void graph_pointwise(dnn_graph *g, cudnnPointwiseMode_t mode, cudnnDataType_t compute, graph_node x,
                     graph_node b, graph_node select, graph_node y);
/** y: index of each element of x along `axis`. */
void graph_index(dnn_graph *g, int axis, graph_node x, graph_node y);

/** Lengths of sequences in a product: rows, columns and summands behind them do not count. int32,
 * of shape batch,1,1,1; NULL: all count. */
typedef struct graph_lengths {
    graph_node rows, columns, summands;
} graph_lengths;

/** c = a b */
void graph_matmul(dnn_graph *g, graph_node a, graph_node b, graph_lengths lengths, graph_node c);
/** Reduces the axes in which y is 1. */
void graph_reduce(dnn_graph *g, cudnnReduceTensorOp_t op, graph_node x, graph_node y);
/** The same elements under another shape. */
void graph_reshape(dnn_graph *g, graph_node x, graph_node y);
/** y: 1 with probability `keep`, else 0. */
void graph_random(dnn_graph *g, double keep, graph_node seed, graph_node offset, graph_node y);

/** Training. RMS norm: no mean, no shift (NULL). */
typedef struct graph_norm {
    cudnnBackendNormMode_t mode;
    graph_node             x, mean, inverse_deviation, scale, shift, epsilon, y;
    graph_node             dy, dx, dscale, dshift;
} graph_norm;

void graph_norm_forward(dnn_graph *g, const graph_norm *n);
void graph_norm_backward(dnn_graph *g, const graph_norm *n);

/* ---- plans ----------------------------------------------------------------------------------- */

/** Rules for acceptable implementations. */
typedef struct graph_rules {
    cudnnBackendHeurMode_t mode; /**< first heuristic; CUDNN_HEUR_MODE_FALLBACK follows */
    bool                   tensor_cores, lower_precision; /**< allowed */
    size_t                 workspace_limit;               /**< bytes */
    int                    wanted; /**< number of candidates, at most GRAPH_MAX_CANDIDATES */
} graph_rules;

/**
 * Makes plans of the first `wanted` implementations that satisfy the rules, in the library's order.
 * Chooses the first.
 *
 * @return LM_E_UNSUPPORTED: none; the text is the library's reason. LM_E_NOMEM
 */
lm_status graph_plan(dnn_graph *g, const graph_rules *rules, lm_error *err);

size_t graph_candidates(const dnn_graph *g);
/** Chooses a plan for the following runs; frees nothing. */
void graph_choose(dnn_graph *g, size_t which);
/** Scratch memory of the chosen plan. */
size_t graph_scratch_bytes(const dnn_graph *g);
/** Description of the chosen plan. "engine 38 tensor varies": it uses tensor cores, and its results
 * vary from run to run. */
/** Does the chosen implementation use tensor cores, according to the library? */
bool graph_on_tensor_cores(const dnn_graph *g);
void graph_describe(const dnn_graph *g, char *buffer, size_t size);

/** Drops kept pointers of earlier runs, because their memory gets other owners. */
void graph_forget(dnn_graph *g);

/**
 * Enqueues the chosen plan.
 *
 * @param at       a pointer for each graph_argument()
 * @param n        length of `at`
 * @param scratch  graph_scratch_bytes(), aligned to 256
 */
cudnnStatus_t graph_run(dnn_graph *g, void *const *at, size_t n, void *scratch);

#endif
