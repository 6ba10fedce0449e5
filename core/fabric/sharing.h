/** Slowdown of ranks that share a host's cores, caches and memory. */
#ifndef FABRIC_SHARING_H
#define FABRIC_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "network/phase.h"

/** Limit for the numbers of devices in a model. */
#define SHARING_MOST 8

/**
 * Slowdown of each part of a step: seconds of the slowest rank with `devices` ranks on the host,
 * divided by seconds of a rank alone. NAN: unknown, assumed to be 1.
 */
typedef struct sharing_at {
    int64_t devices; /**< above 1 */
    size_t  rows;    /**< number of times in the medians, over all parts */
    double  forward, backward, update;
} sharing_at;

typedef struct sharing {
    sharing_at of[SHARING_MOST]; /**< ascending numbers of devices */
    size_t     n;
} sharing;

/**
 * The slowdown of a part: 1 for parts other than passes and updates. Linear interpolation between
 * measured numbers of devices; linear extrapolation beyond the last.
 */
double sharing_times(const sharing *s, phase which, int64_t devices);

/** Is that number of devices within the measured range? */
bool sharing_known(const sharing *s, int64_t devices);

#endif
