/** Gradient buckets: groups of tensors that share one all-reduce. */
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

/** Gradients first .. last, with one all-reduce. A bucket is complete when its last gradient is. */
typedef struct bucket_span {
    size_t   first, last;
    uint64_t bytes; /**< saturates */
} bucket_span;

/**
 * Groups gradients as PyTorch's DistributedDataParallel does after it knows the order in which they
 * become ready (Li et al. 2020, "PyTorch Distributed", VLDB 13(12), section 3.2.3; torch
 * reducer.cpp, compute_bucket_assignment_by_size).
 *
 * Gradients are taken in that order. A bucket is closed as soon as it reaches its limit:
 * `first_limit` bytes for the first bucket, `limit` for the others. So a bucket can exceed the
 * limit by all but one element of its last tensor. One difference: torch fills several buckets side
 * by side for different types; here another type closes the bucket. Pure.
 *
 * @param limit, first_limit bytes, at least 1
 * @param out                room for n
 * @return number of buckets
 */
size_t buckets_make(const bucket_tensor *tensor, size_t n, uint64_t first_limit, uint64_t limit,
                    bucket_span *out);

/**
 * The limit of the first bucket if the other buckets have `limit`: torch's first limit, or `limit`
 * if that is less (as in torch from 2.x on for any limit that is not its default).
 */
uint64_t buckets_first_limit(uint64_t limit);

#endif
