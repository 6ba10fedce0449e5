/** What the files of the runtime of a device that is not there share. */
#ifndef PORTS_FAKE_RUNTIME_H
#define PORTS_FAKE_RUNTIME_H

#include "fake.h"

/** Takes the lock, as often as it likes: streams may be given work by several threads. */
void fake_enter(void);
/** Gives it back; returns `status`, or the error that nothing gets over, and remembers it. */
cudaError_t fake_leave(cudaError_t status);

/** What follows wants the lock. */
bool fake_capturing(void);
/** Runs what waits in the stream of those that have none; in all streams. */
void fake_run_default(void);
void fake_run_all(void);
/** Allocations that are there. */
size_t fake_allocations(void);

#endif
