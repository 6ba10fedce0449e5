/** Automatic mixed precision: which layers run in 16 bit. */
#ifndef NETWORK_AUTOCAST_H
#define NETWORK_AUTOCAST_H

#include "network/bind.h"

/** How torch.cuda.amp's autocast treats a layer's floating-point inputs. */
typedef enum autocast_rule {
    AUTOCAST_LOWER, /**< casts them to 16 bit: matrix products and convolutions */
    AUTOCAST_FULL,  /**< casts them to single precision: softmax, losses, most norms */
    AUTOCAST_WIDEST /**< does not cast them; the result has the widest of their types */
} autocast_rule;

/** The rule of a layer, by its kernels and by the names of types that stay in single precision. */
autocast_rule autocast_rule_of(const bound_layer *layer);

#endif
