/** Slowdown of ranks that share a host, from measured steps. */
#ifndef FIT_SHARED_H
#define FIT_SHARED_H

#include "fit/calibration.h"
#include "observe/points.h"

/** Times of a part that a number of devices needs: fewer say nothing. */
#define SHARED_LEAST 6

/** For each number of ranks of a host the medians of measured / predicted by a model's forms, which
 * must be fitted: cal->shared. */
lm_status shared_fit(const points *p, const char *model, calibration *cal, lm_error *err);

/** By what a part of a model is longer with so many ranks of a host at work: 1 of models that do
 * not tell the all-reduce from the update. */
double shared_times(const calibration *cal, const char *model, phase which, int64_t devices);

/** Ranks of each host of a row. */
int64_t shared_devices(const observation *row);

#endif
