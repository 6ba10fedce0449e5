/** Gradient buckets: which tensors are all-reduced together. */
#ifndef CALIBRATE_BUCKETS_H
#define CALIBRATE_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

#include "measure/backend.h"

/** The first bucket's limit: small, so that the all-reduce begins early. */
#define BUCKETS_FIRST_BYTES ((uint64_t)1 << 20)

/**
 * Groups gradients as PyTorch's DistributedDataParallel does once it knows the order in which they
 * become ready (Li et al. 2020, "PyTorch Distributed", VLDB 13(12), section 3.2.3; torch
 * reducer.cpp, compute_bucket_assignment_by_size): in that order, a bucket is closed as soon as it
 * holds `limit` bytes or more, the first one BUCKETS_FIRST_BYTES or more. So a bucket may exceed
 * the limit by all but one element of its last tensor. Unlike there, a limit below the first one's
 * holds for the first bucket, too (as torch does from 2.x on for any limit that is not its
 * default), and tensors of different types close a bucket instead of filling several side by side.
 *
 * A bucket begins where its first gradient lies and is as long as all of its gradients together;
 * it is complete when the last one is. Pure.
 *
 * @param gradient ascending in memory and in `needs`, as backend_type.gradients gives them
 * @param limit    bytes, at least 1
 * @param out      room for n
 * @return how many buckets there are
 */
size_t buckets_make(const gradient_bucket *gradient, size_t n, uint64_t limit,
                    gradient_bucket *out);

#endif
