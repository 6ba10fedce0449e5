/** A perceptron for each task, of log(1 + milliseconds) or log(1 + watts). */
#ifndef BASELINES_LAYERWISE_MLP_H
#define BASELINES_LAYERWISE_MLP_H

#include "baselines/layerwise.h"
#include "learn/mlp.h"

/** Hidden layers have 32, 64 and then 128 units. A tenth of the rows, drawn at random by whole
 * groups, says which epoch is kept; of fewer than ten groups' worth by single rows. */
extern const layerwise_learner layerwise_mlp;

/**
 * Settings of kinds that learn with it, all of them and in this order. The usual values are those
 * of the least error on rows set apart within training rows, of published convolutions on five
 * GPUs; dropout gained nothing on any of them.
 */
#define LAYERWISE_MLP_SETTINGS                                                             \
    {                                                                                      \
        { "layers", 4, 1, MLP_LAYERS, "hidden layers of perceptrons" },                    \
            { "epochs", 100, 1, 100000, "epochs of perceptrons" },                         \
            { "rows", 64, 1, 65536, "rows of a batch of perceptrons" },                    \
            { "rate", 0.01, 1e-9, 10, "of Adam, to begin with" },                          \
            { "halve", 15, 0, 100000, "epochs after which the rate is halved; 0: never" }, \
            { "l2", 1e-4, 0, 1, "L2 of perceptrons" },                                     \
        {                                                                                  \
            "dropout", 0, 0, 0.99, "share of the last hidden layer's units"                \
        }                                                                                  \
    }

#endif
