/**
 * The configurations of networks that were measured: evidence for predictions of the same
 * configuration.
 */
#ifndef FIT_MEASURED_H
#define FIT_MEASURED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/** Whole training steps on one machine, in one element type. */
typedef struct measured_at {
    const char *network, *input; /**< input: shape of one sample, "3x224x224" */
    int64_t     batch, ranks;    /**< batch: per rank */
} measured_at;

/** Sorted, without duplicates. Zero-initialise. */
typedef struct measured_set {
    measured_at *at;
    size_t       n, room;
    arena       *arena; /**< owns the texts */
} measured_set;

/** Adds an entry, which may exist already. False: out of memory. */
bool measured_add(measured_set *set, const measured_at *at);
bool measured_has(const measured_set *set, const measured_at *at);

/** Batches of one network and input on one number of ranks: neighbours in the set. */
typedef struct measured_batches {
    const measured_at *at;
    size_t             n;
} measured_batches;

/** Finds these batches; `at->batch` is not read. Valid until an entry is added. */
measured_batches measured_on(const measured_set *set, const measured_at *at);
bool             measured_batch(const measured_batches *of, int64_t batch);

void measured_free(measured_set *set);

#endif
