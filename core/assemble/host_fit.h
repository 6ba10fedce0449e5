/** What the host of an eager framework takes, by its steps. */
#ifndef ASSEMBLE_HOST_FIT_H
#define ASSEMBLE_HOST_FIT_H

#include "fit/calibration.h"
#include "observe/workloads.h"

/**
 * Fits the host's time of an operation to rows of a framework on the same device: steps of networks
 * on one rank, whose passes are there. Least absolute log of predicted / measured steps, of those that
 * take twice as long as the device's own work, or more.
 *
 * @return LM_E_ARG where the rows are of another element type, or tell nothing; errors begin with the
 *         path
 */
lm_status host_fit(const char *path, workloads *loads, calibration *cal, lm_error *err);

#endif
