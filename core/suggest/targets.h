/** What planners ask for, as a design takes it: networks by name, at a few batches and nodes. */
#ifndef SUGGEST_TARGETS_H
#define SUGGEST_TARGETS_H

#include "observe/workloads.h"
#include "suggest/design.h"

typedef struct targets {
    design_case *item;
    size_t       n, room;
} targets;

/** Batches that are asked for where nobody says which. */
#define TARGETS_N_BATCHES 3
extern const int64_t targets_batches[TARGETS_N_BATCHES];

/**
 * Adds a network with its file's input at each batch, on each number of nodes. A batch that the
 * network refuses is left out.
 *
 * @return what counting it at the first batch says, LM_E_NOMEM
 */
lm_status targets_add_at(targets *t, workloads *loads, const char *name, lm_dtype dtype,
                         const int64_t *batch, size_t n_batch, const int64_t *nodes, size_t n_nodes,
                         lm_error *err);

/**
 * Adds a network at batches 1, 8 and 64, with its file's input, alone and on `most` nodes where
 * that is more than one. A batch that the network refuses is left out.
 *
 * @return what counting it at batch 1 says, LM_E_NOMEM
 */
lm_status targets_add(targets *t, workloads *loads, const char *name, lm_dtype dtype, int64_t most,
                      lm_error *err);

/**
 * A spread of the networks that are known by name: every fifth of them, those of more than half a
 * billion parameters and those that must be told something first left out. Finding none is no
 * error.
 */
lm_status targets_add_known(targets *t, workloads *loads, lm_dtype dtype, int64_t most,
                            lm_error *err);

void targets_free(targets *t);

#endif
