/** Learners of the models of single layers. A model has a perceptron for each task, of log(1 +
 * milliseconds) or log(1 + watts), or the best of several learners (learn/learner.h). The best is
 * found on groups that the learner did not see. */
#ifndef LAYERWISE_LEARNERS_H
#define LAYERWISE_LEARNERS_H

#include "layerwise/layerwise.h"
#include "learn/mlp.h"

/** layerwise_kind.word of all kinds. */
#define LAYERWISE_GPU_SETTING "gpu", 0, 0, 1, "1: what devices are called is a feature, too"

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
            { "dropout", 0, 0, 0.99, "share of the last hidden layer's units" },           \
            { "epsilon", 1e-8, 1e-30, 1, "of Adam" },                                      \
        {                                                                                  \
            LAYERWISE_GPU_SETTING                                                          \
        }                                                                                  \
    }

/**
 * Candidates: least squares, a forest, boosted trees, XGBoost's, and a perceptron of hidden layers
 * of 32, 64 and four times 128 units; each of seconds (or watts) as they are and of their
 * logarithm. The one with the least mean relative error on whole groups left out learns all rows;
 * of one group, where nothing is left to judge by, it is least squares. Where the choice was made
 * of some rows, it learns all but a tenth of the groups, too, by which it is judged. In builds
 * without XGBoost those are left that need no trees.
 */
extern const layerwise_learner layerwise_best;

/** Settings of kinds that learn with it, all of them and in this order, with the learner and logs
 * that are usual; between braces. */
#define LAYERWISE_BEST_SETTINGS(usual_learner, usual_logs)                                                 \
    {                                                                                                      \
        "learner", usual_learner, 0, 6,                                                                    \
        "0 the best; 1 least squares, 2 forest, 3 boosted trees, 4 XGBoost's, 5 perceptron, 6 extra trees" \
    },                                                                                                     \
        { "logs", usual_logs, 0, 2,                                                                        \
          "0 learn what is measured, 1 its logarithm, 2 which is better" },                                \
        { "parts", 5, 2, 1000, "of groups, each left out in turn to choose the learner" },                 \
        { "drawn", 6000, 100, 1e9, "rows, of which that choice is made" },                                 \
        { "passes", 300000, 1, 1e12, "rows that perceptrons see in all, of each at least 20" },            \
    {                                                                                                      \
        LAYERWISE_GPU_SETTING                                                                              \
    }

#endif
