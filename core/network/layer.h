/** One layer by itself: its keys as values, and what its type says of shapes and parameters. */
#ifndef NETWORK_LAYER_H
#define NETWORK_LAYER_H

#include "base/arena.h"
#include "layers/host.h"
#include "layers/registry.h"
#include "network/network.h"

/**
 * The layer's keys as values of its type's parameters, defaults filled in.
 *
 * @param line of the key that is wrong, on failure; the layer's own where one is missing
 */
lm_status layer_params(const registry_entry *entry, const net_layer *decl, arena *a, lm_value **out,
                       int *line, lm_error *err);

/** What callbacks see of it; everything given must outlive it. Its outputs
 * come with layer_infer(). */
host_layer layer_view(const registry_entry *entry, const char *name, const lm_value *param,
                      const lm_tensor *input, uint32_t n_inputs, lm_dtype dtype, lm_error *err);

/** Do as many inputs suit the type? */
lm_status layer_check_inputs(const registry_entry *entry, size_t n, lm_error *err);

/** Output shapes, checked; `output` has room for the type's n_outputs. */
lm_status layer_infer(const registry_entry *entry, host_layer *view, lm_tensor *output);

/** Parameter tensors, into sink->weight. */
lm_status layer_weights(const registry_entry *entry, const host_layer *view, host_sink *sink);

/** For the status of a callback that failed: it should have said why. */
lm_status layer_explained(lm_status status, lm_error *err);

#endif
