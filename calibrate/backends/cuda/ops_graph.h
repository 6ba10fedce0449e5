/** Kernels that are graphs, one or two after the other: what the families on cuDNN's graph API
 * share.
 */
#ifndef CALIBRATE_BACKENDS_CUDA_OPS_GRAPH_H
#define CALIBRATE_BACKENDS_CUDA_OPS_GRAPH_H

#include "cuda_kernels.h"
#include "graph/graph.h"

/** False for what no GPU library here computes in. */
bool ops_type(lm_dtype dtype, cudnnDataType_t *out);

/** Standard deviation that keeps the variance of a signal that passes through a rectifier and `n`
 * weights (He et al. 2015). */
double ops_fan_in(int64_t n);

/** Adds a slot for a tensor of `type` (of its own dtype `f`.type). @return its place in `at` */
size_t ops_slot(cuda_kernel *k, cuda_argument argument, slot_role role, const graph_layout *layout,
                lm_dtype dtype, fill f);

/** A graph on `device`; NULL: out of memory. */
dnn_graph *ops_graph_new(const cuda_device *device);

/** Freedom that frameworks give an implementation: see ops_graph.c. */
graph_rules ops_rules(const cuda_device *device, const settings *how, lm_dtype dtype,
                      cudnnBackendHeurMode_t mode);

/** Work behind a graph, by a classic call. */
typedef struct ops_after {
    lm_status (*run)(const struct ops_after *self, const cuda_device *device, void *const *at,
                     lm_error *err);
    void (*release)(struct ops_after *self);
} ops_after;

/**
 * Plans the graph, times the candidates if `rules` wants several, adds the slot for scratch memory,
 * and fills k->made, k->run, k->release and k->implementation.
 *
 * @param g      taken over, freed on failure; NULL: could not be made
 * @param after  taken over likewise; NULL: nothing
 */
lm_status ops_graph_finish(const cuda_device *device, cuda_kernel *k, dnn_graph *g,
                           ops_after *after, const graph_rules *rules, lm_error *err);

/** Sets the implementation to the fastest of `n`. All slots are there; `choose` makes the kernel
 * run the i-th. Where memory does not suffice to try, the first stays. @return LM_E_IO alone */
lm_status ops_tune(const cuda_device *device, cuda_kernel *k, size_t n,
                   void (*choose)(cuda_kernel *k, size_t i), bool *tuned, lm_error *err);

#endif
