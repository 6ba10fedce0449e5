/** Machine files of a run: one for each measured element type and combination of settings. */
#ifndef CALIBRATE_MACHINES_H
#define CALIBRATE_MACHINES_H

#include <limits.h>

#include "run/findings.h"
#include "run/folder.h"

typedef struct machine_found {
    char   file[NAME_MAX + 1]; /**< in the folder; empty: none, see why_not */
    char   of[VARIANT_TEXT];   /**< "dtype=bf16 layout=nhwc" */
    size_t n_points;           /**< number of networks' points */
    double step_mape; /**< error of a step in cross-validation over networks; NAN: unknown */
    char   why_not[200];
} machine_found;

typedef struct machines {
    machine_found *item; /**< the first is that of `first`: machine.ini */
    size_t         n;
} machines;

/**
 * Writes the machine file of the findings, and fits and writes those of the other element types and
 * settings. A combination that cannot be fitted is no error.
 *
 * @param first findings_make() without a `where`
 */
lm_status machines_write(const run_folder *to, workloads *loads, const findings *first,
                         machines *out, lm_error *err);
void      machines_free(machines *m);

#endif
