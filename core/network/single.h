/** A network of one layer or a short chain, for observations of kind `layer`. */
#ifndef NETWORK_SINGLE_H
#define NETWORK_SINGLE_H

#include "network/bind.h"

/**
 * Makes and binds a network of one layer and the data that it reads. The inputs have gradients, as
 * in the middle of a network.
 *
 * @param type     name of a layer type. Several types make a chain, "conv2d; relu"; each layer is
 *                 the only reader of the one before it
 * @param geometry keys as in a model file, "filters=64 kernel=3"; missing keys get the type's
 *                 defaults. For a chain, in the same order: "filters=64; alpha=0.1"
 * @param input    shape of one sample without the batch, "3x224x224"; of several inputs, in order,
 *                 "49x64, 49x64". An element type other than the network's follows a colon:
 *                 "128:i64"
 * @return LM_E_NOTFOUND, LM_E_SYNTAX, errors of bind_network()
 */
lm_status single_bind(const char *type, const char *geometry, const char *input, int64_t batch,
                      lm_dtype dtype, const registry *reg, network **net, bound_network **out,
                      lm_error *err);

/** The same with options of a binding: batch, dtype, and autocast. Under it data is f32, and cast. */
lm_status single_bind_as(const char *type, const char *geometry, const char *input,
                         const bind_options *as, const registry *reg, network **net,
                         bound_network **out, lm_error *err);

#endif
