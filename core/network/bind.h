/** Binding: a network and a batch become tensors, costs, weights and kernels. */
#ifndef NETWORK_BIND_H
#define NETWORK_BIND_H

#include <stdbool.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>
#include <layermeter/plugin.h>

#include "layers/registry.h"
#include "network/network.h"

/** What a network is bound with. */
typedef struct bind_options {
    int64_t     batch; /**< per device; >= 1 */
    lm_dtype    dtype; /**< of activations and weights */
    const char *input; /**< shape of one sample that replaces the file's ("3x224x224"); or NULL */
    int64_t     image; /**< height and width that replace the file's last two dimensions; 0: none */
    bool input_gradient; /**< data wants a gradient, too, as if something trained lay before it */
    /** The same network, bound with the same registry before: its layers' types and keys are taken
     * from there instead of being read again. It must outlive the result. NULL: none */
    const struct bound_network *like;
} bind_options;

/** One layer with everything known about it. Owned by its network. */
typedef struct bound_layer bound_layer;
struct bound_layer {
    const net_layer      *decl;
    const registry_entry *entry; /**< its type; entry->own is what callbacks see */
    const lm_value       *param; /**< one for each of the type's parameters */
    const lm_tensor      *input, *output;
    const uint8_t     *wants_gradient; /**< of each input: no integer, something trained before */
    uint32_t           n_inputs, n_outputs;
    bool               trained;          /**< has weights that get a gradient */
    bool               needs_grad_input; /**< some input wants a gradient */
    bool               lowered;          /**< `kernels` is what a framework would launch */
    bool               counted;          /**< one of the layers that frameworks count */
    lm_cost            cost;             /**< passes that do not happen are 0 */
    const lm_weight   *weights;          /**< its own, then those that `shares` owns */
    size_t             n_weights;        /**< its own: each tensor belongs to one layer */
    size_t             n_shared;
    const bound_layer *shares; /**< owner of weights[n_weights ..]; or NULL */
    const lm_kernel   *kernels[LM_N_PASSES];
    size_t             n_kernels[LM_N_PASSES];
};

/** Layers in an order in which every input precedes its use. */
typedef struct bound_network {
    const network *net;
    bound_layer   *layer;
    size_t         n_layers;
    bind_options   options;
    size_t         n_data; /**< layers that data enters through: only of one can it be replaced */
    char input[64];        /**< shape of one sample in use, "3x224x224", or "128, 128" of several */
    struct arena *arena;   /**< owns all of the above */
} bound_network;

/**
 * Binds. `net` and `reg` must outlive the result. Pure: the same arguments give the same counts.
 *
 * @return LM_E_NOTFOUND for a layer type or key nobody knows, LM_E_ARG for a parameter, LM_E_SHAPE
 * for tensors that do not fit, LM_E_OVERFLOW; the text begins with file:line and the layer's name
 */
lm_status bind_network(const network *net, const registry *reg, const bind_options *options,
                       bound_network **out, lm_error *err);
void      bound_network_free(bound_network *bound);

#endif
