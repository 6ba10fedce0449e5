/** Fit of the host's time of an eager framework. */
#ifndef ASSEMBLE_HOST_FIT_H
#define ASSEMBLE_HOST_FIT_H

#include "fit/calibration.h"
#include "observe/workloads.h"

/**
 * Fits the host's time per operation to rows of a framework on the same device: steps of networks
 * on one rank, with times of passes, and passes of inference. It minimises the absolute log of
 * predicted / measured steps, over steps that take at least twice as long as the device's own work.
 * Without such passes of inference, the time of inference stays unknown (host_seconds()).
 *
 * @return LM_E_ARG if the rows have another element type, or no such steps; errors begin with the
 *         path
 */
lm_status host_fit(const char *path, workloads *loads, calibration *cal, lm_error *err);

#endif
