/** Counts of the networks that observations name, at any batch. */
#ifndef OBSERVE_WORKLOADS_H
#define OBSERVE_WORKLOADS_H

#include "counts/features.h"
#include "layers/registry.h"
#include "network/bind.h"
#include "network/metrics.h"
#include "observe/gradients.h"

typedef struct workloads workloads;

/** `reg` must outlive it. */
lm_status workloads_new(const registry *reg, workloads **out, lm_error *err);
void      workloads_free(workloads *w);
/** Where its layer types come from. */
const registry *workloads_registry(const workloads *w);

/** Hands over a network that is open already, to be found under `name`. It is freed with `w`, or at
 * once on failure. */
lm_status workloads_give(workloads *w, const char *name, network *net, lm_error *err);
/** Lends one: it stays the caller's, and must outlive `w`. */
lm_status workloads_lend(workloads *w, const char *name, const network *net, lm_error *err);

/** What is counted: a network with inputs of a shape. */
typedef struct workload_name {
    const char *name, *input;
    lm_dtype    dtype;
} workload_name;

/**
 * Counts several, which will be asked for one by one: in parallel (layer types' callbacks may be
 * called so, plugin.h). Of what cannot be counted nothing is said until it is asked for.
 *
 * @return LM_E_NOMEM
 */
lm_status workloads_prepare(workloads *w, const workload_name *of, size_t n, lm_error *err);

/**
 * Counts of the network `name` (model name or path) with inputs of shape `input` ("" or NULL: the
 * file's) at a batch. A network is bound at batches 1, 2 and 3 only: where the counts grow by the
 * same steps, as those of any layer that treats samples alike do, all batches follow exactly; where
 * they do not, each batch is bound by itself.
 */
lm_status workloads_counts(workloads *w, const char *name, const char *input, lm_dtype dtype,
                           int64_t batch, net_metrics *out, lm_error *err);

/** The network itself at that batch: to be freed before `w`. */
lm_status workloads_bind_at(workloads *w, const char *name, const char *input, lm_dtype dtype,
                            int64_t batch, bound_network **out, lm_error *err);

/** Shape of one sample that the same counts are of, the file's own if none is given. *out lives as
 * long as `w`. */
lm_status workloads_input(workloads *w, const char *name, const char *input, lm_dtype dtype,
                          const char **out, lm_error *err);

/** Do all counts grow by equal steps with the batch? */
lm_status workloads_even(workloads *w, const char *name, const char *input, lm_dtype dtype,
                         bool *out, lm_error *err);

/** A workload with room for its terms: not to be copied, which would leave them behind. */
typedef struct full_workload {
    workload  load;
    term_item room[3][N_TERMS];
} full_workload;

/**
 * Counts and terms of the same on one node, with an update by optimizer `o`. Terms, too, come from
 * batches 1 and 2 where the counts grow by equal steps.
 */
lm_status workloads_full(workloads *w, const char *name, const char *input, lm_dtype dtype,
                         int64_t batch, const term_settings *s, optimizer o, full_workload *out,
                         lm_error *err);

/**
 * What workloads_full() comes from, layer by layer: where the counts grow by equal steps the
 * network at batches 1 and 2, a count at batch b being first + (b - 1) (second - first); else the
 * network at that batch, and out[1] is NULL. To be freed by bound_network_free().
 */
lm_status workloads_bind(workloads *w, const char *name, const char *input, lm_dtype dtype,
                         int64_t batch, bound_network *out[2], lm_error *err);

/** When its backward pass completes which gradient. *out lives until the next call for the same
 * network, or as long as `w`. */
lm_status workloads_gradients(workloads *w, const char *name, const char *input, lm_dtype dtype,
                              int64_t batch, const term_settings *s, const gradient_schedule **out,
                              lm_error *err);

#endif
