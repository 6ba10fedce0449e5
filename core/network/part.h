/** Networks made of others: a block by itself, `resnet50:block=layer1.0`; with adapters, `gpt2:lora=16`. */
#ifndef NETWORK_PART_H
#define NETWORK_PART_H

#include "network/network.h"

/** The word that a name ends with; no argument of a file can have its name. */
#define NETWORK_PART ":block="

/** Where NETWORK_PART begins in a name; NULL: it names a whole network. */
const char *network_part_at(const char *name);

/**
 * Leaves of `net` the layer `block` and those under it. What they take from others becomes data, of
 * the shape that it has in the whole; data of a block wants a gradient, as it has within the whole
 * (network.part). Shared parameters whose owner is outside are the block's.
 *
 * @param image height and width of the whole's input; 0: the file's
 * @return LM_E_NOTFOUND: no such block; LM_E_SHAPE: it takes what is no sample of a batch; errors of
 * bind_network(). `net` is then to be freed as before.
 */
lm_status network_cut(network *net, const char *block, int64_t image, const registry *reg,
                      lm_error *err);

/** The setting that network_adapt() stands behind. */
#define NETWORK_LORA "lora"

/**
 * Freezes a network's parameters and adds low-rank adapters (Hu et al. 2021, arXiv:2106.09685): beside a
 * linear layer x W two without bias, scaled and added: s x A B, with A of `rank` features.
 *
 * Adapters stand beside the linear layers of blocks, or of a network without blocks beside all; with
 * names beside those whose last word is one. Ranks share them as they share the layer: rows of A, or
 * columns of B.
 *
 * @param words "16", or with names "16+q_proj+v_proj"
 * @return LM_E_ARG for a rank below 1; LM_E_NOTFOUND where no layer takes one
 */
lm_status network_adapt(network *net, const char *words, lm_error *err);

#endif
