/** Where each repetition of a period begins; for core/epochs. */
#ifndef EPOCHS_TRACK_H
#define EPOCHS_TRACK_H

#include "epochs/period.h"

/**
 * Repetitions of a period, one after the other, as beats are tracked in music (Ellis 2007, "Beat
 * Tracking by Dynamic Programming"): among all sequences of places the one in which each place
 * looks like the others do (correlation with a template of one period around it) and intervals are
 * near the period (their log ratio squared). The template is the mean of the places that were
 * found, three times over; it begins as the neighbourhood of a marked change.
 */
typedef struct track {
    size_t  n;       /**< intervals; there are n + 1 places */
    double *place;   /**< s: beginnings of epochs, and the end of the last */
    double *alike;   /**< of each interval: correlation with the mean of the others */
    double  quality; /**< median of `alike` */
    double  median;  /**< s: median interval */
    double  spread;  /**< median absolute deviation of the intervals, of their median */
    double
        other;  /**< share of the period at another level, which ends where an epoch begins; NAN */
    double bin; /**< s: resolution of the places */
    size_t level;  /**< of the series it was tracked at */
    bool   events; /**< tracked in series_events() */
    bool   marked; /**< short marks come at this distance */
} track;

/** LM_E_NOTFOUND if there are not two repetitions. */
lm_status track_epochs(const series *s, const period *p, track *out, lm_error *err);
void      track_free(track *t);

/** How alike each of n stretches between n + 1 times is to the mean of the others, 0 to 1, at a
 * resolution of 64 bins or fewer. Times in s; alike: n values. LM_E_NOMEM */
lm_status track_alike(const series *s, const double *place, size_t n, double *alike, lm_error *err);

/**
 * How much more alike repetitions of `outer` are than any as many repetitions of `inner` in a row:
 * the median correlation of its repetitions with the mean of the others, less the most of the same
 * of (eight sets of) stretches that begin at other inner places. Not above 0 for a multiple of a
 * period, which may begin anywhere; an epoch of steps may not. In the metric, or in its events if
 * `outer` alone was tracked in them; also at a level where `inner` has vanished.
 */
lm_status track_beyond(const series *s, const track *inner, const track *outer, double *beyond,
                       lm_error *err);

#endif
