/** A perceptron for each task, of log(1 + milliseconds) or log(1 + watts). */
#ifndef BASELINES_LAYERWISE_MLP_H
#define BASELINES_LAYERWISE_MLP_H

#include "baselines/layerwise.h"

/** Hidden layers have 32, 64 and then 128 units. A tenth of the rows, drawn at random, says which
 * epoch is kept. */
extern const layerwise_learner layerwise_mlp;

/** Settings of kinds that learn with it, all of them and in this order. */
#define LAYERWISE_MLP_SETTINGS                                                             \
    {                                                                                      \
        { "layers", 6, 1, 8, "hidden layers of perceptrons" },                             \
            { "epochs", 60, 1, 100000, "epochs of perceptrons" },                          \
            { "rows", 128, 1, 65536, "rows of a batch of perceptrons" },                   \
            { "rate", 0.004, 1e-9, 10, "of Adam, to begin with" },                         \
            { "halve", 10, 0, 100000, "epochs after which the rate is halved; 0: never" }, \
            { "l2", 1e-5, 0, 1, "L2 of perceptrons" },                                     \
        {                                                                                  \
            "dropout", 0.05, 0, 0.99, "share of the last hidden layer's units"             \
        }                                                                                  \
    }

#endif
