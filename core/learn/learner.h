/**
 * What tells a positive figure (seconds, watts) from rows of features, by name, behind one
 * interface: trained, asked, kept as text; and which of several is best on groups of rows that it
 * did not see.
 *
 *   linear   ordinary least squares (linear.h)
 *   forest   random forest of regression trees (boost.h)
 *   boosted  gradient-boosted trees: many shallow ones, as in Friedman 2001
 *   xgboost  the same regularised, deeper, each of some rows and features (Chen & Guestrin 2016)
 *   mlp      multi-layer perceptron (mlp.h)
 *
 * Trees are grown by XGBoost, in builds that have it; what was grown elsewhere predicts in any.
 */
#ifndef LEARN_LEARNER_H
#define LEARN_LEARNER_H

#include <stdbool.h>

#include "base/stats.h"
#include "learn/boost.h"
#include "learn/mlp.h"

#define LEARNER_FEATURES 4096 /* at most */

typedef enum learner_kind {
    LEARNER_LINEAR,
    LEARNER_FOREST,
    LEARNER_BOOSTED,
    LEARNER_XGBOOST,
    LEARNER_MLP,
    N_LEARNERS
} learner_kind;

const char *learner_name(learner_kind kind);
/** Can this build train one? */
bool learner_available(learner_kind kind);

typedef struct learner_options {
    learner_kind kind;
    bool         log; /**< learn the logarithm: errors count relative to what is told. Features that
                         are nowhere negative become log(1 + x), so that products are sums */
    boost_options boost; /**< of forest, boosted, xgboost */
    mlp_options   mlp;   /**< of mlp */
} learner_options;

/** Usual ones: forests and boosted trees as scikit-learn has them (100 trees, all features at each
 * node; of depth 3 where boosted), boost.h's of XGBoost, an MLP of 64-64. */
learner_options learner_usual(learner_kind kind, bool log);

typedef struct learner_rows {
    const double   *x;     /**< n x n_features, row by row; finite */
    const double   *y;     /**< n; above 0 */
    const uint64_t *group; /**< n: rows of one are seen together or not at all; NULL: each alone */
    size_t          n, n_features;
} learner_rows;

typedef struct learner learner;

/**
 * @param held rows to end the growth of boosted trees and the epochs of an MLP by; NULL: none
 * @return LM_E_ARG without rows, for values out of range and options that make no sense;
 *         LM_E_UNSUPPORTED for trees without XGBoost (the text says what to install); LM_E_NOMEM
 */
lm_status learner_train(const learner_rows *rows, const learner_rows *held,
                        const learner_options *o, learner **out, lm_error *err);
void      learner_free(learner *l);

learner_kind learner_kind_of(const learner *l);
bool         learner_is_log(const learner *l);
size_t       learner_n_features(const learner *l);

/**
 * Predictions of n rows, held between a tenth of the least and ten times the largest that it
 * learned from: beyond these it knows nothing, and least squares go below 0. LM_E_NOMEM.
 */
lm_status learner_predict(const learner *l, const double *x, size_t n, double *y, lm_error *err);

/** Its text, both ways: a line of words, its range, which features are logarithms, what it is. */
void learner_text(lines *l, learner **both);

/** How candidates are judged. */
typedef struct learner_trial {
    size_t   folds;  /**< parts of the groups, each left out in turn; 2 or more */
    size_t   rows;   /**< of more, so many are drawn, whole groups; 0: all */
    size_t   judged; /**< rows, after which no more parts are left out; 0: all are */
    uint64_t seed;
} learner_trial;

/** 5 parts; 6,000 rows; 2,000 judged. */
extern const learner_trial learner_trial_usual;

/**
 * Which of n candidates has the least mean relative error on groups that it did not see.
 *
 * @param errors   of each; n = 0: this build cannot train it. NULL: not wanted
 * @param left_out of each row what the best said without its group; NAN: it was not judged. NULL:
 *                 not wanted
 * @return LM_E_ARG where all rows are of one group, and as learner_train(); LM_E_UNSUPPORTED where
 *         no candidate can be trained
 */
lm_status learner_best(const learner_rows *rows, const learner_options *candidate, size_t n,
                       const learner_trial *trial, size_t *best, stats_errors *errors,
                       double *left_out, lm_error *err);

#endif
