/**
 * The host of an eager framework, beside its device. The framework issues operations one by one.
 * Each operation of a part of the step takes the same time of the host, whatever it computes. The
 * parts differ: a forward operation is called by a module and recorded for its gradient, a backward
 * operation is called by the engine of gradients, and an update calls its operations in a loop.
 * Inference records nothing.
 *
 * A device with a queue (a GPU) runs behind the host. Operation i starts when it was issued and the
 * operation before it is done. This is Lindley's recurrence ("The theory of queues with a single
 * server", 1952): done(i) = max(done(i-1), issued(i)) + d(i). If all d of a pass are equal, K
 * operations end at the largest of three lines, where h is the host's time of an operation:
 * - device + K d: the device was busy all the time
 * - host + h + K d: the device first waited for the host, then the host ran ahead
 * - host + K h + d: the device waited for each operation
 *
 * A processor that computes by itself does both in turn: K h + K d. Some of its framework's own
 * kernels start a loop for each plane (an image of one channel): PyTorch's norms, in NCHW. Small
 * images make these starts as long as the work. Each plane takes the same time in both passes.
 */
#ifndef PROGRAM_HOST_CLOCK_H
#define PROGRAM_HOST_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "network/bind.h"
#include "network/optimizer.h"
#include "observe/workloads.h"

#define HOST_FRAMEWORK  64
#define HOST_OF_LAYOUTS "a training framework"

/** Parts of a training step that issue operations in this order, and the pass of inference. */
typedef enum host_part {
    HOST_FORWARD,
    HOST_BACKWARD,
    HOST_UPDATE,
    HOST_INFERENCE, /**< of a network in evaluation mode, the whole step */
    N_HOST_PARTS
} host_part;

/** Time of a framework's host, from a machine file. */
typedef struct host_time {
    size_t rows; /**< training steps that it was fitted to; 0: unknown */
    /** s of one operation of the part. HOST_INFERENCE 0: not measured, see host_seconds() */
    double seconds[N_HOST_PARTS];
    double plane;          /**< s of a plane of a norm; 0: a device with a queue */
    double mape;           /**< error on steps of networks left out; NAN: only one network */
    size_t inference_rows; /**< passes of inference that it was fitted to */
    double inference_mape; /**< error on those of networks left out; NAN: only one network */
    bool   queue;          /**< the device has a queue: it runs behind the host */
    bool foreach; /**< an update handles all tensors in one call, see host_operations_of() */
    /**
     * fitted to whole steps under layouts, together with their prices: each prediction of a layout
     * uses it
     */
    bool laid;
    bool elsewhere;                 /**< measured with another device */
    char framework[HOST_FRAMEWORK]; /**< "PyTorch 2.4.0"; HOST_OF_LAYOUTS */
} host_time;

/** Is the part's time assumed, because no inference was measured? Then forward's holds. */
bool host_assumes(const host_time *h, host_part part);
/** s of one operation of the part. */
double host_seconds(const host_time *h, host_part part);

/**
 * Prints one line: "PyTorch 2.4.0 takes 25 us (forward), 12 us (backward) and 5 us (update) of the
 * host for an operation, by 14 steps; ...".
 */
void host_print(const host_time *h, FILE *out);

/**
 * Times at which host and device become free, in seconds from the start of a step. Starts with
 * zeros.
 */
typedef struct host_clock {
    double host, device;
} host_clock;

/** Work of the host in a pass. */
typedef struct host_work {
    double operations; /**< number of operations */
    double seconds;    /**< s of the host for all of them */
} host_work;

/**
 * Adds a pass.
 * @param queue   the device has a queue
 * @param seconds time of the device for all operations
 * @return s until the device has done them
 */
double host_pass(host_clock *c, bool queue, host_work work, double seconds);

/** Numbers of operations and of planes of norms in the parts of a step. A network in evaluation mode
 * has HOST_INFERENCE alone. */
typedef struct host_operations {
    double n[N_HOST_PARTS], planes[N_HOST_PARTS];
} host_operations;

/** Work of a part, by the host's time of an operation and of a plane. */
host_work host_work_of(const host_time *h, const host_operations *n, host_part part);

/**
 * Counts the operations that an eager framework issues. These are its kernels, except that the two
 * gradients of a convolution are one operation (aten::convolution_backward). An update has as many
 * elementwise operations as PyTorch's torch.optim: per tensor, or with `foreach` one call for all
 * tensors (torch._foreach_*, the default on GPUs since 2.0). Those of optimizers that cannot be
 * measured are not counted: 0.
 */
host_operations host_operations_of(const bound_network *net, optimizer o, const host_time *h);
/** host_operations_of() for a network by name. Errors of binding it. */
lm_status host_operations_at(workloads *loads, const workload_name *of, int64_t batch, optimizer o,
                             const host_time *h, host_operations *out, lm_error *err);

#endif
