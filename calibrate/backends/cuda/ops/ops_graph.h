/** Kernels that consist of a cuDNN graph: functions for all families on the graph API. */
#ifndef CALIBRATE_BACKENDS_CUDA_OPS_GRAPH_H
#define CALIBRATE_BACKENDS_CUDA_OPS_GRAPH_H

#include "cuda_kernels.h"
#include "graph/graph.h"

/** The library's name of an element type; false: no library here computes in it. */
bool ops_type(lm_dtype dtype, cudnnDataType_t *out);

/** Standard deviation that keeps the variance of a signal that passes through a rectifier and `n`
 * weights (He et al. 2015). */
double ops_fan_in(int64_t n);

/** Adds a slot for a tensor of `type` (of its own dtype `f`.type). Returns its place in `at`. */
size_t ops_slot(cuda_kernel *k, cuda_argument argument, slot_role role, const graph_layout *layout,
                lm_dtype dtype, fill f);

/** A graph on `device`; NULL: out of memory. */
dnn_graph *ops_graph_new(const cuda_device *device);

/** Rules for implementations, as in frameworks: see ops_graph.c. */
graph_rules ops_rules(const cuda_device *device, const settings *how, lm_dtype dtype,
                      cudnnBackendHeurMode_t mode);

/** Work after a graph, by a classic call. */
typedef struct ops_after {
    lm_status (*run)(const struct ops_after *self, const cuda_device *device, void *const *at,
                     lm_error *err);
    void (*release)(struct ops_after *self);
} ops_after;

/**
 * Plans the graph, times the candidates if `rules` wants several, adds the slot for scratch memory,
 * and fills k->made, k->run, k->release and k->implementation.
 *
 * @param g      the kernel owns it; freed on failure; NULL: out of memory
 * @param after  owned in the same way; NULL: none
 */
lm_status ops_graph_finish(const cuda_device *device, cuda_kernel *k, dnn_graph *g,
                           ops_after *after, const graph_rules *rules, lm_error *err);

/** Chooses the fastest of `n` implementations. All slots exist; `choose` makes the kernel run the
 * i-th. If memory does not suffice for trials, the first one stays. Returns only LM_E_IO. */
lm_status ops_tune(const cuda_device *device, cuda_kernel *k, size_t n,
                   void (*choose)(cuda_kernel *k, size_t i), bool *tuned, lm_error *err);

#endif
