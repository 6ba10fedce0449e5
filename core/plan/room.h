/** Largest batches that fit a device's memory. */
#ifndef PLAN_ROOM_H
#define PLAN_ROOM_H

#include "network/memory.h"
#include "program/policy.h"

/** Memory of a device. */
typedef struct device_room {
    uint64_t bytes;    /**< 0: unknown, all batches fit */
    uint64_t overhead; /**< part of it for context, allocator and libraries */
    const char
        *recompute; /**< segments that run again, as timeline_make() takes them; NULL: none */
} device_room;

/** Largest batches, by [several ranks][gradients are kept: micro-steps]. */
typedef struct batch_limits {
    int64_t largest[2][2]; /**< MEMORY_BATCH_MAX: no limit; 0: not even 1 fits */
} batch_limits;

/**
 * Options of memory_of_step() for a step of weights of type `dtype`. Weights of 16 bit are trained with
 * masters in f32. SYNC_TENSOR reduces each gradient in place, without buckets.
 *
 * @param room of the device; NULL: no overhead, nothing runs again
 * @param many it is one of several ranks
 * @param keep gradients are kept: micro-steps
 */
memory_options room_options(const sync_policy *sync, optimizer o, lm_dtype dtype,
                            const device_room *room, bool many, bool keep);

/** Largest batches by memory_largest_batch(), with its errors. `b` binds the network; its batch is
 * not read. */
lm_status batch_limits_of(const network *net, const registry *reg, const bind_options *b,
                          const sync_policy *sync, optimizer o, const device_room *room,
                          batch_limits *out, lm_error *err);

/** Largest batch of a device for these ranks and micro-steps. */
int64_t batch_limit(const batch_limits *limits, int64_t ranks, int64_t accumulation);

#endif
