/** Steps under power limits, of observations. */
#ifndef ASSEMBLE_LIMIT_ROWS_H
#define ASSEMBLE_LIMIT_ROWS_H

#include "fit/calibration.h"
#include "observe/workloads.h"

/** What came of it. Zero-initialise. */
typedef struct limit_found {
    size_t jobs, rows; /**< in the curves */
    size_t unkept;     /**< rows that drew more than their limit: left out */
} limit_found;

/**
 * Fits curves (device/limits.h) to the steps, and passes of inference, of whole networks on one device
 * that have a power limit, where they have several.
 *
 * @return what workloads_input() returns, behind the file's path and line; LM_E_NOMEM
 */
lm_status limit_rows_fit(const observations *obs, workloads *loads, calibration *cal,
                         limit_found *out, lm_error *err);

#endif
