/** Curves of steps under power limits, from observations. */
#ifndef ASSEMBLE_LIMIT_ROWS_H
#define ASSEMBLE_LIMIT_ROWS_H

#include "fit/calibration.h"
#include "observe/workloads.h"

/**
 * Fits curves (device/limits.h) to training steps and inference of whole networks on one device,
 * for jobs with several power limits.
 *
 * @param unkept number of rows left out, because they drew more than their limit
 * @return errors of workloads_input(), after the file's path and line; LM_E_NOMEM
 */
lm_status limit_rows_fit(const observations *obs, workloads *loads, calibration *cal,
                         size_t *unkept, lm_error *err);

#endif
