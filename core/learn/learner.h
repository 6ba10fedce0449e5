/**
 * Learners predict a positive value (seconds, watts) from features. One interface trains them,
 * predicts, and reads and writes them as text. learner_best() compares learners on held-out groups.
 *
 *   linear   ordinary least squares (linear.h)
 *   forest   random forest of regression trees (boost.h)
 *   boosted  gradient-boosted trees: many shallow ones, as in Friedman 2001
 *   xgboost  the same with regularisation and subsampling, deeper (Chen & Guestrin 2016)
 *   mlp      multi-layer perceptron (mlp.h)
 *   extra    extremely randomised trees (extra.h); of boost its trees, depth, rows of a leaf, seed
 *
 * XGBoost grows the other trees, in builds that have it. All builds can predict with existing trees.
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
    LEARNER_EXTRA,
    N_LEARNERS
} learner_kind;

const char *learner_name(learner_kind kind);
/** Can this build train one? */
bool learner_available(learner_kind kind);

typedef struct learner_options {
    learner_kind kind;
    /**
     * learn the logarithm, so errors are relative. Features without negative values become log(1 +
     * x), so products become sums
     */
    bool          log;
    boost_options boost; /**< of forest, boosted, xgboost */
    mlp_options   mlp;   /**< of mlp */
} learner_options;

/** Default options: forests and boosted trees as in scikit-learn (100 trees, all features at each
 * node, depth 3 if boosted), XGBoost as in boost.h, an MLP of 64-64. */
learner_options learner_usual(learner_kind kind, bool log);

typedef struct learner_rows {
    const double   *x;     /**< n x n_features, row by row; finite */
    const double   *y;     /**< n; above 0 */
    const uint64_t *group; /**< n: a group is held out as a whole; NULL: each row alone */
    size_t          n, n_features;
} learner_rows;

typedef struct learner learner;

/**
 * @return LM_E_ARG without rows, for values out of range and options that make no sense;
 *         LM_E_UNSUPPORTED for trees without XGBoost (the text says what to install); LM_E_NOMEM
 */
lm_status learner_train(const learner_rows *rows, const learner_options *o, learner **out,
                        lm_error *err);
void      learner_free(learner *l);

learner_kind learner_kind_of(const learner *l);
bool         learner_is_log(const learner *l);
size_t       learner_n_features(const learner *l);

/**
 * Predicts n rows. Results are clamped to the range from a tenth of the least to ten times the
 * largest value in training. LM_E_NOMEM.
 */
lm_status learner_predict(const learner *l, const double *x, size_t n, double *y, lm_error *err);

/** The decisions of one tree of a forest, in the units of the training data. */
typedef struct learner_way {
    size_t   tree, trees; /**< number of the tree, from 1, and of all trees */
    double   value;       /**< prediction of the tree */
    tree_way way;         /**< with features and thresholds as they were given */
} learner_way;

/**
 * The decisions for a row of features in the tree whose prediction is nearest to that of all trees.
 *
 * @return LM_E_UNSUPPORTED for learners that are not a mean of trees (each boosted tree adds to
 *         those before it); errors of trees_way()
 */
lm_status learner_decide(const learner *l, const double *x, learner_way *out, lm_error *err);

/** Reads or writes its text: kind, range, logarithmic features, and body. */
void learner_text(lines *l, learner **both);

/** Options of a comparison. */
typedef struct learner_trial {
    size_t   folds;  /**< parts of the groups, each held out in turn; 2 or more */
    size_t   rows;   /**< maximum of rows, drawn as whole groups; 0: all */
    size_t   judged; /**< held-out rows after which the comparison stops; 0: no limit */
    uint64_t seed;
} learner_trial;

/** 5 parts; 6,000 rows; 2,000 judged. */
extern const learner_trial learner_trial_usual;

/**
 * Finds the candidate with the least mean relative error in cross-validation over groups.
 *
 * @param errors   per candidate; n = 0: this build cannot train it. NULL: not wanted
 * @param left_out per row: prediction of the best candidate without the row's group; NAN: not
 *                 judged. NULL: not wanted
 * @return LM_E_ARG if all rows are in one group; errors of learner_train(); LM_E_UNSUPPORTED if no
 *         candidate can be trained
 */
lm_status learner_best(const learner_rows *rows, const learner_options *candidate, size_t n,
                       const learner_trial *trial, size_t *best, stats_errors *errors,
                       double *left_out, lm_error *err);

#endif
