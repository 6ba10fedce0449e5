/** Windows that pools read. */
#ifndef CALIBRATE_POOL_WINDOWS_H
#define CALIBRATE_POOL_WINDOWS_H

#include <stdbool.h>

#include <layermeter/kernel.h>

/**
 * Are a pool's windows adaptive ones that `window` and `stride` do not say? Those of unequal length
 * (`taps`), and those of more outputs than inputs, which would reach beyond an input without
 * padding. Others are those of a pool with `window` at `stride`.
 */
bool pool_is_adaptive(const lm_kernel *k);

#endif
