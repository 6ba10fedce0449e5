/** Weights of a multi-layer perceptron, and its passes over a batch. Private to this room. */
#ifndef LEARN_MLP_NET_H
#define LEARN_MLP_NET_H

#include <stdbool.h>

#include "learn/mlp.h"

/** All weights in one array: for each layer outputs x inputs weights, then its biases. */
struct mlp {
    size_t  n_features, n_layers; /**< hidden layers; the output layer is one more */
    size_t  width[MLP_LAYERS];
    double *mean, *deviation; /**< of the features */
    double  y_mean, y_deviation;
    float  *weight;
    size_t  n_weights;
};

/** One layer of it. */
typedef struct mlp_layer {
    size_t inputs, outputs;
    size_t at;   /**< start of its weights */
    size_t bias; /**< start of its biases */
} mlp_layer;

/** Room for the passes over a batch. */
typedef struct mlp_room {
    size_t batch;
    float *out[MLP_LAYERS + 2]; /**< per layer, the scaled features first: batch x outputs */
    float *delta[2];            /**< batch x widest */
    float *mask;                /**< mask of dropout: batch x last width; NULL: none */
} mlp_room;

/** Makes a perceptron whose weights are 0. LM_E_ARG for sizes out of range. */
lm_status mlp_new(size_t n_features, const size_t *width, size_t n_layers, mlp **out,
                  lm_error *err);

/** `layer`: 0 .. n_layers; the last is the output. */
mlp_layer mlp_layer_at(const mlp *m, size_t layer);

lm_status mlp_room_new(const mlp *m, size_t batch, mlp_room *out, lm_error *err);
void      mlp_room_free(mlp_room *r);

/** Scales the features of a row into the room. */
void mlp_scale(const mlp *m, const double *x, size_t row, mlp_room *r);

/** Scaled outputs of the first n rows. */
const float *mlp_forward(const mlp *m, mlp_room *r, size_t n);

/**
 * After mlp_forward(): the gradient of 1/2 mean (output - y)^2 with respect to all weights.
 *
 * @param y        scaled targets
 * @param gradient n_weights; overwritten
 */
void mlp_backward(const mlp *m, mlp_room *r, const float *y, size_t n, float *gradient);

#endif
