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
 * ("ppp"); an update the same without it; nothing is overlapped. A baseline that repeats what the
 * model says, right or wrong; the exact counts are `layermeter show`'s. Where the two differ:
 *
 *  - a convolution moves the zeros around its input as if they were in memory
 *  - the gradient of its input is a convolution over all of its output, spread out by the stride
 * and padded: 2 x kernel x pixels of the *input*, so k^2 times the FLOPs for a layer that is fully
 *    connected but written as a convolution, stride^2 times for a strided one
 *  - a convolution behind the data has no such gradient; a fully connected layer there has
 *  - every layer with weights has a bias, which counts in the parameters and nowhere else (that of
 * a transposed convolution is as long as its input has channels)
 *  - poolings take 2 FLOPs an element under a window, dropouts 1 an element, in either direction
 *  - everything else costs nothing and has no parameters: activations, norms, sums, softmax,
 *    attention, recurrent layers ...
 *  - a GB of the memory's bandwidth is 2^30 bytes, of the network's 10^9
 *
 * Where PALEO refuses a layer (its shapes do not come back from the gradient) the zeros are as many
 * as make them; with groups, one, three or dilated dimensions the same formulas go on. A transfer
 * of its takes a clock cycle at least, which is left out.
 */

/** Arithmetic and traffic of a pass. */
typedef struct paleo_work {
    double flops, bytes;
} paleo_work;

typedef struct paleo_counts {
    paleo_work pass[LM_N_PASSES]; /**< what has one backward pass stands in LM_GRAD_INPUT */
    double     param_bytes;       /**< weights and biases: what is updated and sent */
    double     params;
    size_t     unknown; /**< layers with kernels that PALEO counts as nothing */
} paleo_counts;

/** Counts of one layer of a bound network. Pure. */
paleo_counts paleo_of_layer(const bound_network *net, size_t layer);
/** Sum over all layers. Pure. */
paleo_counts paleo_of_network(const bound_network *net);
/** Sum of both gradients. */
paleo_work paleo_backward(const paleo_counts *c);

/** Of an update: w - rate * gradient reads both and writes one. */
paleo_work paleo_update(const paleo_counts *c);

/** A device, what connects several, and how much of their peaks a framework gets out of them. */
typedef struct paleo_platform {
    double       peak;      /**< FLOP/s */
    double       bandwidth; /**< of the memory, bytes/s as datasheets say it */
    double       link;      /**< between workers, bytes/s; NAN: unknown */
    double       ppp_comp;  /**< fraction of `peak` and `bandwidth` that is reached */
    double       ppp_comm;  /**< fraction of `link` */
    paleo_scheme scheme;
} paleo_platform;

/** Seconds of one step. */
typedef struct paleo_times {
    double forward, backward, update, sync, step;
} paleo_times;

/** `workers` >= 1, each with the batch that was counted. sync is NAN where the link is unknown. */
paleo_times paleo_step(const paleo_counts *c, const paleo_platform *p, int64_t workers);

/** A measured time beside PALEO's for it at 100 % of every peak, in seconds. */
typedef struct paleo_point {
    double computed; /**< forward and backward, which take 1 / ppp_comp times as long */
    double sent;     /**< sync: 1 / ppp_comm times */
    double fixed;    /**< update: as long as it says */
    double measured; /**< above 0 */
} paleo_point;

/**
 * The percents of peak with the least sum of squares of (predicted - measured) / measured: one
 * scalar each, as the paper estimates them for a platform. NAN for one that no point tells of;
 * `ppp_comm` is INFINITY where the times are best without any for the network.
 *
 * @return LM_E_ARG without points, or where the times are shorter than any percent would allow
 */
lm_status paleo_fit(const paleo_point *row, size_t n, double *ppp_comp, double *ppp_comm,
                    lm_error *err);

#endif
