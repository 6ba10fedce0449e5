/**
 * cuDNN's graph API ("backend API") in C: tensors and operations become a graph, the graph becomes
 * plans, one plan is run.
 *
 * A graph owns every descriptor made for it. Errors stick: after the first one nothing more is
 * done, and graph_plan() tells it; so nothing in between needs to be checked.
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

/** Sizes and strides in elements, the outermost first: N, C, ... whatever lies how. */
typedef struct graph_layout {
    int     rank;
    int64_t dim[GRAPH_MAX_RANK], stride[GRAPH_MAX_RANK];
} graph_layout;

/** Row-major: the last axis lies together. */
graph_layout graph_packed(int rank, const int64_t *dim);
/** N, C, spatial axes, of which the channels lie together if `nhwc`. */
graph_layout graph_image(int rank, const int64_t *dim, bool nhwc);
/** Elements from the first to the last. */
uint64_t graph_elements(const graph_layout *layout);

/** How windows slide, outermost axis first. */
typedef struct graph_window {
    int     axes;
    int64_t size[3], stride[3], dilation[3], before[3], after[3];
} graph_window;

/**
 * @param handle      plans are made for its device and run in its stream
 * @param properties  stands for a device that is not there if `handle` is NULL
 *                    (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR): plans can be made, not run
 * @return NULL: out of memory. Release with graph_free().
 */
dnn_graph *graph_new(cudnnHandle_t handle, cudnnBackendDescriptor_t properties);
/** NULL is fine. */
void graph_free(dnn_graph *g);

/* ---- tensors --------------------------------------------------------------------------------- */

/** Lies at at[argument] of graph_run(). */
graph_node graph_argument(dnn_graph *g, size_t argument, const graph_layout *layout,
                          cudnnDataType_t type);
/** Lies `offset` bytes behind that. */
graph_node graph_part(dnn_graph *g, size_t argument, size_t offset, const graph_layout *layout,
                      cudnnDataType_t type);
/** Between operations; never in memory. */
graph_node graph_virtual(dnn_graph *g, const graph_layout *layout, cudnnDataType_t type);
/** In the graph's scratch memory. */
graph_node graph_scratch(dnn_graph *g, const graph_layout *layout, cudnnDataType_t type);
/** One number, of shape 1,1,...; handed over with each run. */
graph_node graph_number(dnn_graph *g, int rank, float value);

/* ---- operations ------------------------------------------------------------------------------ */

/** The product that `pass` names; the two it does not write are read. */
void graph_conv(dnn_graph *g, lm_pass pass, const graph_window *w, graph_node image,
                graph_node filter, graph_node result);
/** y = x OP b; b and select NULL where the mode has fewer operands. */
void graph_pointwise(dnn_graph *g, cudnnPointwiseMode_t mode, cudnnDataType_t compute, graph_node x,
                     graph_node b, graph_node select, graph_node y);
/** y: each element's index along `axis`, as x is shaped. */
void graph_index(dnn_graph *g, int axis, graph_node x, graph_node y);
void graph_matmul(dnn_graph *g, graph_node a, graph_node b, graph_node c);
/** Over the axes in which y is 1. */
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

/** Which implementations will do. */
typedef struct graph_rules {
    cudnnBackendHeurMode_t mode; /**< asked first; CUDNN_HEUR_MODE_FALLBACK is asked after it */
    bool                   tensor_cores, lower_precision; /**< may be used */
    size_t                 workspace_limit;               /**< bytes */
    int                    wanted; /**< candidates, at most GRAPH_MAX_CANDIDATES */
} graph_rules;

/**
 * Makes plans of the first `wanted` implementations, in the order in which the library proposes
 * them, that keep the rules; the first is chosen.
 *
 * @return LM_E_UNSUPPORTED: none; the text is the library's reason. LM_E_NOMEM
 */
lm_status graph_plan(dnn_graph *g, const graph_rules *rules, lm_error *err);

size_t graph_candidates(const dnn_graph *g);
/** For the runs that follow; frees nothing. */
void graph_choose(dnn_graph *g, size_t which);
/** Of the chosen one: scratch memory it needs. */
size_t graph_scratch_bytes(const dnn_graph *g);
/** The chosen one: "engine 38 tensor varies": on tensor cores, its
 * results not the same each time. */
/** Does the chosen implementation run on tensor cores, as it says of itself? */
bool graph_on_tensor_cores(const dnn_graph *g);
void graph_describe(const dnn_graph *g, char *buffer, size_t size);

/** Drops what is kept of the pointers it was run with: the memory goes to others. */
void graph_forget(dnn_graph *g);

/**
 * Enqueues the chosen plan.
 *
 * @param at       a pointer for each graph_argument()
 * @param n        of `at`
 * @param scratch  graph_scratch_bytes(), aligned to 64
 */
cudnnStatus_t graph_run(dnn_graph *g, void *const *at, size_t n, void *scratch);

#endif
