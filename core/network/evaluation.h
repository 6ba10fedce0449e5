/** Evaluation mode of a bound network. */
#ifndef NETWORK_EVALUATION_H
#define NETWORK_EVALUATION_H

#include "network/bind.h"

/**
 * Keeps the forward pass of each layer, without what only training needs. Layers whose outputs only a
 * loss reads, for example labels, become idle. LM_E_NOMEM.
 */
lm_status evaluation_settle(bound_network *net, lm_error *err);

#endif
