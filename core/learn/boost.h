/** Regression trees grown by XGBoost (Chen & Guestrin 2016), kept as data. */
#ifndef LEARN_BOOST_H
#define LEARN_BOOST_H

#include <stdbool.h>

#include "learn/rows.h"
#include "learn/trees.h"

typedef struct boost_options {
    bool     forest;    /**< a random forest (Breiman 2001): all trees at once, their mean */
    unsigned trees;     /**< or rounds, at most; with rows to judge by, as many as are best on these */
    unsigned together; /**< of boosting: trees of one round, of which the mean is added; 0: one */
    unsigned depth;     /**< of each */
    double   rate;      /**< of boosting: what each tree adds is multiplied by it */
    double   rows;      /**< share of the rows that each tree sees, in (0, 1] */
    double   features;  /**< share of the features that each tree (of forests: each node) sees */
    double   leaf_rows; /**< rows that a leaf has at least */
    double   l2;        /**< on what leaves add */
    uint64_t seed;
} boost_options;

extern const boost_options boost_default, forest_default;

/** Does this build have XGBoost? Trees that were grown elsewhere are read and predict in any. */
bool boost_available(void);

/**
 * Grows trees on `rows`; boosting ends where the error on `held` (NULL: nothing to judge by) has
 * not fallen for a tenth of all trees, and only the best many are kept. The same seed gives the
 * same trees, whatever the number of threads.
 *
 * @return LM_E_UNSUPPORTED without XGBoost (the text says what to install), LM_E_ARG for rows or
 *         options that make no sense, LM_E_NOMEM
 */
lm_status boost_train(const learn_rows *rows, const learn_rows *held, const boost_options *o,
                      trees **out, lm_error *err);

#endif
