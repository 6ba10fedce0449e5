/** Gradient buckets over MPI, while a backward pass goes on: part of the backend 'mpi'. */
#ifndef CALIBRATE_BACKENDS_MPI_BUCKETS_H
#define CALIBRATE_BACKENDS_MPI_BUCKETS_H

#include "measure/backend.h"

/**
 * As backend_type says. How they get on is what->how's `progress`:
 *
 *  - poll    MPI_Iallreduce, and MPI_Testsome between the kernels: most libraries move messages
 * only inside of calls
 *  - thread  a thread beside the computing one takes the buckets in order and calls MPI_Allreduce
 *            (as torch's ProcessGroupMPI does); the computing thread calls MPI no more until all
 * are done, so MPI_THREAD_SERIALIZED suffices
 *
 * Sums lie in place. Before a bucket is sent the computing thread divides it by the number of
 * ranks, as DistributedDataParallel does: that is part of the backward pass.
 *
 * @return LM_E_UNSUPPORTED for types other than f32 and f64, for buckets of 2^31 elements or more,
 *         and for `thread` where MPI gives no threads; LM_E_IO if the sums are wrong
 */
lm_status mpi_prepare_buckets(backend *self, const bench_case *what, const gradient_bucket *bucket,
                              size_t n, void **work, lm_error *err);
lm_status mpi_start_bucket(backend *self, void *work, size_t i, void *stream, lm_error *err);
lm_status mpi_poll_buckets(backend *self, void *work, lm_error *err);
lm_status mpi_finish_buckets(backend *self, void *work, void *stream, lm_error *err);
void      mpi_release_buckets(backend *self, void *work);

#endif
