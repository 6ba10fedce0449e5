/** A network of one layer or a short chain, for observations of kind `layer`. */
#ifndef NETWORK_SINGLE_H
#define NETWORK_SINGLE_H

#include "network/bind.h"

/**
 * Makes a network of one layer and the data it reads, and binds it with a gradient for its inputs:
 * as it would run in the middle of a network.
 *
 * @param type     layer type by name; of several layers in a row, each the only reader of the one
 *                 before it, "conv2d; relu"
 * @param geometry its keys as in a model file, "filters=64 kernel=3"; missing keys have the
 *                 type's defaults. Of several layers in their order: "filters=64; alpha=0.1"
 * @param input    shape of one sample without the batch, "3x224x224"; of several inputs, in their
 *                 order, "49x64, 49x64"; an element type other than the network's stands behind a
 *                 colon: "128:i64"
 * @return LM_E_NOTFOUND, LM_E_SYNTAX, what bind_network() returns
 */
lm_status single_bind(const char *type, const char *geometry, const char *input, int64_t batch,
                      lm_dtype dtype, const registry *reg, network **net, bound_network **out,
                      lm_error *err);

#endif
