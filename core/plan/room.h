/** Which batches fit a device's memory. */
#ifndef PLAN_ROOM_H
#define PLAN_ROOM_H

#include "network/memory.h"
#include "program/policy.h"

/** What a device holds. */
typedef struct device_room {
    uint64_t bytes;    /**< of the device; 0: unknown, everything fits */
    uint64_t overhead; /**< of these, what is not the step's: context, allocator, libraries */
} device_room;

/** Largest batches, by [several ranks][gradients are kept: micro-steps]. */
typedef struct batch_limits {
    int64_t largest[2][2]; /**< MEMORY_BATCH_MAX: nothing limits it; 0: not even 1 fits */
} batch_limits;

/** How a step is asked about in memory_of_step(). */
memory_options room_options(const sync_policy *sync, optimizer o, uint64_t overhead, bool many,
                            bool keep);

/** What memory_largest_batch() returns. `b` says how the network is bound, but for its batch. */
lm_status batch_limits_of(const network *net, const registry *reg, const bind_options *b,
                          const sync_policy *sync, optimizer o, const device_room *room,
                          batch_limits *out, lm_error *err);

/** Largest batch of a device where there are so many ranks and micro-steps. */
int64_t batch_limit(const batch_limits *limits, int64_t ranks, int64_t accumulation);

#endif
