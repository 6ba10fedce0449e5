/**
 * What NCCL chose, from its log: the network, and the algorithm of each collective. No call reports them:
 * ncclGroupSimulateEnd() gives a time alone, and a tuner's plugin sees costs before the choice. A line for each
 * collective takes rank 0's host some microseconds, which no time between events on the device contains.
 */
#ifndef CALIBRATE_BACKENDS_NCCL_NETWORK_H
#define CALIBRATE_BACKENDS_NCCL_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

/** Called before the first communicator: directs the log to a file, unless the user has set one. */
void nccl_network_listen(void);
/** Called after it: removes the settings, which NCCL has read, so that no other program gets
 * them. */
void nccl_network_hush(void);
/** The network of the communicators so far, "IB" or "Socket"; false: unknown. */
bool nccl_network_heard(char *name, size_t size);
/** Forgets the collectives so far. */
void nccl_network_begin(void);
/**
 * Algorithm and protocol of the last collective since then, "tree/ll128"; false: unknown. NCCL tells rank 0 of a
 * communicator alone, and nothing of sends and receives.
 */
bool nccl_network_chose(char *out, size_t size);
/** Removes the file. */
void nccl_network_forget(void);

#endif
