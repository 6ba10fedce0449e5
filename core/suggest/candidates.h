/** What could be measured and what will be asked for: networks at batches, images and numbers of
 * ranks. */
#ifndef SUGGEST_CANDIDATES_H
#define SUGGEST_CANDIDATES_H

#include <stdint.h>

#include "base/names.h"
#include "network/memory.h"
#include "observe/points.h"
#include "observe/workloads.h"
#include "suggest/design.h"
#include "suggest/stopping.h"

/** What planners ask for, as a design takes it: networks by name, at a few batches and nodes. */
typedef struct targets {
    design_case *item;
    size_t       n, room;
} targets;

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

typedef struct candidate {
    const char    *name;  /**< of the network */
    const char    *input; /**< shape of one sample */
    int64_t        image; /**< that makes it; 0: the file's */
    int64_t        batch, ranks;
    size_t         number; /**< of its network, from 0 up */
    const network *net;
} candidate;

/** Lists behind candidates; all combinations are tried. */
typedef struct candidate_ranges {
    const int64_t *batch, *image, *ranks; /**< image 0: the file's own input */
    size_t         n_batch, n_image, n_ranks;
    lm_dtype       dtype;
    uint64_t       most_params; /**< larger networks are passed over; 0: none is */
} candidate_ranges;

typedef struct candidates {
    candidate    *item;
    design_case  *what;                     /**< of each, as a design takes it */
    size_t        n, n_measured, n_refused; /**< left out: measured already, refused by a network */
    names         by_name;                  /**< networks, also of what was measured */
    size_t        n_networks;
    names         seen; /**< keys of what was measured, and of the candidates */
    size_t        room;
    struct arena *arena; /**< owns the text */
} candidates;

/** Zeroed but for its arena. */
lm_status candidates_new(candidates *c, lm_error *err);
void      candidates_free(candidates *c);

/** What was measured already: its networks get numbers, and it becomes no candidate. Before
 * candidates_add(). `p` must outlive `c`. */
lm_status candidates_measured(candidates *c, const points *p, lm_error *err);

/**
 * Adds a network in all combinations that are not there yet. Of what it refuses (an image too
 * small, a batch) nothing is added; of images that cannot be changed one input.
 *
 * @return LM_E_NOMEM; what opening it says
 */
lm_status candidates_add(candidates *c, workloads *loads, const char *name,
                         const candidate_ranges *ranges, lm_error *err);

/** The number of a measured point's network; parts whose times fits take. */
design_case candidates_case(const candidates *c, const point *p, design_times *times);

/** Does a training step of it fit into `room` bytes of each device? */
lm_status candidate_fits(const candidate *c, const registry *reg, lm_dtype dtype, optimizer o,
                         uint64_t room, bool *fits, lm_error *err);

/** Seconds that measuring a candidate takes, by those of its step (design_step_seconds()). */
double candidate_cost(const stopping *stop, double step);

#endif
