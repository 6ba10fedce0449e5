/** One process for each GPU of this host. */
#ifndef CALIBRATE_BACKENDS_CUDA_CLAIM_H
#define CALIBRATE_BACKENDS_CUDA_CLAIM_H

/**
 * Takes `name` for this process, until it ends or cuda_claim_drop().
 *
 * @return a file descriptor; -1: another process of this host has it, and errno is EADDRINUSE
 */
int cuda_claim(const char *name);
/** -1 is fine. */
void cuda_claim_drop(int claim);

#endif
