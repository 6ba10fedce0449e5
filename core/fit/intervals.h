/** Intervals of the predicted times of a model. */
#ifndef FIT_INTERVALS_H
#define FIT_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fit/interval.h"
#include "network/phase.h"

typedef struct intervals {
    interval of[N_TIMES]; /**< PHASE_GRAD: of several ranks; PHASE_GRAD_ONE: none */
} intervals;

/** The interval of a time on one rank or on several: a step has two, as all-reduces differ more. */
phase interval_phase(phase p, bool many);

/** How far a batch, or a number of ranks, lies outside of what each interval was measured with:
 * what many points share. */
typedef struct interval_reach {
    widening of[N_TIMES];
    unsigned known; /**< the intervals that are, 1 << phase each */
} interval_reach;

/** Of SCOPE_BATCH or SCOPE_NODES. */
void intervals_reach(const intervals *all, scope s, int64_t value, interval_reach *out);

/** Where a prediction lies. A reach may be NULL: nobody has asked. */
typedef struct interval_place {
    int64_t               batch, ranks; /**< batch 0: of none */
    const interval_reach *of_batch, *of_ranks;
} interval_place;

/**
 * Bounds of a predicted time. Where its own interval is unknown, those of its parts added up: a
 * step of forward, backward, all-reduce and update.
 *
 * @param seconds predicted, of each quantity there is at this point
 */
void intervals_at(const intervals *all, phase q, const double seconds[N_TIMES],
                  const interval_place *place, double *low, double *high);

/** The same of a step and all of its parts; of other quantities NAN. */
void intervals_of_step(const intervals *all, const double seconds[N_TIMES],
                       const interval_place *place, double low[N_TIMES], double high[N_TIMES]);

#endif
