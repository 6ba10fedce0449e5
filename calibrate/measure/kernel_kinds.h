/** Kinds of kernels that need code of their own, by their geometry. */
#ifndef CALIBRATE_KERNEL_KINDS_H
#define CALIBRATE_KERNEL_KINDS_H

#include <stdbool.h>

#include <layermeter/kernel.h>

/**
 * Are a pool's windows adaptive ones that `window` and `stride` do not say? Those of unequal length
 * (`taps`), and those of more outputs than inputs, which would reach beyond an input without
 * padding. Others are those of a pool with `window` at `stride`.
 */
bool pool_is_adaptive(const lm_kernel *k);

/** Has a norm one scale and one shift for each of its `rows`, as a batch norm for each channel? A layer
 * norm has them for each element of a row. */
bool norm_over_channels(const lm_kernel *k);

#endif
