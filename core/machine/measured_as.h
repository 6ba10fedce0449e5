/** Machine files of one calibration: a calibration writes a file for each element type and setting. */
#ifndef MACHINE_MEASURED_AS_H
#define MACHINE_MEASURED_AS_H

#include <limits.h>

#include "fit/calibration.h"

/**
 * Finds the machine file beside `path` that was measured on the same device in the given types. A file
 * with the same other settings comes first, then the order of names decides. Files that cannot be read are
 * passed over.
 *
 * @param cal    machine of `path`; a machine without a named device has no such file
 * @param dtype  of weights
 * @param mixed  autocast; 0: none
 * @param out    path of the file; untouched if there is none
 * @return false: there is none
 */
bool machine_measured_as(const char *path, const calibration *cal, lm_dtype dtype, lm_dtype mixed,
                         char out[PATH_MAX]);

#endif
