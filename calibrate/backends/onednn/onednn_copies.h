/** Copies of a case's memory that take turns, so that caches are as cold as in a network. */
#ifndef CALIBRATE_BACKENDS_ONEDNN_COPIES_H
#define CALIBRATE_BACKENDS_ONEDNN_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "onednn_loops.h"

/** Copies of a block of `bytes`, > 0, of which no cache holds the one whose turn is next; 1 if not `cold`. */
uint64_t copies_wanted(bool cold, uint64_t bytes);

/** Copies the first of `n` blocks, `stride` bytes apart, to the others; each thread its own share. */
void copies_fill(const team *t, char *memory, size_t stride, size_t n);

/** Brings these bytes into the caches. */
void copies_read(const void *at, uint64_t bytes);

#endif
