/** Gradient buckets: which tensors are all-reduced together. */
#ifndef PROGRAM_BUCKETS_H
#define PROGRAM_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

#include <layermeter/types.h>

/** One gradient, in the order in which the backward pass completes them. */
typedef struct bucket_tensor {
    uint64_t bytes;
    lm_dtype dtype;
} bucket_tensor;

/** Gradients first .. last, all-reduced together; complete when the last one is. */
typedef struct bucket_span {
    size_t   first, last;
    uint64_t bytes; /**< saturates */
} bucket_span;

/**
 * Groups gradients as PyTorch's DistributedDataParallel does once it knows the order in which they
 * become ready (Li et al. 2020, "PyTorch Distributed", VLDB 13(12), section 3.2.3; torch
 * reducer.cpp, compute_bucket_assignment_by_size): in that order, a bucket is closed as soon as it
 * holds its limit or more: `first_limit` bytes the first one, `limit` all others. So a bucket may
 * exceed the limit by all but one element of its last tensor. Unlike there, tensors of different
 * types close a bucket instead of filling several side by side. Pure.
 *
 * @param limit, first_limit bytes, at least 1
 * @param out                room for n
 * @return how many buckets there are
 */
size_t buckets_make(const bucket_tensor *tensor, size_t n, uint64_t first_limit, uint64_t limit,
                    bucket_span *out);

/** The limit of the first bucket where all others have this one: torch's, or less (as torch does
 * from 2.x on for any limit that is not its default). */
uint64_t buckets_first_limit(uint64_t limit);

#endif
