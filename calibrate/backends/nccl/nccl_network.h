/** Which network NCCL took: it says so in its log alone. */
#ifndef CALIBRATE_BACKENDS_NCCL_NETWORK_H
#define CALIBRATE_BACKENDS_NCCL_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

/** Before the first communicator: has the log written to a file, unless the user has one. */
void nccl_network_listen(void);
/** Behind it: NCCL has read where its log goes, and nobody else is to. */
void nccl_network_hush(void);
/** The network of the communicators so far, "IB" or "Socket"; false: the log does not say. */
bool nccl_network_heard(char *name, size_t size);
/** Removes the file. */
void nccl_network_forget(void);

#endif
