/** From places where epochs begin to a run told apart; for core/epochs. */
#ifndef EPOCHS_LABEL_H
#define EPOCHS_LABEL_H

#include "epochs/epochs.h"

/** What a method found. */
typedef struct found_places {
    const double *place;      /**< s, n + 1 of them */
    const double *alike;      /**< n, or NULL: not told */
    size_t        n;          /**< intervals, at least 1 */
    double        from, to;   /**< s: where training is at work; -INFINITY, INFINITY: not told */
    double        resolution; /**< s: how exactly places are known */
} found_places;

/**
 * Kinds of the intervals and of what is before and behind them, the steady epoch time and its
 * interval.
 *
 * Epochs are steady whose length is within five median deviations (4 % at least) of the median of
 * the second half;
 * longer ones at the beginning are warm-ups. The steady time is their mean; its 90 % interval
 * Student's, with the resolution of both ends. An epoch is missing if most of its bins are.
 */
lm_status label_epochs(const trace_grid *g, const found_places *f, epochs *out, lm_error *err);

#endif
