/** Slowdown of ranks that share a host: its cores, caches and memory. */
#ifndef FABRIC_SHARING_H
#define FABRIC_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "network/phase.h"

/** Most device counts of a host that a model keeps. */
#define SHARING_MOST 8

/** Slowdown of each part of a step: seconds of the slowest rank, with so many ranks on the host, per
 * second of a rank alone. NAN: unknown, and assumed to be 1. */
typedef struct sharing_at {
    int64_t devices; /**< above 1 */
    size_t  rows;    /**< times that it is the median of, of all parts */
    double  forward, backward, update;
} sharing_at;

typedef struct sharing {
    sharing_at of[SHARING_MOST]; /**< by ascending numbers of devices */
    size_t     n;
} sharing;

/** The slowdown of a part: 1 for anything but passes and updates. Between measured device counts it
 * is interpolated, beyond the last one extrapolated, both linearly. */
double sharing_times(const sharing *s, phase which, int64_t devices);

/** Does that device count lie in the measured range? */
bool sharing_known(const sharing *s, int64_t devices);

#endif
