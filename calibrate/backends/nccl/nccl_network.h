/** The network that NCCL chose, from its log: NCCL does not report it elsewhere. */
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
/** Removes the file. */
void nccl_network_forget(void);

#endif
