/** Largest batches that fit a device's memory. */
#ifndef PLAN_ROOM_H
#define PLAN_ROOM_H

#include <stdio.h>

#include "network/memory.h"
#include "program/policy.h"
#include "program/rank_memory.h"

/** Memory of a device. */
typedef struct device_room {
    uint64_t bytes;    /**< 0: unknown, all batches fit */
    uint64_t overhead; /**< part of it for context, allocator and libraries */
    const char
        *recompute; /**< segments that run again, as timeline_make() takes them; NULL: none */
} device_room;

/** Share of a device's memory that context, libraries and the allocator may hold. */
#define MEMORY_LESS 0.10

/** Does what a step reserves fit a device's memory? */
typedef enum room_verdict {
    ROOM_FITS,
    ROOM_CLOSE, /**< within the error: the interval holds the memory, or less than MEMORY_LESS is left */
    ROOM_SHORT /**< not even the interval's low end fits */
} room_verdict;

/** Memory that PyTorch's caching allocator reserves at the peak, over what is allocated. */
typedef struct room_reserve {
    double low, high; /**< the central 90 % of runs */
} room_reserve;

/** Of Megatron-LM: 41 ranks under 8 layouts on B200 (SimuMax 2026, measurements of its repository). */
#define ROOM_RESERVED ((room_reserve){ 1.01, 1.08 })
/**
 * Of nanotron: 156 layouts of one network on H100, by Hugging Face (gkarfakis19/Rapid-LLM, commit
 * 317a2cb); 87 % of 239 other layouts lie within. Messages under way hold what they send.
 */
#define ROOM_RESERVED_NANOTRON ((room_reserve){ 1.06, 1.68 })
/** The one that fits the options: `late_sums` are nanotron's. */
room_reserve room_reserved(const memory_options *o);

/**
 * Bytes that a step may allocate: the largest number whose minimal reservation still fits the memory.
 * Every command finds the largest batch and drops layouts by this limit.
 *
 * @param memory of the device, in bytes
 * @param all    the bytes of a step hold context and allocator, too: the limit is the memory
 */
uint64_t room_allowed(uint64_t memory, bool all, room_reserve r);
/** Bytes of memory that such a step lacks at least; 0: it may fit. */
uint64_t room_short(double bytes, uint64_t memory, bool all, room_reserve r);
/** Judges `bytes` that a step allocates; ROOM_SHORT: more than room_allowed(). */
room_verdict room_judge(double bytes, double memory, bool all, room_reserve r);
/** "yes", "close", "no". */
const char *room_verdict_name(room_verdict v);
/** "fits", "within the error of the memory", "does not fit". */
const char *room_verdict_words(room_verdict v);

/** "44.6 GB", "254 kB"; returns `text`. */
#define ROOM_SIZE 24
const char *room_size(double bytes, char text[ROOM_SIZE]);
/** "68.4 GB allocated, 69.1 GB to 73.9 GB reserved"; `all`: "68.4 GB in all"; returns `text`. */
#define ROOM_TEXT 96
const char *room_needs(double bytes, bool all, room_reserve r, char text[ROOM_TEXT]);

/** Memory of a device by its datasheet. LM_E_NOTFOUND: the sheet does not say it. */
lm_status room_of_device(const char *devices, const char *name, int64_t *bytes, lm_error *err);

/** What fits a device's memory. */
typedef struct room_answer {
    uint64_t     room; /**< bytes of the device */
    bool         all;  /**< the bytes below hold context and allocator, too */
    room_reserve reserve;
    int64_t      batch;      /**< a batch to judge; 0: none */
    uint64_t     peak;       /**< its bytes */
    int64_t      largest;    /**< batch that fits; 0: none; MEMORY_BATCH_MAX: no limit */
    uint64_t     at, beyond; /**< bytes of the largest batch and of one sample more */
    const char  *remedy;     /**< room_remedy(), or "" */
} room_answer;

/** Writes it in a line or two. */
void room_print(const room_answer *a, FILE *out);

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

/**
 * Largest batches by memory_largest_batch(), of a layout by rank_memory_largest(), with their errors.
 *
 * @param b binds the network; its batch is not read
 * @param l settled; NULL: each device holds the network
 */
lm_status batch_limits_of(const network *net, const registry *reg, const bind_options *b,
                          const sync_policy *sync, optimizer o, const layout *l,
                          const device_room *room, batch_limits *out, lm_error *err);

/**
 * What helps if not even a batch of 1 fits: 16 bits, segments that run again, or both, the first that
 * fits: "it fits with --dtype bf16 (or f16): 16.3 GB". Else an adapter for a language model, or sharing
 * among more devices. Returns `text`.
 *
 * @param m the batch is not read; l: NULL without a layout
 */
#define ROOM_REMEDY 160
const char *room_remedy(const rank_memory *m, uint64_t bytes, char text[ROOM_REMEDY]);

/** Largest batch of a device for these ranks and micro-steps. */
int64_t batch_limit(const batch_limits *limits, int64_t ranks, int64_t accumulation);

#endif
