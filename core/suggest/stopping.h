/** Repetitions of a measured point: when to stop, and how long they take. */
#ifndef SUGGEST_STOPPING_H
#define SUGGEST_STOPPING_H

#include <stdint.h>

/** Stopping rule. */
typedef struct stopping {
    int64_t warmup; /**< untimed repetitions first */
    int64_t min_repeats, max_repeats;
    double  max_seconds; /**< limit of the timed repetitions; at least min_repeats are made */
    double  precision; /**< stop when the standard error of the median is below this share of it */
    double  cut_seconds; /**< limit of all repetitions, even below min_repeats; one untimed and one
                          * timed are always made; 0: none */
} stopping;

/** Default of sweeps. */
extern const stopping stopping_usual;

/** Seconds to build a network before its first repetition, until a run has measured them. */
#define STOPPING_NETWORK_SECONDS 0.2

/** Seconds of all repetitions of a point, with untimed ones, if precision does not end them early.
 * `once`: seconds of one. */
double stopping_seconds(const stopping *stop, double once);

#endif
