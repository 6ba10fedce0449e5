/** What could be measured: networks at batches, images and numbers of ranks. */
#ifndef SUGGEST_CANDIDATES_H
#define SUGGEST_CANDIDATES_H

#include "base/names.h"
#include "network/memory.h"
#include "observe/points.h"
#include "suggest/design.h"
#include "suggest/stopping.h"

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

/** Number of a network, as a design knows it. DESIGN_NONE: none of that name. */
size_t candidates_network(const candidates *c, const char *name);

/** The number of a measured point's network; parts whose times fits take. */
design_case candidates_case(const candidates *c, const point *p, design_times *times);

/** Does a training step of it fit into `room` bytes of each device? */
lm_status candidate_fits(const candidate *c, const registry *reg, lm_dtype dtype, optimizer o,
                         uint64_t room, bool *fits, lm_error *err);

/** Seconds of a step, as expected, and of measuring it. */
double candidate_step(const design *d, const design_case *what);
double candidate_cost(const stopping *stop, double step);

#endif
