/**
 * Nicolai's model: random forests of the time and of the power of single operations.
 *
 * C. Nicolai, "On Energy Modeling of Deep Neural Network Operations", master thesis, Heidelberg
 * University, 2025. Features are the module's type, one-hot, the attributes that it prints
 * (channels, kernel, stride, padding, groups, bias), the sizes of what it reads, writes and learns,
 * and the core clock; a forest (Breiman 2001) of seconds, one of watts, for forward passes and for
 * training steps apart. Energy is power times time, and a network the sum over all its operations.
 *
 * Where the thesis says nothing: attributes that a type does not have are 0, as is a clock that was
 * not held, which a flag of its own tells from all others. Layers in a row are no operation.
 */
#ifndef BASELINES_NICOLAI_H
#define BASELINES_NICOLAI_H

#include "baselines/layerwise.h"

extern const layerwise_kind layerwise_nicolai;

#endif
