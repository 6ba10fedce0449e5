/** Gradient buckets over NCCL, in a separate stream during the backward pass. */
#ifndef CALIBRATE_BACKENDS_NCCL_BUCKETS_H
#define CALIBRATE_BACKENDS_NCCL_BUCKETS_H

#include "measure/backend.h"
#include "nccl_comm.h"

/** As in backend_type. An all-reduce waits for the event that marks its bucket as complete, as in
 * DistributedDataParallel. NCCL divides by the number of ranks (ncclAvg). */
lm_status nccl_buckets_new(ncclComm_t comm, const bench_case *what, const gradient_bucket *bucket,
                           size_t n, void **work, lm_error *err);
lm_status nccl_start_bucket(backend *self, void *work, size_t i, void *stream, lm_error *err);
lm_status nccl_poll_buckets(backend *self, void *work, lm_error *err);
lm_status nccl_finish_buckets(backend *self, void *work, void *stream, lm_error *err);
void      nccl_release_buckets(backend *self, void *work);

#endif
