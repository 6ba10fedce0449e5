/** Small kernels that stand for larger ones. */
#ifndef CALIBRATE_VERIFY_SMALL_H
#define CALIBRATE_VERIFY_SMALL_H

#include <layermeter/kernel.h>

#include "measure/backend.h"

/**
 * A kernel of a few thousand elements with what libraries choose an implementation by: operation,
 * pass, element type, window up to 5, stride and gaps up to 2, padding, groups (one, several, one a
 * channel), few channels, bias, mode, adaptive windows, kind of statistics, shared heads, mask. Kernels that differ
 * in size alone have the same one. Dropout is left out: its random numbers are the library's.
 */
lm_kernel small_kernel(const lm_kernel *k, kernel_use use);

/** Settings that the kernel's implementation depends on; all others are at their default. */
settings small_settings(const lm_kernel *k, kernel_use use, const settings *how);

#endif
