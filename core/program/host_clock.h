/**
 * The host of an eager framework, beside its device. The framework issues operations one by one.
 * Each takes the same time of the host, whatever it computes.
 *
 * A device with a queue (a GPU) runs behind the host. Operation i starts when it was issued and the
 * operation before it is done. This is Lindley's recurrence ("The theory of queues with a single
 * server", 1952): done(i) = max(done(i-1), issued(i)) + d(i). If all d of a pass are equal, K
 * operations end at the largest of three lines, where h is the host's time:
 * - device + K d: the device was busy all the time
 * - host + h + K d: the device first waited for the host, then the host ran ahead
 * - host + K h + d: the device waited for each operation
 *
 * A processor that computes by itself does both in turn: K h + K d. Some of its framework's own
 * kernels start a loop for each plane (an image of one channel): PyTorch's norms, in NCHW. Small
 * images make these starts as long as the work. A plane counts as a share of an operation.
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

/** Time of a framework's host, from a machine file. */
typedef struct host_time {
    size_t rows;    /**< rows that it was fitted to; 0: unknown */
    double seconds; /**< s of one operation */
    double plane;   /**< operations of a plane of a norm; 0: a device with a queue */
    double mape;    /**< error on steps of networks left out; NAN: only one network */
    bool   queue;   /**< the device has a queue: it runs behind the host */
    bool foreach;   /**< an update handles all tensors in one call, see host_operations_of() */
    /**
     * fitted to whole steps under layouts, together with their prices: each prediction of a layout
     * uses it
     */
    bool laid;
    char framework[HOST_FRAMEWORK]; /**< "PyTorch 2.4.0"; HOST_OF_LAYOUTS */
} host_time;

/**
 * Prints one line: "PyTorch 2.4.0 takes 12.3 us of the host for an operation, by 14 steps; ...".
 */
void host_print(const host_time *h, FILE *out);

/**
 * Times at which host and device become free, in seconds from the start of a step. Starts with
 * zeros.
 */
typedef struct host_clock {
    double host, device;
} host_clock;

/**
 * Adds a pass.
 * @param operations number of operations
 * @param seconds    time of the device for all of them
 * @return s until the device has done them
 */
double host_pass(host_clock *c, const host_time *h, double operations, double seconds);

/** Numbers of operations in a step. */
typedef struct host_operations {
    double forward, backward, update;
} host_operations;

/**
 * Counts the operations that an eager framework issues. These are its kernels, except that the two
 * gradients of a convolution are one operation (aten::convolution_backward), and `plane` for each
 * plane of a norm. An update has as many elementwise operations as PyTorch's torch.optim: per
 * tensor, or with `foreach` one call for all tensors (torch._foreach_*, the default on GPUs since
 * 2.0).
 */
host_operations host_operations_of(const bound_network *net, optimizer o, const host_time *h);
/** host_operations_of() for a network by name. Errors of binding it. */
lm_status host_operations_at(workloads *loads, const workload_name *of, int64_t batch, optimizer o,
                             const host_time *h, host_operations *out, lm_error *err);

#endif
