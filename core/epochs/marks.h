/** Marks: where a metric leaves its usual value, and at what times apart they come; for
 * core/epochs.
 */
#ifndef EPOCHS_MARKS_H
#define EPOCHS_MARKS_H

#include <stdbool.h>

#include "epochs/series.h"

/** A run of events on one side of the usual value (series_events()). */
typedef struct mark {
    size_t from, to; /**< bins; to: one behind the last */
    double area;     /**< sum of the distances from the usual value */
} mark;

#define MARKS_MAX 1024

/** The marks of largest area among n bins, in order of their times; how many. Runs that one bin
 * alone keeps apart are one. */
size_t marks_find(const float *events, size_t n, mark out[MARKS_MAX]);

/** Fewer marks say nothing of a period. */
#define MARKS_LEAST 5

/** Distances in bins at which marks come. */
typedef struct mark_period {
    double bins;    /**< median distance of their ends */
    double regular; /**< share of the distances near it, or near twice it where one was missed */
    bool   brief;   /**< a quarter of the marks or more take a tenth of it or less: pauses */
} mark_period;

#define MARK_PERIODS_MAX 4

/**
 * Which numbers of largest marks come at equal times: the dips that end epochs do, and those of
 * them alone that end evaluations may as well. Distances that differ by more than an eighth, each
 * the most regular of its kind; how many.
 */
size_t marks_periods(const mark *m, size_t n, mark_period out[MARK_PERIODS_MAX]);

#endif
