/** Stages of a network: which layers each rank of a pipeline has. */
#ifndef NETWORK_STAGES_H
#define NETWORK_STAGES_H

#include "network/bind.h"

/**
 * Gives each layer its stage, 0 .. stages - 1: uses of blocks at the top of the network's file in equal
 * numbers, with what lies in front of the first, behind the last, and between two with the one before.
 *
 * @param stage room for net->n_layers
 * @return LM_E_ARG if the blocks are no multiple of `stages`; LM_E_UNSUPPORTED for a layer that reads
 *         what another stage than the one before it makes, which it names
 */
lm_status stages_of_layers(const bound_network *net, int64_t stages, int64_t *stage, lm_error *err);

/** Bytes of what stage `from` hands to the next one, in one pass of the batch. */
uint64_t stages_boundary(const bound_network *net, const int64_t *stage, int64_t from);

#endif
