/** Norms in other files. */
#ifndef PLUGINS_NORM_H
#define PLUGINS_NORM_H

#include "inputs.h"
#include "tensors.h"

extern const lm_layer_type norm_local_response;

#endif
