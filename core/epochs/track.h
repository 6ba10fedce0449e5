/** Where each repetition of a period begins; for core/epochs. */
#ifndef EPOCHS_TRACK_H
#define EPOCHS_TRACK_H

#include "epochs/period.h"

/**
 * Consecutive repetitions of a period, tracked as beats are in music (Ellis 2007, "Beat Tracking by
 * Dynamic Programming"). The chosen sequence of places has the highest score: correlation of each
 * place with a template of one period, less the squared log ratio of each interval to the period.
 * The template starts as the neighbourhood of a marked change; then it is three times the mean over
 * the places found.
 */
typedef struct track {
    size_t  n;       /**< intervals; there are n + 1 places */
    double *place;   /**< s: beginnings of epochs, and the end of the last */
    double *alike;   /**< of each interval: correlation with the mean of the others */
    double  quality; /**< median of `alike` */
    double  median;  /**< s: median interval */
    double  spread;  /**< median absolute deviation of the intervals, of their median */
    double  other;   /**< share of the period at another level, before an epoch begins; NAN */
    double  bin;     /**< s: resolution of the places */
    size_t  level;   /**< of the series it was tracked at */
    bool    events;  /**< tracked in series_events() */
    bool    marked;  /**< short marks come at this distance */
} track;

/** LM_E_NOTFOUND if there are not two repetitions. */
lm_status track_epochs(const series *s, const period *p, track *out, lm_error *err);
void      track_free(track *t);

/** Similarity, 0 to 1, of each of n stretches between n + 1 times (s) to the mean of the others, at
 * a resolution of at most 64 bins. alike: n values. LM_E_NOMEM */
lm_status track_alike(const series *s, const double *place, size_t n, double *alike, lm_error *err);

/**
 * Is `outer` more than a number of repetitions of `inner`? *beyond is the median correlation of
 * each outer repetition with the mean of the others, minus a baseline. The baseline is the largest
 * such value over eight sets of stretches from other inner places. A mere multiple of a period can
 * begin anywhere, so *beyond is not above 0; an epoch of steps cannot. The metric is compared, or
 * its events if `outer` alone was tracked in them; also a level at which `inner` has vanished.
 */
lm_status track_beyond(const series *s, const track *inner, const track *outer, double *beyond,
                       lm_error *err);

#endif
