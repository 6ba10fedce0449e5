/**
 * The host of an eager framework beside its device. The framework issues operations one by one, and
 * each takes the host the same time, whatever it computes.
 *
 * A device with a queue (a GPU) works behind the host: operation i starts when it was issued and the
 * one before it is done, which is Lindley's recurrence ("The theory of queues with a single server",
 * 1952): done(i) = max(done(i-1), issued(i)) + d(i). Where all d of a pass are alike, it ends at the
 * largest of three lines:
 * - device + K d: the device has been behind all the time
 * - host + h + K d: the host was behind at first, and ran ahead
 * - host + K h + d: the device waited for each operation
 *
 * A processor that computes itself does both in turn: K h + K d.
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

/** What a framework's host takes, of a machine file. */
typedef struct host_time {
    size_t rows;                      /**< behind it; 0: nothing is known */
    double seconds;                   /**< of an operation */
    double mape;                      /**< of steps on networks left out; NAN: of one network */
    bool   queue;                     /**< the device works behind the host */
    bool foreach; /**< an update goes over all tensors at once, see host_operations_of() */
    bool laid; /**< told by whole steps under layouts, whose prices are corrected along with it: each
                  prediction of a layout counts it */
    char framework[HOST_FRAMEWORK]; /**< "PyTorch 2.4.0"; HOST_OF_LAYOUTS */
} host_time;

/** "PyTorch 2.4.0 takes 12.3 us of the host for an operation, by 14 steps; ..." and a newline. */
void host_print(const host_time *h, FILE *out);

/** Moments, in seconds from the begin of a step. Zeros at first. */
typedef struct host_clock {
    double host, device;
} host_clock;

/** A pass of so many operations, which take the device `seconds` in all. Returns what passes until the
 * device has done them. */
double host_pass(host_clock *c, const host_time *h, double operations, double seconds);

/** Operations of a step. */
typedef struct host_operations {
    double forward, backward, update;
} host_operations;

/**
 * Counts the operations that an eager framework issues: its kernels, but for the two gradients of a
 * convolution, which are one (aten::convolution_backward). An update is so many elementwise
 * operations as PyTorch's torch.optim has: of each tensor, or with `foreach` of all tensors in one
 * call (torch._foreach_*, the default on GPUs since 2.0).
 */
host_operations host_operations_of(const bound_network *net, optimizer o, bool foreach);
/** Of a network by name. What binding it returns. */
lm_status host_operations_at(workloads *loads, const workload_name *of, int64_t batch, optimizer o,
                             bool foreach, host_operations *out, lm_error *err);

#endif
