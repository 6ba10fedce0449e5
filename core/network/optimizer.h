/** Optimizers: the size of their state, and the kernel of an update. */
#ifndef NETWORK_OPTIMIZER_H
#define NETWORK_OPTIMIZER_H

#include <stdbool.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>
#include <layermeter/types.h>

typedef enum optimizer {
    OPTIMIZER_SGD,       /**< no state */
    OPTIMIZER_MOMENTUM,  /**< one value per weight */
    OPTIMIZER_ADAM,      /**< two values per weight */
    OPTIMIZER_ADAGRAD,   /**< one value per weight */
    OPTIMIZER_ADADELTA,  /**< two values per weight */
    OPTIMIZER_RMSPROP,   /**< one value per weight */
    OPTIMIZER_ADAFACTOR, /**< sums over rows and columns */
    OPTIMIZER_MUON       /**< one value per weight of a matrix; for other weights two, as adam */
} optimizer;

/** Optimizers whose updates backends can run. */
#define OPTIMIZERS_MEASURED "sgd, momentum, adam, adagrad, adadelta or rmsprop"

/** Optimizers that are only priced: as a map's traffic, and as products. */
#define OPTIMIZERS_PRICED "adafactor, muon"

/** Accepts OPTIMIZERS_MEASURED, OPTIMIZERS_PRICED, and adamw as adam. */
lm_status   optimizer_parse(const char *name, optimizer *out, lm_error *err);
const char *optimizer_name(optimizer o);

/** Is it one of OPTIMIZERS_MEASURED? */
bool optimizer_is_measured(optimizer o);
/** LM_E_UNSUPPORTED if it is not one of OPTIMIZERS_MEASURED. */
lm_status optimizer_check_measured(optimizer o, lm_error *err);

struct bound_layer;

/**
 * The optimizer of a layer's weights: muon uses Adam for tables and for the scores of a vocabulary.
 */
optimizer optimizer_of_layer(optimizer o, const struct bound_layer *l);

/**
 * Bytes of state for one trained tensor, in the tensor's element type. Saturates. Muon (Jordan et
 * al. 2024; Liu et al. 2025, arXiv:2502.16982, section 2.1) uses AdamW for tables and scores: call
 * with OPTIMIZER_ADAM for those.
 */
uint64_t optimizer_state_bytes(optimizer o, const lm_tensor *weight);

/**
 * The update of one trained tensor, as a map over its elements. It reads weight, gradient and
 * state, and writes weight and state. Operands and FLOPs identify the optimizer.
 *
 *  - sgd       w -= rate g: 2 operands, 2 FLOP
 *  - momentum  m = decay m + g; w -= rate m: 3 operands, 4 FLOP (torch.optim.SGD without dampening)
 *  - adam      4 operands, 13 FLOP (Kingma & Ba 2015, algorithm 1, as torch.optim.Adam computes it:
 *              no weight decay; the correction of the first moment is part of the rate, that of the
 *              second is not): m = b1 m + (1-b1) g: 3; v = b2 v + (1-b2) g^2: 4;
 *              sqrt(v) / c + eps: 3; w -= rate m / that: 3
 *  - adagrad   3 operands, 7 FLOP (Duchi et al. 2011, as torch.optim.Adagrad without decay):
 *              s += g^2: 2; sqrt(s) + eps: 2; w -= rate g / that: 3
 *  - rmsprop   3 operands, 9 FLOP (Tieleman & Hinton 2012, as torch.optim.RMSprop without momentum,
 *              not centred): s = a s + (1-a) g^2: 4; sqrt(s) + eps: 2; w -= rate g / that: 3
 *  - adadelta  4 operands, 16 FLOP (Zeiler 2012, as torch.optim.Adadelta): s = r s + (1-r) g^2: 4;
 *              d = sqrt(u + eps) / sqrt(s + eps) g: 6; u = r u + (1-r) d^2: 4; w -= rate d: 2
 *  - adafactor matrices: 4 reads of the elements and 1 write; the sums over rows and columns are
 *              read and written; 11 FLOP (Shazeer & Stern 2018, algorithms 4 and 5). Three fused
 *              passes over g, each of which needs the one before: the sums, the size of the
 *              update, the update. g^2 + eps: 2; both sums: 2; v = r c: 1; u = g / sqrt(v): 2;
 *              sum of u^2: 2; w -= rate u: 2. Vectors: 4 reads, 2 writes, 10 FLOP: v replaces the
 *              sums (4) and r c
 *  - muon      matrices: 4 operands, 3 writes, 8 FLOP, in addition to optimizer_products() (Jordan
 *              et al. 2024, with decay as Liu et al. 2025): m = decay m + g: 2; u = g + decay m: 2
 *              (u is written); w = (1 - decay) w - rate o: 4 (o is read). Vectors: as adam
 *
 * @return LM_E_OVERFLOW for a weight of more than 2^61 elements
 */
lm_status optimizer_update(optimizer o, const lm_tensor *weight, lm_kernel *out, lm_error *err);

/** Upper limit for the result of optimizer_products(). */
#define OPTIMIZER_PRODUCTS 6
/** Steps of the Newton-Schulz iteration. */
#define OPTIMIZER_MUON_STEPS 5

/**
 * Further kernels of an update, in 16 bits. Only muon has them: the orthogonal factor of u, n x m
 * with n <= m, by the Newton-Schulz iteration (Jordan et al. 2024, "Muon: an optimizer for hidden
 * layers in neural networks"; 5 steps): X = u / |u|; A = X X^T; B = b A + c A A; X = a X + B X. The
 * products have 4 n^2 m + 2 n^3 FLOP per step. A tensor of rank 3 is a batch of matrices; a tensor
 * of higher rank is a matrix of its first dimension by all others.
 *
 * @return number of kernels; 0: none
 */
size_t optimizer_products(optimizer o, const lm_tensor *weight, lm_kernel out[OPTIMIZER_PRODUCTS]);

/** Finds the optimizer whose update the map is. False: it is not an update. */
bool optimizer_of_update(const lm_kernel *k, optimizer *out);

#endif
