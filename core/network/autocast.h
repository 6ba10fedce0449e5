/** Automatic mixed precision: decides which layers run in 16 bit. */
#ifndef NETWORK_AUTOCAST_H
#define NETWORK_AUTOCAST_H

#include <stdbool.h>

#include "network/bind.h"

/** What PyTorch's autocast does with a layer's floating-point inputs. */
typedef enum autocast_rule {
    AUTOCAST_LOWER, /**< casts inputs to 16 bit: matrix products and convolutions */
    AUTOCAST_FULL,  /**< casts inputs to single precision: softmax, losses, most norms */
    AUTOCAST_WIDEST /**< casts nothing; the output has the widest input type */
} autocast_rule;

/**
 * The autocast rule of a layer on a kind of device, from its kernels and a table of layer types.
 */
autocast_rule autocast_rule_of(const bound_layer *layer, autocast_kind on);

/**
 * Finds the layers that run in 16 bit and have 16-bit outputs. These are the layers that autocast
 * lowers, and the layers without casts whose real inputs are all 16 bit. Memory, counts and
 * measurements use this function.
 *
 * @param full    bound in single precision; its options name the kind of device
 * @param is_half result, one entry per layer
 */
void autocast_halves(const bound_network *full, bool *is_half);

/**
 * Does autocast cast input `i` of layer `l` to the type in which the layer runs?
 * @param half the same network, bound in 16 bit
 */
bool autocast_casts(const bound_network *full, const bound_network *half, const bool *is_half,
                    size_t l, size_t i);

/** The type of layers that autocast lowers to `mixed`: bf16 beside products in FP8 (fp8.h). */
lm_dtype autocast_half(lm_dtype mixed);

/**
 * The number of products of layer `l` that run in FP8 if `mixed` is LM_F8; 0: the layer stays in
 * bf16. `half`: bound in bf16.
 */
size_t autocast_fp8(const bound_network *full, const bound_network *half, size_t l);

/** LM_E_ARG for an element type that autocast does not support; FP8 is of GPUs alone. */
lm_status autocast_check(const bind_options *o, lm_error *err);

/**
 * Combines two bindings into a network that runs under autocast. Weights, their gradients and
 * updates stay in single precision. A 16-bit layer gets its kernels from `half`. Casts become
 * kernels:
 * - forward: casts of inputs, and of weights that a lowered layer reads. A shared weight is cast
 *   once
 * - backward: casts of the gradients of both
 * - LM_F8: the casts of fp8.h, and its scales
 *
 * @param half owned by `full` from now on, also on failure
 * @return LM_E_NOMEM; LM_E_OVERFLOW
 */
lm_status autocast_join(bound_network *full, bound_network *half, lm_dtype mixed, lm_error *err);

/**
 * The kernel of a cast between single precision and `half`: elementwise, 0 FLOP, with different
 * numbers of bytes read and written.
 * @param pass LM_GRAD_WEIGHT: a cast of weights (forward) or of their gradients; else of
 *             activations
 */
lm_kernel autocast_kernel(lm_dtype half, bool widens, uint64_t elements, lm_pass pass);
/** Is the kernel such a cast, and does it widen? */
bool autocast_is_cast(const lm_kernel *k, bool *widens);

/** The type of "mixed=TYPE" in an observation's `settings`; 0: there is none. */
lm_dtype autocast_of_settings(const char *settings);

#endif
