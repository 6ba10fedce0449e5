/** What repeats in a metric, at all scales; for core/epochs. */
#ifndef EPOCHS_PERIOD_H
#define EPOCHS_PERIOD_H

#include "epochs/series.h"

/** Shorter periods are steps, not epochs: there is no telling their parts apart. */
#define PERIOD_LEAST_SAMPLES 12

typedef struct period {
    double seconds;
    double strength; /**< autocorrelation at that lag, 0 to 1 */
    size_t level;    /**< of the series at which it was seen best */
    bool   events;   /**< seen in series_events() of the level, not in the metric itself */
    bool   marked;   /**< short marks come at this distance (marks.h) */
} period;

#define PERIODS_MAX 24

/**
 * Periods by autocorrelation, the shortest first. At each level of the series, lags of 12 to 96
 * bins (at the last one to two thirds of it) are looked at, so that a period is seen where its own
 * shape shows and what is faster has vanished: steps within epochs are found at their level and
 * epochs at theirs. A lag counts if it is a peak, and a multiple of a shorter one only if it is
 * clearly the higher. Correlations are of the two overlapping parts, each with its own mean and
 * variance, over at most 64 windows of 1024 bins (by FFT; Wiener & Khinchin).
 */
lm_status periods_find(const series *s, period out[PERIODS_MAX], size_t *n, lm_error *err);

#endif
