/** Machine files of a run: one for each measured element type and choice of settings. */
#ifndef CALIBRATE_MACHINES_H
#define CALIBRATE_MACHINES_H

#include <limits.h>

#include "run/findings.h"
#include "run/folder.h"

typedef struct machine_found {
    char   file[NAME_MAX + 1]; /**< in the folder; empty: none, see why_not */
    char   of[VARIANT_TEXT];   /**< "dtype=bf16 layout=nhwc" */
    size_t n_points;           /**< of networks */
    double step_mape;          /**< of a step, on networks left out; NAN: not known */
    char   why_not[200];
} machine_found;

typedef struct machines {
    machine_found *item; /**< first that of `first`, which is machine.ini */
    size_t         n;
} machines;

/**
 * Writes the machine file of what was found, and those of the other element types and settings, to
 * which it fits by itself. What cannot be fitted is no error.
 *
 * @param first findings_make() without a `where`
 */
lm_status machines_write(const run_folder *to, workloads *loads, const findings *first,
                         machines *out, lm_error *err);
void      machines_free(machines *m);

#endif
