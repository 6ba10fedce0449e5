/** Automatic mixed precision: which layers run in 16 bit. */
#ifndef NETWORK_AUTOCAST_H
#define NETWORK_AUTOCAST_H

#include "network/bind.h"

/** What torch.cuda.amp's autocast does with a layer's floating-point inputs. */
typedef enum autocast_rule {
    AUTOCAST_LOWER, /**< casts them to 16 bit: matrix products and convolutions */
    AUTOCAST_FULL,  /**< casts them to single precision: softmax, losses, most norms */
    AUTOCAST_WIDEST /**< takes them as they are; the result has the widest of their types */
} autocast_rule;

/** By the layer's kernels and, for what is kept in single precision, by its type's name. */
autocast_rule autocast_rule_of(const bound_layer *layer);

#endif
