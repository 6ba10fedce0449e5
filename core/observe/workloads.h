/** Counts of the networks that observations name, at any batch. */
#ifndef OBSERVE_WORKLOADS_H
#define OBSERVE_WORKLOADS_H

#include "counts/features.h"
#include "layers/registry.h"
#include "network/bind.h"
#include "network/metrics.h"
#include "observe/gradients.h"
#include "observe/observation.h"

typedef struct workloads workloads;

/** Makes an empty set. `reg` must outlive it. */
lm_status workloads_new(const registry *reg, workloads **out, lm_error *err);
void      workloads_free(workloads *w);
/** Source of its layer types. */
const registry *workloads_registry(const workloads *w);

/** Takes over an open network, to be found under `name`. It is freed with `w`, or at once on
 * failure. */
lm_status workloads_give(workloads *w, const char *name, network *net, lm_error *err);
/** Adds an open network that stays the caller's and must outlive `w`. */
lm_status workloads_lend(workloads *w, const char *name, const network *net, lm_error *err);

/** A network, by model name or path, with inputs of a shape. */
typedef struct workload_name {
    const char   *name, *input; /**< input "" or NULL: the file's */
    lm_dtype      dtype;
    lm_dtype      mixed;      /**< autocast to this type; 0: none (bind_options) */
    autocast_kind on;         /**< as of bind_options */
    bool          evaluation; /**< bound for inference, see bind_options */
    net_shard     shard;      /**< the part that one rank has; zeros: all */
} workload_name;

/**
 * Counts several networks in parallel, before they are requested one by one (plugin.h allows
 * parallel callbacks of layer types). Errors are reported when a network is requested.
 *
 * @return LM_E_NOMEM
 */
lm_status workloads_prepare(workloads *w, const workload_name *of, size_t n, lm_error *err);

/**
 * Counts of a network at a batch. A network is bound at batches 1, 2 and 3 only. If its counts grow
 * in equal steps, other batches follow exactly, as for layers that handle samples alike; otherwise
 * each batch is bound.
 */
lm_status workloads_counts(workloads *w, const workload_name *of, int64_t batch, net_metrics *out,
                           lm_error *err);

/** The bound network at that batch, to be freed before `w`. */
lm_status workloads_bind_at(workloads *w, const workload_name *of, int64_t batch,
                            bound_network **out, lm_error *err);

/** Shape of one sample behind these counts, the file's if none is given. *out lives as long as
 * `w`. */
lm_status workloads_input(workloads *w, const workload_name *of, const char **out, lm_error *err);

/** Do all counts grow in equal steps with the batch? */
lm_status workloads_even(workloads *w, const workload_name *of, bool *out, lm_error *err);

/** A workload with room for its terms. Do not copy it: it points into itself. */
typedef struct full_workload {
    workload  load;
    term_item room[3][N_TERMS];
} full_workload;

/**
 * Counts and terms on one node, with an update by optimizer `o`. Terms also follow from batches 1
 * and 2 if the counts grow in equal steps.
 */
lm_status workloads_full(workloads *w, const workload_name *of, int64_t batch,
                         const term_settings *s, optimizer o, full_workload *out, lm_error *err);

/**
 * The bound networks behind workloads_full(), for sums over layers. If counts grow in equal steps:
 * the network at batches 1 and 2; a count at batch b is first + (b - 1) (second - first). Otherwise
 * the network at that batch, and out[1] is NULL. The caller frees them with bound_network_free().
 */
lm_status workloads_bind(workloads *w, const workload_name *of, int64_t batch,
                         bound_network *out[2], lm_error *err);

/**
 * Schedule of the network's gradients. *out is valid until the next call for the same network, or
 * until `w` is freed.
 */
lm_status workloads_gradients(workloads *w, const workload_name *of, int64_t batch,
                              const term_settings *s, const gradient_schedule **out, lm_error *err);

/** Binds a row of a layer as it ran, under autocast if it did: single_bind_as(). */
lm_status row_bind_layer(const observation *row, const registry *reg, network **net,
                         bound_network **out, lm_error *err);

#endif
