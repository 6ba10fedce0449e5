/** How often a point is measured: when it has been often enough, and how long that takes. */
#ifndef SUGGEST_STOPPING_H
#define SUGGEST_STOPPING_H

#include <stdint.h>

/** When a point has been measured often enough. */
typedef struct stopping {
    int64_t warmup; /**< untimed repetitions first */
    int64_t min_repeats, max_repeats;
    double  max_seconds; /**< of timed repetitions; min_repeats are made in any case */
    double  precision; /**< stop when the standard error of the median is below this share of it */
    double  cut_seconds; /**< repetitions, untimed ones too, end after this even before min_repeats,
                            but for one of each; 0: never */
} stopping;

/** Where a sweep does not say. */
extern const stopping stopping_usual;

/** Seconds that building a network takes before its first repetition, until a run has shown it. */
#define STOPPING_NETWORK_SECONDS 0.2

/** Seconds of all repetitions of a point, untimed ones too, if none ends them early by being
 * precise enough; `once`: of one. */
double stopping_seconds(const stopping *stop, double once);

#endif
