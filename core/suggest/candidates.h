/** Candidates of measurements, and targets of predictions: networks at batches, image sizes and
 * numbers of ranks. */
#ifndef SUGGEST_CANDIDATES_H
#define SUGGEST_CANDIDATES_H

#include <stdint.h>

#include "base/names.h"
#include "network/memory.h"
#include "observe/points.h"
#include "observe/workloads.h"
#include "suggest/design.h"
#include "suggest/stopping.h"

/** Larger networks are not proposed, unless asked for: measuring them takes too long. */
#define CANDIDATES_MOST_PARAMS 500000000u

/** Targets of a design: networks by name, at a few batches and nodes. */
typedef struct targets {
    design_case *item;
    size_t       n, room;
} targets;

/**
 * Adds a network with its file's input at each batch and on each number of nodes. A batch that the
 * network refuses is left out.
 *
 * @return as counting it at the first batch; LM_E_NOMEM
 */
lm_status targets_add_at(targets *t, workloads *loads, const char *name, lm_dtype dtype,
                         const int64_t *batch, size_t n_batch, const int64_t *nodes, size_t n_nodes,
                         lm_error *err);

/**
 * Adds a network at batches 1, 8 and 64 with its file's input, on one node and on `most`. A batch
 * that the network refuses is left out.
 *
 * @return as counting it at batch 1; LM_E_NOMEM
 */
lm_status targets_add(targets *t, workloads *loads, const char *name, lm_dtype dtype, int64_t most,
                      lm_error *err);

/** Adds a spread of the known networks: every fifth one, without those of more than half a billion
 * parameters and those that need arguments. Finding none is no error. */
lm_status targets_add_known(targets *t, workloads *loads, lm_dtype dtype, int64_t most,
                            lm_error *err);

void targets_free(targets *t);

typedef struct candidate {
    const char    *name;  /**< of the network */
    const char    *input; /**< shape of one sample */
    int64_t        image; /**< image size; 0: the file's */
    int64_t        batch, ranks;
    size_t         number; /**< of its network, from 0 up */
    const network *net;
} candidate;

/** Ranges of candidates; all combinations are tried. */
typedef struct candidate_ranges {
    const int64_t *batch, *image, *ranks; /**< image 0: the file's own input */
    size_t         n_batch, n_image, n_ranks;
    lm_dtype       dtype;
    uint64_t       most_params; /**< limit for networks; 0: none */
} candidate_ranges;

typedef struct candidates {
    candidate    *item;
    design_case  *what;                     /**< each candidate as a case of the design */
    size_t        n, n_measured, n_refused; /**< candidates left out: measured already, or refused
                                             * by the network */
    names         by_name;                  /**< networks, also measured ones */
    size_t        n_networks;
    names         seen; /**< keys of measured points and of candidates */
    size_t        room;
    struct arena *arena; /**< owns the text */
} candidates;

/** Empty, but for its arena. */
lm_status candidates_new(candidates *c, lm_error *err);
void      candidates_free(candidates *c);

/** Excludes points that were measured already, and numbers their networks. Call it before
 * candidates_add(). `p` must outlive `c`. */
lm_status candidates_measured(candidates *c, const points *p, lm_error *err);

/**
 * Adds a network in all new combinations, without the images and batches that it refuses. A network
 * with fixed images gets one input.
 *
 * @return LM_E_NOMEM; as opening it
 */
lm_status candidates_add(candidates *c, workloads *loads, const char *name,
                         const candidate_ranges *ranges, lm_error *err);

/** A measured point as a case of the design. `times` gets the parts that fits use. */
design_case candidates_case(const candidates *c, const point *p, design_times *times);

/** Does a training step fit into `room` bytes of each device? */
lm_status candidate_fits(const candidate *c, const registry *reg, lm_dtype dtype, optimizer o,
                         uint64_t room, bool *fits, lm_error *err);

/** Seconds of measuring a candidate whose step takes `step` seconds (design_step_seconds()). */
double candidate_cost(const stopping *stop, double step);

#endif
