/** Periods in a metric at all scales, by autocorrelation and by marks; for core/epochs. */
#ifndef EPOCHS_PERIOD_H
#define EPOCHS_PERIOD_H

#include <stdbool.h>

#include "epochs/series.h"

/** A run of events on one side of the usual value (series_events()). */
typedef struct mark {
    size_t from, to; /**< bins; to: behind the last */
    double area;     /**< sum of the distances from the usual value */
} mark;

#define MARKS_MAX 1024

/** The marks of largest area among n bins, in order of time; returns their number. A gap of one bin
 * does not end a run. */
size_t marks_find(const float *events, size_t n, mark out[MARKS_MAX]);

/** A distance at which marks come. */
typedef struct mark_period {
    double bins;    /**< median distance of their ends */
    double regular; /**< share of the distances near it, or near twice it (one mark missed) */
    bool   brief;   /**< pauses: a quarter of the marks or more take a tenth of it or less */
} mark_period;

#define MARK_PERIODS_MAX 4

/**
 * Periods of the k largest marks, for each k at which they come at equal times. Dips that end
 * epochs do; so may the subset that ends evaluations. Two periods differ by more than an eighth;
 * each is the most regular of its kind. Returns their number.
 */
size_t marks_periods(const mark *m, size_t n, mark_period out[MARK_PERIODS_MAX]);

typedef struct period {
    double seconds;
    double strength; /**< autocorrelation at that lag, 0 to 1 */
    size_t level;    /**< of the series at which it shows best */
    bool   events;   /**< seen in series_events() of the level, not in the metric */
    bool   marked;   /**< short marks come at this distance */
} period;

#define PERIODS_MAX 24

/**
 * Periods by autocorrelation, the shortest first. Each level of the series is searched at lags of
 * 12 to 96 bins (the last one up to two thirds of it). A period is thus found at the level that
 * shows its own shape and has averaged faster changes away: steps at one level, epochs at a coarser
 * one. A lag counts if it is a peak; a multiple of a shorter lag counts only if its peak is clearly
 * higher. Correlations are those of the two overlapping parts, each with its own mean and variance,
 * over at most 64 windows of 1024 bins (by FFT; Wiener & Khinchin).
 */
lm_status periods_find(const series *s, period out[PERIODS_MAX], size_t *n, lm_error *err);

#endif
