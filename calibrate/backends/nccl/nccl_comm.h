/** Communicators of NCCL, kept from point to point, and what its calls say when they fail. */
#ifndef CALIBRATE_BACKENDS_NCCL_COMM_H
#define CALIBRATE_BACKENDS_NCCL_COMM_H

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "ranks/world.h"

/** Those used last, of sets of ranks and algorithms: making one takes long, keeping one memory. */
typedef struct nccl_comms nccl_comms;

nccl_comms *nccl_comms_new(const world *everyone);
/** Does not wait for other ranks. NULL is fine. */
void nccl_comms_free(nccl_comms *all);
/** Ends one, with what is under way on it. */
void nccl_comms_drop(nccl_comms *all, ncclComm_t comm);

/**
 * The communicator of a group's ranks on this process's current device. Every rank of the group;
 * all get one, or none.
 *
 * LM_E_NOMEM on all where one has no memory for it: the point can be skipped.
 *
 * @param ring NCCL may take no other algorithm: it is told by NCCL_ALGO=Ring, which it reads when a
 *             communicator is made, and which is taken back at once
 */
lm_status nccl_comms_get(nccl_comms *all, const world *group, bool ring, ncclComm_t *out,
                         lm_error *err);

/**
 * Waits for an event behind collectives. An error that NCCL finds meanwhile (a peer or a network
 * that is lost) ends the wait, which would be endless, and the communicator.
 */
lm_status nccl_wait(ncclComm_t comm, cudaEvent_t event, lm_error *err);

/** "WHAT: CAUSE": LM_E_NOMEM where memory of the device lacked, else LM_E_IO, as no later collective
 * would do. `comm` may be NULL. */
lm_status nccl_failed(lm_error *err, ncclComm_t comm, const char *what, ncclResult_t cause);
lm_status nccl_cuda_failed(lm_error *err, const char *what, cudaError_t cause);

#endif
