/** Communicators of NCCL, kept between points, and texts of its errors. */
#ifndef CALIBRATE_BACKENDS_NCCL_COMM_H
#define CALIBRATE_BACKENDS_NCCL_COMM_H

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "ranks/world.h"

/** Communicators of sets of ranks and algorithms. The last used ones are kept: making one takes
 * long, keeping one takes memory. */
typedef struct nccl_comms nccl_comms;

nccl_comms *nccl_comms_new(const world *everyone);
/** Frees all, without waiting for other ranks. NULL is fine. */
void nccl_comms_free(nccl_comms *all);
/** Ends a communicator with its work in progress. */
void nccl_comms_drop(nccl_comms *all, ncclComm_t comm);

/**
 * The communicator of a group's ranks on this process's current device. Called by every rank of the
 * group; all get one, or none.
 *
 * LM_E_NOMEM on all ranks if one has no memory: the point can be skipped.
 *
 * @param ring NCCL uses its ring only: NCCL_ALGO=Ring is set while the communicator is made, then
 *             reset
 */
lm_status nccl_comms_get(nccl_comms *all, const world *group, bool ring, ncclComm_t *out,
                         lm_error *err);

/**
 * Waits for an event behind collectives. An error of NCCL (a lost peer or network) ends the wait,
 * which else would be endless, and ends the communicator.
 */
lm_status nccl_wait(ncclComm_t comm, cudaEvent_t event, lm_error *err);

/** "WHAT: CAUSE": LM_E_NOMEM if device memory was exhausted; else LM_E_IO, because later
 * collectives would fail, too. `comm` may be NULL. */
lm_status nccl_failed(lm_error *err, ncclComm_t comm, const char *what, ncclResult_t cause);
lm_status nccl_cuda_failed(lm_error *err, const char *what, cudaError_t cause);

#endif
