/** Stages of a network: which layers each rank of a pipeline has. */
#ifndef NETWORK_STAGES_H
#define NETWORK_STAGES_H

#include "network/bind.h"

/** Spread of blocks over stages: the largest FLOPs of a stage are least, then the sum of their squares. */
#define STAGES_BALANCED "balanced"

/**
 * The first block of stage v where blocks are spread evenly. The rest of a division goes one by one to
 * the last stages but the very last, which has the scores: early ones hold most activations. Stage
 * `stages` begins behind the last block. Pure.
 */
int64_t stages_begin(int64_t blocks, int64_t stages, int64_t v);

/** Spreads blocks by these FLOPs as STAGES_BALANCED does; begin: room for `stages`. LM_E_NOMEM */
lm_status stages_balance(const double *flops, int64_t blocks, int64_t stages, int64_t *begin,
                         lm_error *err);
/** FLOPs of blocks in a training step; the first and the last include the layers outside of
 * blocks. */
void stages_flops(const bound_network *net, double *flops);

/** Does a spread, as in stages_of_layers(), fit so many blocks? LM_E_ARG, with both numbers. */
lm_status stages_check(int64_t blocks, int64_t stages, const char *spread, lm_error *err);

/**
 * Gives each layer its stage, 0 .. stages - 1: uses of blocks at the top of the network's file, with what
 * lies in front of the first, behind the last, and between two with the one before.
 *
 * @param spread "": evenly; STAGES_BALANCED; or the blocks of each stage, "7,8,8,7"; NULL is ""
 * @param stage room for net->n_layers
 * @return as stages_check(); LM_E_UNSUPPORTED for a layer that reads what another stage than the one
 *         before it makes, which it names
 */
lm_status stages_of_layers(const bound_network *net, int64_t stages, const char *spread,
                           int64_t *stage, lm_error *err);

/** Bytes of what stage `from` hands to the next one, in one pass of the batch. */
uint64_t stages_boundary(const bound_network *net, const int64_t *stage, int64_t from);

#endif
