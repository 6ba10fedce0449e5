/** A single layer: values of its keys, output shapes and parameter tensors. */
#ifndef NETWORK_LAYER_H
#define NETWORK_LAYER_H

#include "base/arena.h"
#include "layers/host.h"
#include "layers/registry.h"
#include "network/network.h"

/**
 * Parses the layer's keys as parameters of its type; missing keys get their defaults.
 *
 * @param line on failure: line of the wrong key; for a missing key the line of the layer
 */
lm_status layer_params(const registry_entry *entry, const net_layer *decl, arena *a, lm_value **out,
                       int *line, lm_error *err);

/**
 * The layer as callbacks see it. All arguments must outlive the result. layer_infer() sets its
 * outputs.
 */
host_layer layer_view(const registry_entry *entry, const char *name, const lm_value *param,
                      const lm_tensor *input, uint32_t n_inputs, lm_dtype dtype, lm_error *err);

/** Does the type accept n inputs? LM_E_SHAPE if not. */
lm_status layer_check_inputs(const registry_entry *entry, size_t n, lm_error *err);

/** Infers and checks output shapes; `output` has room for the type's n_outputs. */
lm_status layer_infer(const registry_entry *entry, host_layer *view, lm_tensor *output);

/** Collects the parameter tensors in sink->weight. */
lm_status layer_weights(const registry_entry *entry, const host_layer *view, host_sink *sink);

/** Status of a failed callback. Adds a default text if the callback gave none. */
lm_status layer_explained(lm_status status, lm_error *err);

#endif
