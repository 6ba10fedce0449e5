/** The norms with files of their own. */
#ifndef PLUGINS_NORM_H
#define PLUGINS_NORM_H

#include "inputs.h"
#include "tensors.h"

extern const lm_layer_type norm_local_response;

#endif
