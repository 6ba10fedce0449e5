/**
 * Learners for models of single layers. A task has either a perceptron, for log(1 + milliseconds)
 * or log(1 + watts), or the best of several learners (learn/learner.h), chosen on groups that the
 * learner did not see.
 */
#ifndef LAYERWISE_LEARNERS_H
#define LAYERWISE_LEARNERS_H

#include "layerwise/layerwise.h"
#include "learn/mlp.h"

/** Setting of all kinds, for layerwise_kind.word. */
#define LAYERWISE_GPU_SETTING "gpu", 0, 0, 1, "1: what devices are called is a feature, too"

/**
 * Perceptrons with hidden layers of 32, 64 and then 128 units. A tenth of the rows decides which
 * epoch is kept. It is drawn at random by whole groups; with fewer than ten groups by single rows.
 */
extern const layerwise_learner layerwise_mlp;

/**
 * Settings of kinds with this learner, in this order. The default values have the least error on
 * validation rows within the training rows, for published convolutions on five GPUs. Dropout
 * improved none of them.
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
 * Candidates: least squares, a forest, boosted trees, XGBoost's trees, and a perceptron with hidden
 * layers of 32, 64 and four times 128 units; each for seconds (or watts) and for their logarithm.
 * The one with the least mean relative error in cross-validation over groups learns all rows. With
 * one group, where nothing can be left out, it is least squares. If only some rows were used for
 * the choice, it is judged on a tenth of the groups after learning the others. Builds without
 * XGBoost use only candidates without trees.
 */
extern const layerwise_learner layerwise_best;

/**
 * Settings of kinds with this learner, in this order, with the default learner and logarithm; put
 * it between braces.
 */
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
