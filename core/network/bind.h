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

/** Kind of device for autocast's rules: the lists of 16-bit operators differ (autocast.h). */
typedef enum autocast_kind { AUTOCAST_GPU, AUTOCAST_CPU, N_AUTOCAST_KINDS } autocast_kind;

/** Options of a binding. */
typedef struct bind_options {
    int64_t  batch; /**< per device; >= 1 */
    lm_dtype dtype; /**< of activations and weights */
    /**
     * 0: no autocast. LM_F16 or LM_BF16: autocast from LM_F32 to this type (autocast.h). LM_F8:
     * autocast to bf16, with products in FP8 (mixed/fp8.h)
     */
    lm_dtype      mixed;
    autocast_kind on;    /**< kind of device: for `mixed`, and for counts of loops */
    const char   *input; /**< shape of one sample that replaces the file's ("3x224x224"); or NULL */
    int64_t image; /**< height and width that replace the file's last two dimensions; 0: none */
    /**
     * Evaluation mode: only the forward pass, without dropout, auxiliary classifiers (`aux = 0`)
     * and losses. A loss is a scalar; data that only a loss reads is dropped, too. Norms with
     * running statistics keep their kernels (counts/work.c).
     */
    bool      evaluation;
    net_shard shard; /**< the part of the network that one rank has; zeros: all */
    /** data gets a gradient, too, as if a trained layer came before it */
    bool input_gradient;
    /**
     * An earlier binding of the same network and registry. Its layer types and keys are reused
     * where the use is the same. `like` and its `input` must outlive the result. NULL: none
     */
    const struct bound_network *like;
    /**
     * set if another batch of this part was bound before: then it is known that each rank of cp has
     * its share of each layer
     */
    bool checked;
} bind_options;

/** A bound layer. Its network owns it. */
typedef struct bound_layer bound_layer;
struct bound_layer {
    const net_layer      *decl;
    const registry_entry *entry; /**< entry of the layer type; callbacks see entry->own */
    const lm_value       *param; /**< one value per parameter of the type */
    const lm_tensor      *input, *output;
    /** one entry per input: 1 for a real type that comes from a trained layer */
    const uint8_t *wants_gradient;
    uint32_t       n_inputs, n_outputs;
    bool           trained;          /**< has weights with a gradient */
    bool           needs_grad_input; /**< at least one input wants a gradient */
    bool           lowered;          /**< `kernels` are those that a framework would launch */
    bool           counted;          /**< frameworks count it as a layer */
    bool           idle;             /**< does not run in evaluation: no kernels, no cost */
    bool           context;          /**< cp: ranks see each other's tokens in this layer */
    /** evaluation mode: the output is the input (LM_TRAINING_ONLY) */
    bool             passes;
    lm_way           way;     /**< how ranks share the layer; LM_WHOLE: not shared */
    lm_cost          cost;    /**< 0 for passes that do not exist */
    const lm_weight *weights; /**< the layer's own weights, then those of `shares` */
    /** number of the layer's own weights; each tensor belongs to one layer */
    size_t             n_weights;
    size_t             n_shared;
    const bound_layer *shares; /**< owner of weights[n_weights ..]; or NULL */
    const lm_kernel   *kernels[LM_N_PASSES];
    size_t             n_kernels[LM_N_PASSES];
};

/** A bound network. Layers are ordered so that inputs precede their uses. */
typedef struct bound_network {
    const network *net; /**< the network; `own` if an argument changed the input */
    network       *own;
    bound_layer   *layer;
    size_t         n_layers;
    bind_options   options;
    net_sharing    sharing; /**< if only a rank's part is bound, else zeros */
    /** mixed precision: the 16-bit binding that owns some layers' kernels */
    struct bound_network *half;
    /** number of data inputs; options can replace the shape only if it is 1 */
    size_t n_data;
    char   input[64]; /**< shape of one sample in use, "3x224x224"; of several inputs "128, 128" */
    struct arena *arena; /**< owns all of the above */
    size_t        users; /**< number of further users (bound_network_share()) */
} bound_network;

/**
 * Binds a network. `net` and `reg` must outlive the result. Pure: the same arguments give the same
 * counts.
 *
 * @return LM_E_NOTFOUND for an unknown layer type or key; LM_E_ARG for a wrong parameter, or for
 *         `mixed` with a dtype other than f32; LM_E_SHAPE for tensors that do not fit;
 *         LM_E_OVERFLOW. The text begins with file:line and the layer's name
 */
lm_status bind_network(const network *net, const registry *reg, const bind_options *options,
                       bound_network **out, lm_error *err);
/** Adds a user to a binding. Each user calls bound_network_free(). Only for use in one thread. */
bound_network *bound_network_share(bound_network *bound);
void           bound_network_free(bound_network *bound);

#endif
