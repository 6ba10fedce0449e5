/** Automatic mixed precision: which layers run in 16 bit. */
#ifndef NETWORK_AUTOCAST_H
#define NETWORK_AUTOCAST_H

#include <stdbool.h>

#include "network/bind.h"

/** How PyTorch's autocast treats a layer's floating-point inputs. */
typedef enum autocast_rule {
    AUTOCAST_LOWER, /**< casts them to 16 bit: matrix products and convolutions */
    AUTOCAST_FULL,  /**< casts them to single precision: softmax, losses, most norms */
    AUTOCAST_WIDEST /**< does not cast them; the result has the widest of their types */
} autocast_rule;

/** The rule of a layer on a kind of device, by its kernels and by a table of types. */
autocast_rule autocast_rule_of(const bound_layer *layer, autocast_kind on);

/**
 * Which layers run in 16 bit, and so make outputs of 16 bit: those that autocast lowers, and those
 * that it does not touch, all of whose real inputs are of 16 bit. Memory, counts and measurements
 * all ask here.
 *
 * @param full    bound in single precision; its options say on which kind of device
 * @param is_half by layer
 */
void autocast_halves(const bound_network *full, bool *is_half);

/** Does autocast copy input `i` of layer `l` to the type in which the layer runs? `half`: bound in
 * 16 bit. */
bool autocast_casts(const bound_network *full, const bound_network *half, const bool *is_half,
                    size_t l, size_t i);

/** LM_E_ARG for other types than autocast has. */
lm_status autocast_check(const bind_options *o, lm_error *err);

/**
 * Makes of two bindings the one that runs under autocast: weights, their gradients and updates stay
 * in single precision. A layer of 16 bit has the kernels of `half`; casts are kernels of their own:
 * - forward, of weights that a lowered layer reads, once for all that share them, and of inputs
 * - backward, of the gradients of both
 *
 * @param half which `full` owns from here on, also on failure
 * @return LM_E_NOMEM; LM_E_OVERFLOW
 */
lm_status autocast_join(bound_network *full, bound_network *half, lm_dtype mixed, lm_error *err);

/** A cast of so many elements between single precision and `half`, as an elementwise kernel without
 * arithmetic that reads and writes different numbers of bytes. `pass` says of what: LM_GRAD_WEIGHT
 * of weights (forward) and their gradients, else of activations. */
lm_kernel autocast_kernel(lm_dtype half, bool widens, uint64_t elements, lm_pass pass);
/** Is it such a kernel, and which way? */
bool autocast_is_cast(const lm_kernel *k, bool *widens);

/** Key of the setting of an observation that was run so, its type behind it. */
#define AUTOCAST_SETTING "mixed="
/** The type in the words of `settings`; 0: there is none. */
lm_dtype autocast_of_settings(const char *settings);

#endif
