/** PALEO's model of a training step: its counts of a network, its times, its communication. */
#ifndef MODELS_PALEO_H
#define MODELS_PALEO_H

#include <stdbool.h>

#include "fabric/scheme.h"
#include "network/bind.h"

/*
 * Qi, Sparks, Talwalkar, "PALEO: A Performance Model for Deep Neural Networks", ICLR 2017; the
 * formulas are those of its code, github.com/TalwalkarLab/paleo, commit
 * 7cdc7cb98069aa32ea60f4484c7f05584352d965: paleo/profilers/flops_profiler.py without cuDNN's
 * heuristics (every convolution a GEMM), layers/conv.py, comm.py, simulation.py.
 *
 * A pass takes FLOPs / peak + bytes / bandwidth, both divided by the platform's percent of peak
 * ("ppp"). An update takes the same without it. Nothing overlaps. This is a baseline: it repeats the
 * published model, right or wrong. `layermeter show` has the exact counts. PALEO's counts differ:
 *
 *  - a convolution also moves the zeros around its input, as if they were in memory
 *  - the gradient of its input is a convolution over its whole output, spread out by the stride and
 *    padded: 2 x kernel x pixels of the *input*. So it has k^2 times the FLOPs for a layer that is
 *    fully connected but written as a convolution, and stride^2 times for a strided convolution
 *  - a convolution after the data has no such gradient; a fully connected layer there has one
 *  - each layer with weights has a bias, which counts only in the parameters (that of a transposed
 *    convolution has as many elements as its input has channels)
 *  - poolings have 2 FLOPs per element under a window, dropouts 1 per element, in either direction
 *  - all other layers cost nothing and have no parameters: activations, norms, sums, softmax,
 *    attention, recurrent layers ...
 *  - a GB is 2^30 bytes in the memory's bandwidth, and 10^9 bytes in the network's
 *
 * PALEO refuses a layer whose shapes do not come back from the gradient. Here the padding gets as
 * many zeros as the shapes need. The same formulas also apply to groups, and to one, three or
 * dilated dimensions. PALEO's minimum of one clock cycle per transfer is left out.
 */

/** Arithmetic and traffic of a pass. */
typedef struct paleo_work {
    double flops, bytes;
} paleo_work;

typedef struct paleo_counts {
    paleo_work pass[LM_N_PASSES]; /**< a layer with one backward pass has it in LM_GRAD_INPUT */
    double     param_bytes;       /**< weights and biases: updated and sent */
    double     params;
    size_t     unknown; /**< layers with kernels that PALEO counts as 0 */
} paleo_counts;

/** Counts of one layer of a bound network. Pure. */
paleo_counts paleo_of_layer(const bound_network *net, size_t layer);
/** Sum over all layers. Pure. */
paleo_counts paleo_of_network(const bound_network *net);
/** Sum of both gradients. */
paleo_work paleo_backward(const paleo_counts *c);

/** Work of an update: w - rate * gradient reads both and writes one. */
paleo_work paleo_update(const paleo_counts *c);

/** A device, the link between several, and the share of their peaks that a framework reaches. */
typedef struct paleo_platform {
    double       peak;      /**< FLOP/s */
    double       bandwidth; /**< of the memory, bytes/s as in datasheets */
    double       link;      /**< between workers, bytes/s; NAN: unknown */
    double       ppp_comp;  /**< share of `peak` and `bandwidth` that is reached */
    double       ppp_comm;  /**< share of `link` that is reached */
    paleo_scheme scheme;
} paleo_platform;

/** Seconds of one step. */
typedef struct paleo_times {
    double forward, backward, update, sync, step;
} paleo_times;

/**
 * Times of a step. `workers` >= 1, each with the batch that was counted. sync is NAN if the link is
 * unknown.
 */
paleo_times paleo_step(const paleo_counts *c, const paleo_platform *p, int64_t workers);

/** A measured time, and PALEO's prediction for it at 100 % of each peak, in seconds. */
typedef struct paleo_point {
    double computed; /**< forward and backward; divided by ppp_comp */
    double sent;     /**< sync; divided by ppp_comm */
    double fixed;    /**< update; unchanged */
    double measured; /**< above 0 */
} paleo_point;

/**
 * Fits the percents of peak with the least sum of squares of (predicted - measured) / measured: one
 * number each, as the paper does for a platform. NAN for a percent that no point determines.
 * `ppp_comm` is INFINITY if the fit is best without time for the network.
 *
 * @return LM_E_ARG without points, or if the times are shorter than any percent allows
 */
lm_status paleo_fit(const paleo_point *row, size_t n, double *ppp_comp, double *ppp_comm,
                    lm_error *err);

#endif
