/** Optimizers, as far as memory goes. */
#ifndef NETWORK_OPTIMIZER_H
#define NETWORK_OPTIMIZER_H

#include <layermeter/error.h>
#include <layermeter/types.h>

typedef enum optimizer {
    OPTIMIZER_SGD,      /**< nothing beside the weights */
    OPTIMIZER_MOMENTUM, /**< one value a weight */
    OPTIMIZER_ADAM,     /**< two */
    OPTIMIZER_ADAFACTOR /**< sums over rows and columns */
} optimizer;

/** sgd, momentum, adam or adafactor. */
lm_status   optimizer_parse(const char *name, optimizer *out, lm_error *err);
const char *optimizer_name(optimizer o);

/** What it keeps for one trained tensor, in the tensor's element type. Saturates. */
uint64_t optimizer_state_bytes(optimizer o, const lm_tensor *weight);

#endif
