/** What ranks of one host take from each other: cores, caches and memory. */
#ifndef SYNC_SHARING_H
#define SYNC_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "network/phase.h"

/** Numbers of devices of a host that were measured, at most. */
#define SHARING_MOST 8

/** Seconds that a part takes where so many ranks of a host run at once (the slowest of them), for
 * each that it takes alone. NAN: not known, taken to be 1. */
typedef struct sharing_at {
    int64_t devices; /**< above 1 */
    size_t  rows;    /**< times that it is the median of, of all parts */
    double  forward, backward, update;
} sharing_at;

typedef struct sharing {
    sharing_at of[SHARING_MOST]; /**< by ascending numbers of devices */
    size_t     n;
} sharing;

/** Of a part that is no pass and no update 1. Linear in the number of devices between those that
 * were measured, and on from the last. */
double sharing_times(const sharing *s, phase which, int64_t devices);

/** Is that number within what was measured? */
bool sharing_known(const sharing *s, int64_t devices);

#endif
