/** Stages of a pipeline: assigns layers to stages. */
#ifndef NETWORK_STAGES_H
#define NETWORK_STAGES_H

#include "network/bind.h"

/**
 * Spreads blocks over stages so that the largest FLOPs of a stage are minimal, then the sum of
 * squares of the FLOPs.
 */
#define STAGES_BALANCED "balanced"

/**
 * The first block of stage v if blocks are spread evenly. A remainder goes one by one to the last
 * stages except the very last, which also computes the scores; early stages hold the most
 * activations. Stage `stages` begins behind the last block. Pure.
 */
int64_t stages_begin(int64_t blocks, int64_t stages, int64_t v);

/**
 * Spreads blocks with these FLOPs as STAGES_BALANCED does.
 * @param begin room for `stages`
 * @return LM_E_NOMEM
 */
lm_status stages_balance(const double *flops, int64_t blocks, int64_t stages, int64_t *begin,
                         lm_error *err);
/**
 * FLOPs of each block in a training step. The first and the last block include the layers outside
 * blocks.
 */
void stages_flops(const bound_network *net, double *flops);

/**
 * Does a spread, as in stages_of_layers(), fit this number of blocks? LM_E_ARG; the text has both
 * numbers.
 */
lm_status stages_check(int64_t blocks, int64_t stages, const char *spread, lm_error *err);

/**
 * Assigns a stage, 0 .. stages - 1, to each layer. Stages consist of the blocks at the top of the
 * network's file. Layers before the first block belong to it, layers after a block belong to that
 * block.
 *
 * @param spread "" or NULL: evenly; STAGES_BALANCED; or the number of blocks in each stage,
 *               "7,8,8,7"
 * @param stage room for net->n_layers
 * @return errors of stages_check(); LM_E_UNSUPPORTED for a layer that reads the output of a stage
 *         other than its own and the previous one; the text names the layer
 */
lm_status stages_of_layers(const bound_network *net, int64_t stages, const char *spread,
                           int64_t *stage, lm_error *err);

/** Bytes that stage `from` sends to the next stage in one pass of the batch. */
uint64_t stages_boundary(const bound_network *net, const int64_t *stage, int64_t from);

#endif
