/* Largest batches that fit a device's memory. */
#include "plan/room.h"

memory_options room_options(const sync_policy *sync, optimizer o, lm_dtype dtype,
                            const device_room *room, bool many, bool keep)
{
    return (memory_options){ .optimizer = o,
                             .masters   = lm_dtype_bytes(dtype) == 2,
                             .nodes     = many && sync->rule != SYNC_TENSOR ? 2 : 1,
                             .buckets   = sync->rule == SYNC_FUSION ? BUCKETS_FIXED : BUCKETS_COPY,
                             .bucket_bytes   = sync->rule == SYNC_FUSION ? sync->limit_bytes : 0,
                             .keep_gradients = keep,
                             .recompute      = room ? room->recompute : NULL,
                             .overhead       = room ? room->overhead : 0 };
}

lm_status batch_limits_of(const network *net, const registry *reg, const bind_options *b,
                          const sync_policy *sync, optimizer o, const device_room *room,
                          batch_limits *out, lm_error *err)
{
    batch_limits limits;

    for (int many = 0; many < 2; many++)
        for (int keep = 0; keep < 2; keep++) {
            const memory_options with = room_options(sync, o, b->dtype, room, many, keep);
            int64_t             *to   = &limits.largest[many][keep];
            lm_status            status;

            *to = MEMORY_BATCH_MAX;
            if (!room->bytes)
                continue;
            if ((status = memory_largest_batch(net, reg, b, &with, room->bytes, to, err)))
                return status;
        }
    *out = limits;
    return LM_OK;
}

int64_t batch_limit(const batch_limits *limits, int64_t ranks, int64_t accumulation)
{
    return limits->largest[ranks > 1][accumulation > 1];
}
