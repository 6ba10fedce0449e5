/**
 * Multi-layer perceptrons, trained by Adam on batches in single precision.
 *
 *   h_0 = (x - mean) / deviation, h_l = relu(W_l h_(l-1) + b_l), y = w . h_L + b, scaled back
 *
 * Initial weights are uniform in +- sqrt(6 / inputs) (He et al. 2015). Adam is Kingma & Ba 2015,
 * algorithm 1. Dropout is inverted dropout of the last hidden layer (Srivastava et al. 2014). The
 * same seed gives the same network on the same BLAS.
 */
#ifndef LEARN_MLP_H
#define LEARN_MLP_H

#include <stddef.h>
#include <stdint.h>

#include "learn/lines.h"
#include "learn/rows.h"

#define MLP_LAYERS 8    /**< limit for hidden layers */
#define MLP_WIDTH  4096 /**< limit for units or features */

typedef struct mlp_options {
    size_t   width[MLP_LAYERS]; /**< units of each hidden layer */
    size_t   n_layers;
    size_t   epochs, batch;
    double   rate;        /**< initial rate of Adam */
    double   epsilon;     /**< epsilon of Adam, added to the root of its second moment; 0: 1e-8 */
    double   decay;       /**< factor of the rate ... */
    size_t   decay_every; /**< ... every `decay_every` epochs; 0: never */
    double   l2;      /**< adds l2 / 2 |W|^2 to half the mean squared error; biases are excluded */
    double   dropout; /**< share of dropped units in a batch, in [0, 1) */
    uint64_t seed;
} mlp_options;

/**
 * Called after each epoch with root mean squared errors; `held_rmse` is NAN without held-out rows.
 */
typedef void mlp_listener(void *context, size_t epoch, double rmse, double held_rmse);

typedef struct mlp mlp;

/**
 * Trains on `rows` and keeps the weights of the epoch with the least error on `held` (NULL: of the
 * last epoch).
 *
 * @param said NULL: no listener
 * @return LM_E_ARG without rows, for values that are not finite, for features of two numbers, and
 *         for options out of range; LM_E_NOMEM
 */
lm_status mlp_train(const learn_rows *rows, const learn_rows *held, const mlp_options *o,
                    mlp_listener *said, void *context, mlp **out, lm_error *err);
void      mlp_free(mlp *m);

size_t mlp_n_features(const mlp *m);

/** Predictions of n rows of features. LM_E_NOMEM. */
lm_status mlp_predict(const mlp *m, const double *x, size_t n, double *y, lm_error *err);

/** Reads or writes its text: a line of sizes, then a line for each row of weights. */
void mlp_text(lines *l, mlp **both);

#endif
