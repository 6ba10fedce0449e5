/** Kernels of a point. */
#ifndef CALIBRATE_POINT_KERNELS_H
#define CALIBRATE_POINT_KERNELS_H

#include "network/kernels.h"
#include "sweep/sweep.h"

/** Zeros: none. */
typedef struct point_kernels {
    kernel_list   list[N_PHASES];
    gradient_list gradients; /**< networks, layers */
    optimizer     optimizer; /**< of the update */
} point_kernels;

/** Networks and layers: they have counts, and a step. */
bool point_is_counted(const observation *row);
/** A forward pass in evaluation mode. For backends it is the forward phase of a separate case. */
bool point_evaluates(const observation *row);

/**
 * The kernels in the order of execution; of a single kernel the forward phase has it.
 *
 * @param out  zeroed; free in either case
 * @return the errors of network_open() and bind_network()
 */
lm_status point_kernels_make(const registry *reg, const sweep_point *p, point_kernels *out,
                             lm_error *err);
void      point_kernels_free(point_kernels *k);

#endif
