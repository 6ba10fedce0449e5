/** Growth of regression trees by XGBoost (Chen & Guestrin 2016). */
#ifndef LEARN_BOOST_H
#define LEARN_BOOST_H

#include <stdbool.h>

#include "learn/rows.h"
#include "learn/trees.h"

typedef struct boost_options {
    bool     forest;    /**< a random forest (Breiman 2001): all trees at once, their mean */
    unsigned trees;     /**< maximum of trees or rounds; held-out rows choose the best number */
    unsigned together;  /**< of boosting: trees per round, which adds their mean; 0: one */
    unsigned depth;     /**< depth of each tree */
    double   rate;      /**< boosting: factor on each tree */
    double   rows;      /**< share of the rows that each tree sees, in (0, 1] */
    double   features;  /**< share of the features for each tree (forests: for each node) */
    double   leaf_rows; /**< fewest rows of a leaf */
    double   l2;        /**< L2 penalty on the values of leaves */
    uint64_t seed;
} boost_options;

extern const boost_options boost_default, forest_default;

/** Does this build have XGBoost? All builds can read trees and predict with them. */
bool boost_available(void);

/**
 * Grows trees on `rows`. Boosting ends if the error on `held` (NULL: none) has not fallen for a
 * tenth of all trees; the best number of trees is kept. The same seed gives the same trees for any
 * number of threads.
 *
 * @return LM_E_UNSUPPORTED without XGBoost (the text says what to install), LM_E_ARG for rows or
 *         options that make no sense, LM_E_NOMEM
 */
lm_status boost_train(const learn_rows *rows, const learn_rows *held, const boost_options *o,
                      trees **out, lm_error *err);

#endif
