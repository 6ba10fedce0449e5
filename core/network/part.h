/**
 * Networks derived from others: one block, `resnet50:block=layer1.0`; with adapters,
 * `gpt2:lora=16`.
 */
#ifndef NETWORK_PART_H
#define NETWORK_PART_H

#include "network/network.h"

/** Last argument of a name that selects a block. No argument of a file may be called so. */
#define NETWORK_PART ":block="

/** Points to NETWORK_PART in a name; NULL: the name is a whole network. */
const char *network_part_at(const char *name);

/**
 * Reduces `net` to the layer `block` and the layers below it. Inputs from other layers become data,
 * with the shape that they have in the whole network. This data wants a gradient, as it has within
 * the whole (network.part). Shared parameters with an owner outside become the block's own.
 *
 * @param image height and width of the whole network's input; 0: the file's
 * @return LM_E_NOTFOUND: no such block; LM_E_SHAPE: an input of the block is no sample of a batch;
 *         errors of bind_network(). The caller still frees `net`
 */
lm_status network_cut(network *net, const char *block, int64_t image, const registry *reg,
                      lm_error *err);

/** Name of the setting for network_adapt(). */
#define NETWORK_LORA "lora"

/**
 * Freezes a network's parameters and adds low-rank adapters (Hu et al. 2021, arXiv:2106.09685). An
 * adapter consists of two linear layers without bias beside a linear layer x W; their output is
 * scaled and added: s x A B, where A has `rank` features.
 *
 * Without names, the linear layers of blocks get adapters; in a network without blocks all linear
 * layers do. With names, the linear layers whose last word is one of the names do. Ranks share an
 * adapter as they share its layer: rows of A, or columns of B.
 *
 * @param words "16", or with names "16+q_proj+v_proj"
 * @return LM_E_ARG for a rank below 1; LM_E_NOTFOUND if no layer gets an adapter
 */
lm_status network_adapt(network *net, const char *words, lm_error *err);

#endif
