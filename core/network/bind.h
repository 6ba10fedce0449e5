/** Binding: computes tensors, costs, weights and kernels of a network for a batch. */
#ifndef NETWORK_BIND_H
#define NETWORK_BIND_H

#include <stdbool.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>
#include <layermeter/plugin.h>

#include "layers/registry.h"
#include "network/network.h"
#include "network/shard.h"

/** Whose autocast: which operators run in 16 bit differs by the kind of device (autocast.h). */
typedef enum autocast_kind { AUTOCAST_GPU, AUTOCAST_CPU, N_AUTOCAST_KINDS } autocast_kind;

/** Options of a binding. */
typedef struct bind_options {
    int64_t       batch; /**< per device; >= 1 */
    lm_dtype      dtype; /**< of activations and weights */
    lm_dtype      mixed; /**< 0; or LM_F16, LM_BF16: autocast to it, of LM_F32 (autocast.h) */
    autocast_kind on;    /**< whose, of `mixed` */
    const char   *input; /**< shape of one sample that replaces the file's ("3x224x224"); or NULL */
    int64_t image; /**< height and width that replace the file's last two dimensions; 0: none */
    /** In evaluation mode: the forward pass alone, without dropout, losses (scalars, and what only
     * they read of the data) and auxiliary classifiers (`aux = 0`). Norms by running statistics keep their kernels (counts/work.c). */
    bool      evaluation;
    net_shard shard;          /**< which part of it one rank has; zeros: all */
    bool      input_gradient; /**< data gets a gradient too, as if a trained layer came before it */
    /** An earlier binding of the same network and registry, to reuse its layer types and keys where
     * the network is used in the same way. It and its `input` must outlive the result. NULL: none */
    const struct bound_network *like;
    bool
        checked; /**< another batch of this part was bound: that ranks of cp have their share of each
                     layer is known */
} bind_options;

/** A bound layer. Its network owns it. */
typedef struct bound_layer bound_layer;
struct bound_layer {
    const net_layer      *decl;
    const registry_entry *entry; /**< its type; callbacks see entry->own */
    const lm_value       *param; /**< one for each of the type's parameters */
    const lm_tensor      *input, *output;
    const uint8_t        *wants_gradient; /**< by input: a real type, after a trained layer */
    uint32_t              n_inputs, n_outputs;
    bool                  trained;          /**< has weights with a gradient */
    bool                  needs_grad_input; /**< some input wants a gradient */
    bool                  lowered;   /**< `kernels` are those that a framework would launch */
    bool                  counted;   /**< frameworks count it as a layer */
    bool                  idle;      /**< does not run in evaluation: no kernels, no cost */
    bool                  context;   /**< ranks of cp see each other's tokens in it */
    bool                  passes;    /**< evaluation: its output is its input (LM_TRAINING_ONLY) */
    lm_way                way;       /**< how ranks share it; LM_WHOLE of what none shares */
    lm_cost               cost;      /**< 0 for passes that do not happen */
    const lm_weight      *weights;   /**< its own, then those of `shares` */
    size_t                n_weights; /**< number of its own: each tensor belongs to one layer */
    size_t                n_shared;
    const bound_layer    *shares; /**< owner of weights[n_weights ..]; or NULL */
    const lm_kernel      *kernels[LM_N_PASSES];
    size_t                n_kernels[LM_N_PASSES];
};

/** A bound network. Its layers are in an order in which inputs precede their uses. */
typedef struct bound_network {
    const network        *net; /**< `own`, where the input is told by an argument */
    network              *own;
    bound_layer          *layer;
    size_t                n_layers;
    bind_options          options;
    net_sharing           sharing; /**< of a rank's part, else zeros */
    struct bound_network *half;    /**< mixed: bound in 16 bit, whose kernels some layers have */
    size_t                n_data; /**< data inputs; options can replace the shape of a single one */
    char input[64];      /**< shape of one sample in use, "3x224x224", or "128, 128" of several */
    struct arena *arena; /**< owns all of the above */
    size_t        users; /**< beside the first */
} bound_network;

/**
 * Binds. `net` and `reg` must outlive the result. Pure: the same arguments give the same counts.
 *
 * @return LM_E_NOTFOUND for an unknown layer type or key, LM_E_ARG for a parameter, and for `mixed`
 * with another dtype than f32, LM_E_SHAPE for
 * tensors that do not fit, LM_E_OVERFLOW; the text begins with file:line and the layer's name
 */
lm_status bind_network(const network *net, const registry *reg, const bind_options *options,
                       bound_network **out, lm_error *err);
/** Another user of the same: each calls bound_network_free(). Of one thread. */
bound_network *bound_network_share(bound_network *bound);
void           bound_network_free(bound_network *bound);

#endif
