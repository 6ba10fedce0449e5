/** What ranks of one host take from each other: cores, caches and memory; [sharing.N] of machine
 * files. */
#ifndef SYNC_SHARING_H
#define SYNC_SHARING_H

#include <stdbool.h>
#include <stdio.h>

#include "base/ini.h"
#include "features/parts.h"

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
double sharing_times(const sharing *s, part which, int64_t devices);

/** Is that number within what was measured? */
bool sharing_known(const sharing *s, int64_t devices);

/** Appends a section for each number of devices. */
void sharing_write(FILE *out, const sharing *s);
bool sharing_owns(const ini_section *s);
/** Errors begin with file:line: LM_E_NOTFOUND for unknown or missing keys, LM_E_ARG for times below
 * 1 and numbers of devices that do not ascend. */
lm_status sharing_read(const ini_document *doc, const ini_section *s, sharing *to, lm_error *err);

#endif
