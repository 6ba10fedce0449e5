/**
 * A device that is not there: host memory for device memory, host loops for kernels.
 *
 * Streams are lazy. What is enqueued runs as late as it may: when somebody waits for it, or for an
 * event behind it. So what forgets to wait reads what is not there yet, and tests see it. Fresh
 * device memory is full of NaN.
 *
 * The environment makes it fail:
 *   LAYERMETER_FAKE_DEVICES=N        how many there are (default 1)
 *   LAYERMETER_FAKE_NO_DRIVER=1      the driver is missing
 *   LAYERMETER_FAKE_MEMORY=BYTES     of each device (default 1 GiB)
 *   LAYERMETER_FAKE_ALLOCATION=N     the N-th allocation finds no memory, nor do those after it
 *   LAYERMETER_FAKE_LAUNCH=N         the N-th launch breaks the device
 *   LAYERMETER_FAKE_ENDLESS=N        the N-th launch never ends
 *   LAYERMETER_FAKE_REFUSED=N        the N-th launch of a library fails, and the device is none the
 * worse
 *   LAYERMETER_FAKE_CUDNN=N          the version of cuDNN (default 91900)
 *   LAYERMETER_FAKE_CAPABILITY=N     compute capability, 80 for 8.0 (default 90)
 *   LAYERMETER_FAKE_NO_TENSOR=1      cuBLASLt's products run without tensor cores
 *   LAYERMETER_FAKE_WRONG=N          1: products in bf16 leave out their last addend; 2: convolutions their
 *                                    last tap; 3: both
 *   LAYERMETER_FAKE_LATENCY=N        events tell a clock of its own: whatever the host enqueues takes
 *                                    it N ns, and runs 2000 ns, products on tensor cores 500,
 *                                    a delay as long as it says, what sets memory 1 ns for 1000 bytes;
 *                                    1000 ns more where as much as the cache holds was set since a call
 *                                    that reads
 *   LAYERMETER_FAKE_MIG=N            this process sees instance N of a GPU that is shared
 */
#ifndef PORTS_FAKE_H
#define PORTS_FAKE_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

/** A kernel: runs when its turn in the stream has come, once or, in a graph, again and again. */
typedef void fake_call(void *context);

/** For libraries: enqueues `call`, with a copy of `size` bytes of context. Captured where the
 * stream is. NULL is the stream of those that have none. */
cudaError_t fake_enqueue(cudaStream_t stream, fake_call *call, const void *context, size_t size);

/** The same for what a library launches by itself. */
cudaError_t fake_library_enqueue(cudaStream_t stream, fake_call *call, const void *context,
                                 size_t size);

/** The call under way takes so long, by the device's own clock. */
void fake_spend(long long nanoseconds);

/** The call under way never ends, nor does what waits behind it, unless fake_ends() says so of the
 * same `by`; NULL: never. */
void fake_never_ends(const void *by);
/** What never ends of this one's has ended. */
void fake_ends(const void *by);

/** Bytes of the cache. */
enum { FAKE_CACHE = 1 << 20 };
/** The call under way writes so many bytes and reads none: what the cache held may be gone. */
void fake_sweeps(size_t bytes);

/** Does anything wait in a stream? The management library asks. */
bool fake_is_busy(void);

/** Do these bytes lie in device memory that is allocated? */
bool fake_is_device_memory(const void *at, size_t bytes);

/** A number from the environment; `otherwise` if it is not set. */
long long fake_number(const char *name, long long otherwise);

/** A host function for the name of a kernel of ours; NULL: there is none (fake_loops.c). */
typedef void fake_kernel(void **arguments);
fake_kernel *fake_find_kernel(const char *name, size_t *argument_bytes);

/** What allocations, streams, events and graphs are left: 0 after everything has been closed. */
size_t fake_left(void);

#endif
