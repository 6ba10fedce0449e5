/** Slowdown of ranks that share a host, from measured steps. */
#ifndef FIT_SHARED_H
#define FIT_SHARED_H

#include "fit/calibration.h"
#include "observe/points.h"

/** Fewest times of a part, for each number of devices. */
#define SHARED_LEAST 6

/**
 * Sets cal->shared: for each number of ranks per host the median of measured / predicted, by the
 * forms of a model that is fitted already.
 */
lm_status shared_fit(const points *p, const char *model, calibration *cal, lm_error *err);

/**
 * Slowdown factor of a part with `devices` ranks at work on a host; 1 for models that cannot
 * separate all-reduce and update.
 */
double shared_times(const calibration *cal, const char *model, phase which, int64_t devices);

/** Ranks per host in a row. */
int64_t shared_devices(const observation *row);

#endif
