/** Parameters that a layer shares with another: `shares =`. */
#ifndef NETWORK_TIED_H
#define NETWORK_TIED_H

#include "base/arena.h"
#include "network/bind.h"

/**
 * Takes the tensors of the roles that both have from `owner`. They follow the layer's own tensors,
 * so that counts include them once. The second gradient of a tensor is added to the first.
 *
 * @return LM_E_ARG if no role is shared, or the tensors of one are unlike
 */
lm_status tied_weights(bound_layer *l, const bound_layer *owner, arena *a, lm_error *err);

#endif
