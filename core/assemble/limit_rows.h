/** Curves of steps under power limits, from observations. */
#ifndef ASSEMBLE_LIMIT_ROWS_H
#define ASSEMBLE_LIMIT_ROWS_H

#include "fit/calibration.h"
#include "observe/workloads.h"

/** Results. Zero-initialise. */
typedef struct limit_found {
    size_t jobs, rows; /**< number of jobs and rows in curves */
    size_t unkept;     /**< number of rows left out: they drew more than their limit */
} limit_found;

/**
 * Fits curves (device/limits.h) to training steps and inference of whole networks on one device,
 * for jobs with several power limits.
 *
 * @return errors of workloads_input(), after the file's path and line; LM_E_NOMEM
 */
lm_status limit_rows_fit(const observations *obs, workloads *loads, calibration *cal,
                         limit_found *out, lm_error *err);

#endif
