/** Gradient buckets over MPI during a backward pass: part of the backend 'mpi'. */
#ifndef CALIBRATE_BACKENDS_MPI_BUCKETS_H
#define CALIBRATE_BACKENDS_MPI_BUCKETS_H

#include "measure/backend.h"

/**
 * As in backend_type. The setting `progress` of what->how:
 *
 *  - poll MPI_Iallreduce, and MPI_Testsome between the kernels: most libraries transfer messages
 * only during calls
 *  - thread a thread beside the computing one takes the buckets in order and calls MPI_Allreduce
 *            (as torch's ProcessGroupMPI does); the computing thread makes no MPI calls until all
 *            are done, so MPI_THREAD_SERIALIZED suffices
 *
 * Sums replace the gradients. The computing thread divides a bucket by the number of ranks before
 * it is sent, as DistributedDataParallel: that is part of the backward pass.
 *
 * @return LM_E_UNSUPPORTED for types other than f32 and f64, for buckets of 2^31 elements or more,
 *         and for `thread` if MPI does not support threads; LM_E_IO if the sums are wrong
 */
lm_status mpi_prepare_buckets(backend *self, const bench_case *what, const gradient_bucket *bucket,
                              size_t n, void **work, lm_error *err);
lm_status mpi_start_bucket(backend *self, void *work, size_t i, void *stream, lm_error *err);
lm_status mpi_poll_buckets(backend *self, void *work, lm_error *err);
lm_status mpi_finish_buckets(backend *self, void *work, void *stream, lm_error *err);
void      mpi_release_buckets(backend *self, void *work);

#endif
