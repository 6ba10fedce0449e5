/** For each task the best of several learners (learn/learner.h), on groups that it did not see. */
#ifndef BASELINES_LAYERWISE_BEST_H
#define BASELINES_LAYERWISE_BEST_H

#include "baselines/layerwise.h"

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
 * that are usual. */
#define LAYERWISE_BEST_SETTINGS(usual_learner, usual_logs)                                       \
    {                                                                                            \
        { "learner", usual_learner, 0, 5,                                                        \
          "0 the best; 1 least squares, 2 forest, 3 boosted trees, 4 XGBoost's, 5 perceptron" }, \
            { "logs", usual_logs, 0, 2,                                                          \
              "0 learn what is measured, 1 its logarithm, 2 which is better" },                  \
            { "parts", 5, 2, 1000, "of groups, each left out in turn to choose the learner" },   \
            { "drawn", 6000, 100, 1e9, "rows, of which that choice is made" },                   \
            { "passes", 300000, 1, 1e12,                                                         \
              "rows that perceptrons see in all, of each at least 20" },                         \
    }

#endif
